// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab/kernel/namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace weir::manager::lab {
namespace {

// Otherwise link-local addresses, which neighbour discovery uses, come a second late.
constexpr char kNoDuplicateDetection[] =
    "sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0";

struct Output {
  std::string text;
  int status;
};

Output execute(const std::string& command) {
  Output output;
  FILE* pipe = ::popen(("( " + command + " ) 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.text.append(buffer.data(), n);
  output.status = ::pclose(pipe);
  return output;
}

}  // namespace

std::string run(const std::string& command) {
  Output output = execute(command);
  EXPECT_EQ(output.status, 0) << command << "\n" << output.text;
  return output.text;
}

std::string runMayFail(const std::string& command) { return execute(command).text; }

std::string kernelView() {
  return run(
      "ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; "
      "nft list ruleset ip; nft list ruleset ip6; nft list ruleset inet");
}

std::string routeGet(const std::string& destination, std::uint32_t mark) {
  return runMayFail("ip route get " + destination + " mark " + std::to_string(mark));
}

void addInterface(const std::string& name) {
  const std::string wire = name + "-wire";
  run("ip link add " + name + " type veth peer name " + wire);
  for (const std::string& end : {name, wire})
    run("ip link set " + end + " addrgenmode none; ip link set " + end + " up");
}

void makeFit() {
  run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; "
      "for name in rp_filter send_redirects; do "
      "for file in /proc/sys/net/ipv4/conf/*/$name; do echo 0 > $file; done; done");
}

void NamespaceTest::SetUp() {
  outside_ = Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::unshare(CLONE_NEWNET), 0) << "these tests need root";
  run(kNoDuplicateDetection);
  run("ip link set lo up");
  for (const std::string name : {"eth0", "eth1"}) addInterface(name);
  run("ip addr add 10.2.0.1/20 dev eth0; ip addr add fd02::1/64 dev eth0 nodad");
  run("ip addr add 10.1.0.1/24 dev eth1; ip addr add fd01::1/64 dev eth1 nodad");
  run("ip route add default via 10.1.0.254; ip -6 route add default via fd01::fe");
}

void NamespaceTest::TearDown() { ASSERT_EQ(::setns(outside_.get(), CLONE_NEWNET), 0); }

std::unique_ptr<NetlinkKernelState> NamespaceTest::openState() {
  auto state = NetlinkKernelState::open();
  if (!state) {
    ADD_FAILURE() << state.error().message;
    return nullptr;
  }
  return std::move(*state);
}

Host::Host(const std::string& interface) {
  lab::run("ip link add " + interface + " type veth peer name peer0");
  keeper_ = ::fork();
  if (keeper_ == 0) {
    if (::unshare(CLONE_NEWNET) != 0) ::_exit(1);
    for (;;) ::pause();
  }
  // The keeper's namespace is its own as soon as it differs from ours.
  std::array<char, 64> own{};
  std::array<char, 64> its{};
  const std::string path = "/proc/" + std::to_string(keeper_) + "/ns/net";
  do {
    ::usleep(1000);
    EXPECT_GT(::readlink("/proc/thread-self/ns/net", own.data(), own.size() - 1), 0);
    EXPECT_GT(::readlink(path.c_str(), its.data(), its.size() - 1), 0);
  } while (own == its);
  run(kNoDuplicateDetection);
  lab::run("ip link set peer0 netns " + std::to_string(keeper_) + " name eth0");
  lab::run("ip link set " + interface + " up");
  run("ip link set lo up; ip link set eth0 up");
}

Host::~Host() {
  ::kill(keeper_, SIGKILL);
  ::waitpid(keeper_, nullptr, 0);
}

std::string Host::run(const std::string& command) const {
  return lab::run("nsenter -t " + std::to_string(keeper_) + " -n sh -c '" + command + "'");
}

bool Host::reaches(const std::string& destination) const {
  return execute("nsenter -t " + std::to_string(keeper_) + " -n ping -c 2 -i 0.2 -W 1 " +
                 destination)
             .status == 0;
}

KernelWish wish(std::initializer_list<BackendRoute> backends,
                std::initializer_list<const char*> divert) {
  KernelWish result;
  result.backends = backends;
  for (const char* text : divert) result.divert.push_back(*Prefix::parse(text));
  return result;
}

Mark markOf(std::uint32_t index) { return Mark(index << 16); }

BackendRoute backend(std::uint32_t index, const char* ipv4, const char* ipv6) {
  BackendRoute route{markOf(index), Address::parse(ipv4), std::nullopt};
  if (ipv6 != nullptr) route.ipv6 = Address::parse(ipv6);
  return route;
}

}  // namespace weir::manager::lab
