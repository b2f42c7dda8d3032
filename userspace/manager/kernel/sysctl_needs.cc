// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/sysctl_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace weir::manager {
namespace {

std::optional<long> numberOf(const std::optional<std::string>& text) {
  long value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

class Collector {
 public:
  Collector(const HostView& host, const SysctlReader& read) : host_(host), read_(read) {}

  std::vector<SysctlNeed> collect() {
    if (host_.ipv4) ipv4Forwarding();
    if (host_.ipv6) ipv6Forwarding();
    for (const auto& [index, link] : host_.links) {
      if (!link.up || link.loopback) continue;
      if (host_.ipv4Backends.contains(index)) backendLink(link);
      if (host_.ipv6Announced.contains(index)) proxyNdp(link);
      for (const auto& [links, family] :
           {std::pair(&host_.ipv4Announced, "ipv4"), std::pair(&host_.ipv6Announced, "ipv6")})
        if (links->contains(index)) proxyDelay(family, link);
    }
    neighbourTable("ipv4", host_.ipv4Neighbours);
    neighbourTable("ipv6", host_.ipv6Neighbours);
    for (const auto& [used, family] :
         {std::pair(host_.ipv4, "ipv4"), std::pair(host_.ipv6, "ipv6")})
      if (used) hashPolicy(family);
    return std::move(needs_);
  }

 private:
  std::optional<long> value(const std::string& path) const { return numberOf(read_(path)); }

  // Adds the need unless the value is one of `good`, or does not exist.
  template <class Good>
  void need(const std::string& path, Good good, long wanted, std::string breaks,
            bool advised = false, std::string fix = {}) {
    const auto current = value(path);
    if (!current || good(*current)) return;
    needs_.push_back({path, std::to_string(*current), std::to_string(wanted), std::move(breaks),
                      advised, std::move(fix)});
  }
  static auto equals(long wanted) {
    return [wanted](long value) { return value == wanted; };
  }
  static auto notZero() {
    return [](long value) { return value != 0; };
  }

  void ipv4Forwarding() {
    const bool all = value("net/ipv4/ip_forward").value_or(1) != 0;
    for (const auto& [index, link] : host_.links) {
      if (!link.up || link.loopback) continue;
      need(interfaceSysctl("ipv4", link.name, "forwarding"), notZero(), 1,
           all ? fmt::format("IPv4 packets that come in by {} are not forwarded: neither clients' "
                             "to backends nor answers that return this way",
                             link.name)
               : std::string("this host forwards no IPv4 packet: nothing reaches a backend"),
           false, all ? std::string() : "net.ipv4.ip_forward=1");
    }
  }

  void ipv6Forwarding() {
    // Forwarding makes a host a router, which listens to other routers only where it is told to.
    for (const auto& [index, link] : host_.links)
      if (host_.routerLearned.contains(index))
        need(
            interfaceSysctl("ipv6", link.name, "accept_ra"), [](long value) { return value == 2; },
            2,
            fmt::format("the default route learned from a router on {} goes when IPv6 forwarding "
                        "is on",
                        link.name));
    need("net/ipv6/conf/all/forwarding", notZero(), 1,
         "this host forwards no IPv6 packet: nothing reaches a backend");
    if (value("net/ipv6/conf/all/forwarding").value_or(1) == 0) return;  // and brings the links'
    for (const auto& [index, link] : host_.links)
      if (link.up && !link.loopback)
        need(interfaceSysctl("ipv6", link.name, "forwarding"), notZero(), 1,
             fmt::format("neighbour solicitations on {} are not answered for virtual addresses, "
                         "and the interface behaves as a host's",
                         link.name));
  }

  void backendLink(const Link& link) {
    const std::string path = interfaceSysctl("ipv4", link.name, "rp_filter");
    const std::string allPath = interfaceSysctl("ipv4", "all", "rp_filter");
    const long own = value(path).value_or(0), all = value(allPath).value_or(0);
    const long effective = std::max(own, all);
    const std::string drops = fmt::format(
        "backends answer from the virtual address, and the reverse path filter of {} (the higher "
        "one of {} and conf.all's {}) drops such packets: probes and returning answers",
        link.name, own, all);
    if (host_.answersRoutable) {
      // Loose is enough, and the higher of the two values counts.
      if (effective == 1) need(path, equals(2), 2, drops);
    } else if (effective != 0) {
      const std::string why =
          drops + "; loose filtering (2) does not help, since this host has no route to it";
      need(path, equals(0), 0, why);
      need(allPath, equals(0), 0, why);
    }
    const std::string redirects = fmt::format(
        "this host tells clients on {} to send to a backend directly (ICMP redirect): their "
        "packets then bypass weir",
        link.name);
    need(interfaceSysctl("ipv4", link.name, "send_redirects"), equals(0), 0, redirects);
    const std::string allRedirects = interfaceSysctl("ipv4", "all", "send_redirects");
    if (!redirectsOfAllAsked_) need(allRedirects, equals(0), 0, redirects);
    redirectsOfAllAsked_ = true;
  }

  void proxyNdp(const Link& link) {
    if (value(interfaceSysctl("ipv6", "all", "proxy_ndp")).value_or(0) != 0) return;
    need(interfaceSysctl("ipv6", link.name, "proxy_ndp"), notZero(), 1,
         fmt::format("neighbour solicitations on {} for announced virtual addresses are not "
                     "answered",
                     link.name));
  }

  void proxyDelay(const std::string& family, const Link& link) {
    need(fmt::format("net/{}/neigh/{}/proxy_delay", family, link.name), equals(0), 0,
         fmt::format("answers on {} for announced virtual addresses wait up to 0.8 s, and so does "
                     "a client's first packet",
                     link.name),
         true);
  }

  void neighbourTable(const std::string& family, std::size_t backends) {
    const long wanted = static_cast<long>(2 * backends);
    need(
        fmt::format("net/{}/neigh/default/gc_thresh3", family),
        [wanted](long value) { return value >= wanted; }, 4 * static_cast<long>(backends),
        fmt::format("the neighbour table is full with {} backends and their like: clients and "
                    "routers on connected networks are not resolved",
                    backends),
        true);
  }

  // How the kernel chooses within the fallback's groups. Policy 1 takes a hash that the network
  // card or a veth pair has computed, where there is one, and IPv6's policies 0 and 1 look at the
  // flow label: both differ between the two directions of a connection. Policy 3 does neither, and
  // sorts source and destination first.
  void hashPolicy(const std::string& family) {
    const std::string path = fmt::format("net/{}/fib_multipath_hash_policy", family);
    const std::string fieldsPath = fmt::format("net/{}/fib_multipath_hash_fields", family);
    const auto fields = value(fieldsPath);  // since 5.14
    if (host_.bothWays && fields) {
      // By addresses alone, IPv4's policy 0 is symmetric.
      if (!host_.spreadsByPort && family == "ipv4" && value(path) == 0) return;
      const std::string breaks = fmt::format(
          "while the engine is away (the fallback), the two directions of a connection{} may go to "
          "different appliances",
          family == "ipv6" ? " of IPv6" : "");
      const bool ports = host_.spreadsByPort;
      const auto hex = [](long bits) { return fmt::format("{:#04x}", bits); };
      if (!isSymmetric(*fields, ports))
        needs_.push_back({fieldsPath,
                          hex(*fields),
                          hex(kHashAddresses | kHashProtocol | (ports ? kHashPorts : 0)),
                          breaks,
                          true,
                          {}});
      need(path, equals(3), 3, breaks, true);
      return;
    }
    if (!host_.spreadsByPort) return;
    need(path, notZero(), 1,
         "while the engine is away (the fallback), connections are spread by addresses only: all "
         "of one client go to one backend",
         true);
  }

  // Bits of fib_multipath_hash_fields.
  static constexpr long kHashAddresses = 0x3, kHashProtocol = 0x4, kHashFlowLabel = 0x8,
                        kHashPorts = 0x30, kHashInner = 0x3c0;
  static bool isSymmetric(long fields, bool ports) {
    return (fields & kHashAddresses) == kHashAddresses &&
           (fields & kHashPorts) == (ports ? kHashPorts : 0) &&
           (fields & (kHashFlowLabel | kHashInner)) == 0;
  }

  const HostView& host_;
  const SysctlReader& read_;
  std::vector<SysctlNeed> needs_;
  bool redirectsOfAllAsked_ = false;
};

}  // namespace

std::string interfaceSysctl(std::string_view family, std::string_view interface,
                            std::string_view name) {
  return fmt::format("net/{}/conf/{}/{}", family, interface, name);
}

std::string sysctlName(std::string path) {
  for (char& c : path) c = c == '/' ? '.' : c == '.' ? '/' : c;
  return path;
}

std::string SysctlNeed::assignment() const {
  return fix.empty() ? sysctlName(path) + "=" + wanted : fix;
}

std::string SysctlNeed::toString() const {
  return fmt::format("{} is {}: {}", fix.empty() ? sysctlName(path) : fix.substr(0, fix.find('=')),
                     current, breaks);
}

std::string unfitness(const std::vector<SysctlNeed>& needs) {
  std::set<std::string> cures;
  std::string text;
  for (const SysctlNeed& need : needs) {
    if (need.advised || !cures.insert(need.assignment()).second || !text.empty()) continue;
    text = fmt::format("{} (sysctl -w {})", need.toString(), need.assignment());
  }
  if (cures.size() > 1)
    text += fmt::format("; and {} more setting{} of this host: weirctl check --host names all",
                        cures.size() - 1, cures.size() == 2 ? "" : "s");
  return text;
}

std::vector<SysctlNeed> unmetSysctls(const HostView& host, const SysctlReader& read) {
  return Collector(host, read).collect();
}

}  // namespace weir::manager
