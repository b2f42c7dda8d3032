// SPDX-License-Identifier: GPL-2.0-or-later
//
// The kernel state that weir owns, as a wish: what is diverted to the queues and where marks lead.
// One interface, so that the manager's tests run in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/control_plane.h"
#include "weir/result.h"

namespace weir::manager {

// A destination range whose forwarded packets go to the queues (N1).
struct DivertedRoute {
  std::string name;
  Prefix destination{Address{}, 0};
  friend auto operator<=>(const DivertedRoute&, const DivertedRoute&) = default;
};

// How the network is told of a virtual address now.
struct VirtualAddress {
  Address address;
  bool arp = false;    // this host answers ARP and neighbour solicitations for it
  bool route = false;  // a host route that routing daemons export
  bool local = false;  // this host holds it: a proxy's connections end here
  friend bool operator==(const VirtualAddress&, const VirtualAddress&) = default;
};

// Where diverted packets go while the engine is away, instead of to its queues: by the kernel's own
// hash to the eligible backends. All of it sorted.
struct FallbackWish {
  struct Member {
    Mark mark;
    std::uint32_t weight = 1;
    friend bool operator==(const Member&, const Member&) = default;
  };
  struct Service {
    ServiceId id;
    std::vector<Member> members;  // empty: dropped
    friend bool operator==(const Service&, const Service&) = default;
  };
  struct Rule {
    Address address;
    Protocol protocol = Protocol::tcp;  // none: L3_DEFAULT
    std::vector<PortRange> ports;       // empty: all
    ServiceId service;
    friend bool operator==(const Rule&, const Rule&) = default;
  };
  struct Range {
    Prefix destination{Address{}, 0};
    ServiceId service;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::vector<Service> services;
  std::vector<Rule> rules;
  std::vector<Range> ranges;
  friend bool operator==(const FallbackWish&, const FallbackWish&) = default;
};

// Everything that should be there. What weir owns and is not in it is removed.
struct KernelWish {
  std::vector<BackendRoute> backends;  // a routing rule, a table and a neighbour for each mark
  std::vector<Prefix> divert;          // virtual addresses, each a prefix of one address
  std::vector<DivertedRoute> routes;
  // Backends of next hops and the other addresses of their machines. What comes from them to the
  // destination of a route has been processed and is routed normally (N7).
  std::vector<Address> appliances;
  std::vector<VirtualAddress> announced;
  std::vector<std::string> interfaces;   // for ARP; empty: those whose subnet has the address
  std::optional<FallbackWish> fallback;  // in force instead of the queues
  bool manageSysctls = false;
  bool spreadsByPort = false;  // a service's affinity takes ports into account
  std::uint32_t fwmarkMask = 0xffff0000;
  std::uint32_t ruleBase = 10000;
  std::uint32_t tableBase = 0x77650000;
  std::uint8_t routeProtocol = 87;
  std::uint16_t queueBase = 8100;
  std::uint16_t queues = 1;
  friend bool operator==(const KernelWish&, const KernelWish&) = default;
};

// A backend whose next hop the kernel cannot reach now (no route, interface down).
struct UnreachableBackend {
  Mark mark;
  Family family;
  std::string reason;
};

// Something about weir's kernel state that nobody had asked weir for, and what was done about it.
struct KernelChange {
  enum class Kind : std::uint8_t {
    restored,  // somebody had removed or changed it; put back
    removed,   // somebody had added it under weir's name or numbers; removed
    followed,  // the host's interfaces, addresses or neighbours changed; adapted to them
    cleaned    // an earlier run of the manager had left it; removed
  };
  Kind kind;
  std::string what;  // "3 IPv4 routing rules (10000, 10001, 10002)"
  friend bool operator==(const KernelChange&, const KernelChange&) = default;
};
std::string_view toString(KernelChange::Kind) noexcept;

class KernelState {
 public:
  virtual ~KernelState() = default;

  // N5: an error names the route that may not be applied on this host, with the subnet and the
  // interface that are in its way.
  virtual Status checkRoutes(std::span<const DivertedRoute>) { return success(); }

  enum class Prune : std::uint8_t { keepOld, removeOld };
  // Brings the kernel to the wish by the smallest difference; nothing that stays is ever missing
  // for a moment. keepOld: only adds, for use before snapshots that rely on the new state go out;
  // removeOld: then also removes what the wish no longer has. An error names what the kernel
  // refused; the rest has been applied.
  virtual Status apply(const KernelWish&, Prune) = 0;
  // Backends of the last wish that could not be reached when it was last compared with the kernel,
  // sorted by mark; reconcile() looks them up again. Until then their marked packets are refused
  // as unreachable.
  virtual std::vector<UnreachableBackend> unreachable() const = 0;
  // Compares the kernel with the last wish and repairs it: true when something was repaired.
  virtual Result<bool> reconcile() = 0;
  // What apply() and reconcile() met and nobody had asked for, since the last call.
  virtual std::vector<KernelChange> takeChanges() { return {}; }
  // What is not as it should be and what weir leaves alone, in words; as of the last comparison.
  virtual std::vector<std::string> warnings() const { return {}; }

  // Descriptors that turn readable when somebody changes the kernel; none: only time tells. They
  // live as long as this object.
  virtual std::vector<int> eventSources() const { return {}; }
  // Reads all events that wait there: true when one of them calls for reconcile().
  virtual bool takeEvents() { return false; }

  // Announces virtual addresses to the links once more, with the next comparison.
  virtual void announceAgain() {}

  // Settings of the host that weir changed: path below /proc/sys and the value before.
  using Sysctls = std::map<std::string, std::string>;
  // Those of an earlier run that was killed, and what makes each later change of them outlive this
  // one; called before a setting is changed. To be given before the first apply().
  virtual void rememberSysctls(Sysctls, std::function<void(const Sysctls&)>) {}

  // Removes everything that weir owns, also what an earlier run left behind.
  virtual Status removeAll() = 0;
};

}  // namespace weir::manager
