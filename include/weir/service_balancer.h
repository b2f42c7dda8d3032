// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which backend of a service gets a client's connection (X3, X4, S2, S3). It counts what is open,
// so it is stateful; whoever owns it locks it.
//
// First the group, by the placement plan (weir/placement.h) and the loads that this data plane
// sees; then a member of it by the locality policy. A group's load is, by its balancing mode
// (X4.2),
//   CONNECTION    its open connections
//   RATE          the connections of the last second
//   UTILIZATION   the mean utilization that its healthy members reported, moved on from the report
//   by
//                 the connections that came and went since; with maxConnections as well, whichever
//                 is nearer to its target. Without a report that can be trusted it counts as idle.
// all in the unit of its capacity, so that groups of different modes fill alike.
//
// With session affinity (X4.1) a client's last backend is remembered, up to kRememberedClients
// clients per service, those seen longest ago forgotten first. It gets the client again while it is
// healthy, neither it nor its group is full, and the policy lets the group serve; so a client stays
// where it is while load moves new clients to other groups. Otherwise placement chooses the group,
// and the locality policy the member: MAGLEV, the default with affinity, and RING_HASH by the hash
// of the affinity's key, so that nodes that never saw the client, and one that was restarted,
// mostly agree with the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/close_reason.h"
#include "weir/placement.h"
#include "weir/proxy_snapshot.h"
#include "weir/proxy_world.h"

namespace weir {

// A backend in a balancer: stable while the endpoint is in the snapshot or has open connections.
using ProxySlot = Id<struct ProxySlotTag, std::uint32_t>;

// Where a connection goes, or why nowhere. Pointers are valid until the next update().
struct BackendPick {
  const ProxyGroup* group = nullptr;
  const ProxyEndpoint* endpoint = nullptr;
  ProxySlot slot;
  SocketAddress address;  // X1.3
  std::string_view rule;  // "S3", "S3.2" (all are full), "S3.4" (preferred), "X4.1" (affinity)
  CloseReason reason = CloseReason::none;
  std::string_view detail;
  explicit operator bool() const noexcept { return endpoint != nullptr; }
};

class ServiceBalancer {
 public:
  static constexpr std::size_t kRememberedClients = 65'536;

  // `hashSeed` is the node's, the same everywhere; `randomSeed` feeds RANDOM and LEAST_REQUEST.
  ServiceBalancer(std::uint64_t hashSeed, std::uint64_t randomSeed);
  ~ServiceBalancer();
  ServiceBalancer(ServiceBalancer&&) noexcept;
  ServiceBalancer& operator=(ServiceBalancer&&) noexcept;

  // A new snapshot of the service, or a new order of zones; loads of what stays are kept. In two
  // steps, so that no connection waits for what can be made aside: prepare() needs no lock as long
  // as one thread alone prepares and updates; update() costs what has changed, and O(groups). What
  // it leaves in `Prepared` is best destroyed without the lock, too. Tables are built anew only for
  // groups whose serving members changed (a millisecond each, MAGLEV).
  struct Prepared;
  std::shared_ptr<Prepared> prepare(std::shared_ptr<const ProxyServiceSnapshot>,
                                    const ZoneOrder&) const;
  void update(Prepared&, Time now);
  // Both steps.
  void update(std::shared_ptr<const ProxyServiceSnapshot>, const ZoneOrder&, Time now);
  void report(const ProxyLoadReport&, Time now);
  // The addresses of endpoints that are DNS names (X3.1); until then they are passed over. Of
  // several addresses one is chosen by the connection's hash.
  void resolved(std::string_view fqdn, std::vector<Address> addresses);

  struct Request {
    ProxyConnection connection;
    Time now;  // never falling
    // Backends that did not answer this client (X3.3), once for each try; another one is chosen,
    // or, of a DNS name, the next of its addresses.
    std::span<const ProxySlot> tried{};
  };
  // Nothing is counted: opened() follows when a connection to the backend is begun. Retries are the
  // caller's to limit. O(log groups + log members); with all members of a group tried, more.
  BackendPick pick(const Request&);
  // What pick() would say now; nobody's turn moves on and no client is remembered.
  BackendPick preview(const Request&);

  void opened(ProxySlot, Time now);
  void closed(ProxySlot, Time now);  // once for each opened()

  // Backends whose remaining connections are to be closed now (X5.4): their drain's deadline has
  // passed, or they left their group. Those without open connections are not named.
  std::vector<ProxySlot> expired(Time now) const;
  // The next time at which expired() may name another; nullopt: no drain is running.
  std::optional<Time> nextDrainDeadline(Time now) const;

  std::uint64_t openConnections() const noexcept;  // of the service
  std::uint64_t openConnections(ProxySlot) const;
  // Group and endpoint of a backend; empty texts when it is not known.
  std::pair<std::string, std::string> nameOf(ProxySlot) const;

  // A group as this data plane sees it.
  struct GroupLoad {
    std::string group;
    std::uint64_t connections = 0;
    double load = 0;    // in the unit of its capacity
    double usable = 0;  // K(g)
    double fill = 0;    // 0 where nothing is usable
  };
  std::vector<GroupLoad> loads(Time now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
