// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_bench_feeder RUN_DIR QUEUE ENTRIES VIP BACKEND...
// Plays the manager for one service: lays the kernel's rules and routes, serves snapshots.sock to
// one engine after the other, and takes everything away on SIGTERM. Prints "ready MARK..." when
// the rules are in place. ENTRIES is the tracking table's room for the family of VIP; the other
// family has the least there is.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/channel.h"
#include "base/fd.h"
#include "base/signals.h"
#include "manager/kernel/netlink_kernel_state.h"
#include "weir/snapshot.h"

namespace {

constexpr std::uint64_t kFewestEntries = 1024;

struct Scene {
  std::string socketPath;
  std::uint16_t queue = 0;
  std::uint64_t entries = 0;
  weir::Address virtualAddress;
  std::vector<weir::Address> backends;

  weir::Mark mark(std::size_t i) const {
    return weir::Mark(static_cast<std::uint32_t>(i + 1) << 16);
  }
};

weir::manager::KernelWish wishOf(const Scene& scene) {
  weir::manager::KernelWish wish;
  for (std::size_t i = 0; i < scene.backends.size(); ++i)
    wish.backends.push_back({scene.mark(i), scene.backends[i], std::nullopt});
  wish.divert.emplace_back(scene.virtualAddress, scene.virtualAddress.isIpv4() ? 32 : 128);
  wish.queueBase = scene.queue;
  return wish;
}

std::vector<weir::SnapshotMessage> snapshotsOf(const Scene& scene) {
  weir::NodeSnapshot node;
  node.queueBase = scene.queue;
  node.ipv4Entries = scene.virtualAddress.isIpv4() ? scene.entries : kFewestEntries;
  node.ipv6Entries = scene.virtualAddress.isIpv4() ? kFewestEntries : scene.entries;
  weir::ServiceSnapshot service;
  service.id = weir::ServiceId(1);
  service.name = "bench";
  service.generation = weir::Generation(1);
  service.eligible.rule = "P2.1";
  for (std::size_t i = 0; i < scene.backends.size(); ++i) {
    const weir::BackendSlot slot(static_cast<std::uint16_t>(i));
    service.backends.push_back({slot, scene.mark(i), {}, "bench-a", scene.backends[i].toString()});
    service.eligible.members.push_back({slot, 1});
  }
  weir::RulesSnapshot rules;
  rules.generation = weir::Generation(2);
  rules.rules.push_back(
      {"bench-vip", scene.virtualAddress, weir::Protocol::udp, {}, weir::ServiceId(1)});
  return {node, weir::SyncBegin{}, service, rules, weir::SyncEnd{}};
}

bool sendAll(const weir::Fd& fd, const std::vector<weir::SnapshotMessage>& messages) {
  for (const auto& message : messages) {
    const auto bytes = weir::serialize({weir::FrameType::snapshot, 0, weir::encode(message)});
    if (::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(bytes.size()))
      return false;
  }
  return true;
}

weir::Fd listenAt(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ::unlink(path.c_str());
  weir::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), 4) != 0)
    return weir::Fd();
  return fd;
}

// Until SIGTERM.
void serve(const Scene& scene, const weir::Fd& listener, weir::Signals& signals) {
  weir::Fd engine;
  for (;;) {
    pollfd wait[]{
        {signals.fd(), POLLIN, 0}, {listener.get(), POLLIN, 0}, {engine.get(), POLLIN, 0}};
    ::poll(wait, 3, -1);
    if (signals.next()) return;
    if (wait[1].revents != 0) {
      engine = weir::Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!sendAll(engine, snapshotsOf(scene))) engine.reset();
    } else if (engine && wait[2].revents != 0) {
      char ignored[4096];
      if (::recv(engine.get(), ignored, sizeof ignored, 0) <= 0) engine.reset();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6)
    return std::fprintf(stderr, "usage: %s RUN_DIR QUEUE ENTRIES VIP BACKEND...\n", argv[0]), 2;
  Scene scene;
  scene.socketPath = std::string(argv[1]) + "/snapshots.sock";
  scene.queue = static_cast<std::uint16_t>(std::strtoul(argv[2], nullptr, 10));
  scene.entries = std::strtoul(argv[3], nullptr, 10);
  for (int i = 4; i < argc; ++i) {
    const auto address = weir::Address::parse(argv[i]);
    if (!address) return std::fprintf(stderr, "not an address: %s\n", argv[i]), 2;
    if (i == 4)
      scene.virtualAddress = *address;
    else
      scene.backends.push_back(*address);
  }

  auto signals = weir::Signals::block({SIGTERM, SIGINT});
  auto kernel = weir::manager::NetlinkKernelState::open(wishOf(scene));
  if (!signals || !kernel) return std::fprintf(stderr, "cannot open netlink or signals\n"), 1;
  const auto applied =
      (*kernel)->apply(wishOf(scene), weir::manager::KernelState::Prune::removeOld);
  if (!applied) return std::fprintf(stderr, "%s\n", applied.error().message.c_str()), 1;
  const weir::Fd listener = listenAt(scene.socketPath);
  if (!listener) return std::perror(scene.socketPath.c_str()), 1;

  std::printf("ready");
  for (std::size_t i = 0; i < scene.backends.size(); ++i)
    std::printf(" 0x%08x", scene.mark(i).value());
  std::printf("\n");
  std::fflush(stdout);
  serve(scene, listener, *signals);
  ::unlink(scene.socketPath.c_str());
  return (*kernel)->removeAll() ? 0 : 1;
}
