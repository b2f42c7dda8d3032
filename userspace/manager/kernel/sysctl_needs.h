// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which settings of the host weir needs, and which of them are not so. Pure: values come from a
// function, the host's state as data.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "manager/kernel/links.h"

namespace weir::manager {

// The value at a path below /proc/sys ("net/ipv4/ip_forward"), without its newline; nullopt: this
// kernel or namespace does not have it.
using SysctlReader = std::function<std::optional<std::string>(const std::string& path)>;

// The host as far as its settings depend on it.
struct HostView {
  Links links;
  bool ipv4 = false;  // virtual addresses, routes or backends of the family
  bool ipv6 = false;
  std::set<unsigned> ipv4Backends;   // links to IPv4 backends
  std::set<unsigned> ipv4Announced;  // links on which IPv4 addresses are answered for
  std::set<unsigned> ipv6Announced;
  std::set<unsigned> routerLearned;  // links with a default route from a router advertisement
  // Every IPv4 virtual address has an ordinary route on this host, if only the default one; then
  // the loose reverse path filter lets answers of backends pass.
  bool answersRoutable = true;
  std::size_t ipv4Neighbours = 0;  // backends
  std::size_t ipv6Neighbours = 0;
  bool spreadsByPort = false;  // a service's affinity takes ports into account
  bool bothWays = false;  // there are routes: both directions must find the same appliance (N6)
};

struct SysctlNeed {
  std::string path;  // below /proc/sys
  std::string current;
  std::string wanted;
  std::string breaks;    // what does not work otherwise, in words
  bool advised = false;  // works without, but worse
  // "NAME=VALUE" for sysctl -w where it is another one than path and wanted.
  std::string fix;
  // The assignment for sysctl -w.
  std::string assignment() const;
  // What is wrong, by the name that sysctl takes.
  std::string toString() const;
};

// A path below /proc/sys as sysctl and sysctl.d name it, with dots; a dot in the name of an
// interface becomes a slash (net.ipv4.conf.eth1/5.rp_filter), as sysctl(8) wants it.
std::string sysctlName(std::string path);

// What is not as weir needs it. In an order in which they can be set one after the other.
std::vector<SysctlNeed> unmetSysctls(const HostView&, const SysctlReader&);

// One line about those that are more than advice, with the cure of the first; empty: there is none.
std::string unfitness(const std::vector<SysctlNeed>&);

std::string interfaceSysctl(std::string_view family, std::string_view interface,
                            std::string_view name);

}  // namespace weir::manager
