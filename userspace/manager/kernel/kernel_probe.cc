// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/kernel_probe.h"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "manager/kernel/netlink_kernel_state.h"
#include "manager/kernel/own_numbers.h"

namespace weir::manager {
namespace {

constexpr char kNoNamespace = 'N', kFeature = 'F';

void loopbackUp() {
  const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (::ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0) return;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  (void)::ioctl(fd.get(), SIOCSIFFLAGS, &request);
}

std::string apply(const KernelWish& wish) {
  auto kernel = NetlinkKernelState::open(wish);
  if (!kernel) return kernel.error().message;
  const Status done = (*kernel)->apply(wish, KernelState::Prune::removeOld);
  (void)(*kernel)->removeAll();
  return done ? std::string() : done.error().message;
}

std::string tryNextHops() {
  auto netlink = Netlink::open(NETLINK_ROUTE);
  if (!netlink) return netlink.error().message;
  NextHopObjects objects(*netlink);
  ChangeLog log;
  const RoutingOwnership own = routingOwnership(KernelWish{});
  const std::uint32_t id = nextHopId(own, 1, Family::ipv4);
  const Status done =
      objects.addMissing({{id, 1, Address::ipv4(0xc0000202)}},
                         {{groupId(own, ServiceId(0), Family::ipv4), {{id, 1}}}}, own, {}, log);
  return done ? std::string() : done.error().message;
}

std::vector<KernelFeature> tryAll() {
  loopbackUp();
  std::vector<KernelFeature> features;
  const Prefix address(Address::ipv4(0xc0000201), 32);
  const Prefix address6(Address::ipv6(0x20010db800000000, 1), 128);
  KernelWish diversion;
  diversion.divert = {address, address6};
  features.push_back(
      {"diversion to a queue (nf_tables, notrack, NFQUEUE)", apply(diversion), true});
  KernelWish marks;
  marks.backends = {{Mark(0x10000), Address::ipv4(0xc0000202), std::nullopt}};
  features.push_back(
      {"backends by mark (policy routing, goto rules, routing tables)", apply(marks), true});
  KernelWish routes;
  routes.routes = {{"probe", Prefix(Address::ipv4(0xc6336400), 24)}};
  features.push_back({"routes to a load balancer (nf_tables fib and sets)", apply(routes), true});
  KernelWish answers = diversion;
  answers.announced = {{address.address(), true, true, false}};
  features.push_back(
      {"announce: ARP and ROUTE (proxy neighbours, nf_tables family arp)", apply(answers), false});
  features.push_back({"fallback without the engine (nexthop groups)", tryNextHops(), false});
  std::error_code error;
  const bool queues = std::filesystem::exists("/proc/net/netfilter/nfnetlink_queue", error);
  features.push_back({"queues (nfnetlink_queue)",
                      queues ? ""
                             : "there is no /proc/net/netfilter/nfnetlink_queue: load the "
                               "module nfnetlink_queue",
                      true});
  return features;
}

[[noreturn]] void child(int out) {
  std::string text;
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    text = kNoNamespace + std::string(std::strerror(errno)) + '\0';
  } else {
    for (const KernelFeature& feature : tryAll())
      text += fmt::format("{}{}{}\x1f{}", kFeature, feature.needed ? '1' : '0', feature.name,
                          feature.error) +
              '\0';
  }
  (void)::write(out, text.data(), text.size());
  ::_exit(0);
}

}  // namespace

Result<std::vector<KernelFeature>> probeKernel() {
  int ends[2];
  if (::pipe(ends) != 0) return Error{std::strerror(errno)};
  const Fd in(ends[0]);
  Fd out(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error{std::strerror(errno)};
  if (pid == 0) child(out.get());
  out.reset();
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(in.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(pid, &status, 0);
  std::vector<KernelFeature> features;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\0', at);
    const std::string entry = text.substr(at, end - at);
    at = end + 1;
    if (entry[0] == kNoNamespace)
      return Error{fmt::format("no network namespace to try the kernel in: {}", entry.substr(1))};
    const std::size_t separator = entry.find('\x1f');
    features.push_back(
        {entry.substr(2, separator - 2), entry.substr(separator + 1), entry[1] == '1'});
  }
  if (features.empty()) return Error{"the trial of the kernel ended without a result"};
  return features;
}

}  // namespace weir::manager
