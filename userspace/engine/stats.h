// SPDX-License-Identifier: GPL-2.0-or-later
//
// The answer to {"op":"stats"}. Numbers of packets count since the engine started, those under
// "kernel" since the queue was bound. Labels of "dropped" and "malformed" are toString() of
// DropReason and Malformed, `none` left out; every label is always there.
//
//   {"program": "weir-engine", "version": "0.1.0", "pid": 123, "uptimeSec": 17,
//    "generation": 42,              newest snapshot in effect
//    "snapshots": {"applied": 9, "refused": 0, "ageSec": 0},  (0: the manager is there)
//    "threads": [{"queue": 8100, QUEUE COUNTERS,
//                 "kernel": {"bound": true, "waiting": 0, "dropped": 0, "userDropped": 0}}],
//    "totals": {QUEUE COUNTERS},    sums over the threads
//    "table": {"entries": 5, "capacity": 1310720, "recovered": 0, "inserted": 5, "replaced": 0,
//              "expired": 0, "evictedOnlySyn": 0, "evictedEstablished": 0,
//              "bytesPerFlow": {"ipv4": 40.0, "ipv6": 72.0}},
//    "flowCache": {"active": true, "reason": "", "version": "0.1.0", "flows": 5, "maxFlows": 9,
//                  "bytesPerFlow": 96, "direct": 0, "marked": 7, "missed": 1, "newBySyn": 1,
//                  "unusual": 0, "learned": 5, "replaced": 0, "expired": 0, "evicted": 0,
//                  "unlearned": 0},   the kernel module's; only "reason" when it is not active
//    "services": [{"service": "web", "new": 1, "known": 2, "related": 0, "dropped": 0,
//                   "bytes": 180,
//                   "backends": [{"group": "web-a", "backend": "10.2.0.11", "new": 1,
//                                 "packets": 3, "bytes": 180}]}]}
//
//   QUEUE COUNTERS: "packets", "bytes", "forwarded": {"new", "known", "related"}, "passed",
//   "dropped": {label: n}, "malformed": {label: n}, "batches", "receiveErrors", "sendErrors",
//   "verdictErrors", "unreadable"
//
// "known", "packets" and "bytes" of services and backends include what the kernel module answered
// for; those of threads and totals are of the queues alone.
//
// Before the first synchronisation "threads" and "services" are empty and "table" is null. A
// service counts from when the engine first heard of it under its name, a backend from when it
// first heard of it in that service.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/counters.h"
#include "engine/kernel_cache.h"
#include "engine/kernel_counters.h"
#include "weir/data_plane.h"
#include "weir/tracking_table.h"

namespace weir::engine {

// Sums and baselines of the counters of services and their backends. A ServiceId or a slot that is
// given to another must not bring along what was counted for the one before.
class ServiceLedger {
 public:
  struct Totals {
    std::uint64_t fresh = 0, known = 0, related = 0, dropped = 0, bytes = 0;
  };
  struct BackendTotals {
    std::uint64_t fresh = 0, packets = 0, bytes = 0;
  };
  using Threads = std::vector<const ThreadCounters*>;

  // Control thread, whenever a world was published.
  void observe(const World&, const Threads&);
  Totals of(ServiceId, const Threads&) const;
  BackendTotals of(ServiceId, BackendSlot, const Threads&) const;

 private:
  struct BackendAccount {
    std::string group, endpoint;
    BackendTotals baseline;
  };
  struct Account {
    std::string name;
    Totals baseline;
    std::map<BackendSlot, BackendAccount> backends;
  };
  static Totals sum(ServiceId, const Threads&);
  static BackendTotals sum(ServiceId, BackendSlot, const Threads&);
  static void observe(Account&, const ServiceSnapshot&, const Threads&);
  std::map<ServiceId, Account> accounts_;
};

struct StatsInput {
  std::chrono::seconds uptime{0};
  Generation generation;
  std::uint64_t snapshotsApplied = 0;
  std::uint64_t snapshotsRefused = 0;
  std::chrono::seconds snapshotAge{0};  // since the manager was last there
  std::vector<std::pair<std::uint16_t, const ThreadCounters*>> threads;  // by queue
  std::map<std::uint16_t, KernelCounters> kernel;
  const TrackingTable* table = nullptr;
  const World* world = nullptr;
  const ServiceLedger* ledger = nullptr;
  KernelCache* cache = nullptr;
};

// JSON text as described above.
std::string statsJson(const StatsInput&);

}  // namespace weir::engine
