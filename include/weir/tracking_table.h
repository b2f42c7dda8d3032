// SPDX-License-Identifier: GPL-2.0-or-later
//
// The connection-tracking table: which backend serves which flow (P5, P6).
//
// Shape. Slots of fixed size live in memory that the caller owns (for the engine a file on tmpfs,
// so that they outlive the process); everything else - the hash index, the timing wheels, the free
// lists - is private to the process and rebuilt from the slots by the constructor. IPv4 flows have
// 32-byte slots, IPv6 flows 64-byte slots, so that neither straddles a cache line. The index is an
// array of 64-byte buckets of slot numbers with 16-bit tags: a lookup reads one bucket and one
// slot. The table is cut into shards by key hash, each behind its own lock.
//
// Life of an entry. lookup() judges idleness exactly; the wheel only collects garbage, at its own
// pace, and is not touched when a packet refreshes an entry. An entry whose backend or generation
// is no longer valid is the caller's to judge (TrackedEntry says both); the next insert of its key
// reuses it. FIN and RST do nothing (P6.2).
//
// Time may stand still or jump by months between two calls. Each shard's clock is the latest time
// it was shown by a call that changes something: threads that run a few milliseconds apart see it
// never go back.
//
// When room is short, entries for which only a SYN was ever seen give way first, the one nearest
// to its idle timeout among them; then established ones, likewise. With one idle timeout for all
// services that is the entry idle longest. Precision: kWheelTick; and where more than 64 entries
// were refreshed since they were last looked at, the best of 64, so that no insert takes long.
//
// Full means: the shard of the new key has no slot left. With one shard (fewer than 32,768 entries)
// that is exactly at the configured number; with more, each shard has a few percent of slack, so
// that the configured number of flows fits although hashing fills shards unevenly. capacity()
// counts the slack.
//
// An entry's idle timeout is the one its last insert or refresh gave; a lookup with another one
// applies the shorter of both, so that what is a miss does not depend on when garbage is collected.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "weir/affinity.h"
#include "weir/types.h"

namespace weir {

inline constexpr std::chrono::seconds kWheelTick{16};
inline constexpr std::chrono::seconds kMaxIdleTimeout{57600};
// Raised whenever the bytes of a slot or their meaning change: slots of another version are not
// taken over from an earlier process.
inline constexpr std::uint32_t kSlotLayoutVersion = 1;

struct TrackingTableOptions {
  std::size_t ipv4Entries = 1u << 20;  // at most 2^27 (more is read as that); 0: no such flows
  std::size_t ipv6Entries = 1u << 18;
  std::uint64_t seed = 0;  // secret of the index; the engine keeps it with the slots
};

// A key with its service and its place in the table.
struct TrackedKey {
  FlowKey key;
  ServiceId service;
  std::uint64_t hash = 0;  // TrackingTable::hash(key, service)
};

struct TrackedEntry {
  BackendSlot backend;
  Generation madeIn;
  bool onlySynSeen = false;
  Time lastUsed{};
};

struct TrackingCounters {
  std::uint64_t inserted = 0, replaced = 0, expired = 0;
  std::uint64_t evictedOnlySyn = 0, evictedEstablished = 0;
};

class TrackingTable {
 public:
  // Bytes that the slots of a table with these options take.
  static std::size_t slotBytes(const TrackingTableOptions&) noexcept;

  // `slots` must be 64-byte aligned, slotBytes() long and outlive the table. Zeroed memory is an
  // empty table; otherwise every slot is verified (checksum, ranges, no key twice), those that
  // fail are dropped, and the index is rebuilt: recovered() tells how many were kept. Idle entries
  // are dropped too; `now` must be of the clock that the slots were written by, less than 24 days
  // after. Slots written with other options or another seed are dropped, every one.
  TrackingTable(const TrackingTableOptions&, std::span<std::byte> slots, Time now);
  // The same on memory of its own, for tests and simulation.
  explicit TrackingTable(const TrackingTableOptions&);
  ~TrackingTable();

  std::size_t recovered() const noexcept;
  std::uint64_t hash(const FlowKey&, ServiceId) const noexcept;
  TrackedKey tracked(const FlowKey& key, ServiceId service) const noexcept {
    return {key, service, hash(key, service)};
  }
  // Asks the processor to fetch the key's bucket; with many packets at hand, prefetch all before
  // the first lookup. prefetchSlot() then fetches the likely slot.
  void prefetch(const TrackedKey&) const noexcept;
  void prefetchSlot(const TrackedKey&) const noexcept;

  // The entry of a key, if it is not idle for `idleTimeout` or longer. When found and
  // `refresh`, its last-used time becomes `now`, and `established` clears its only-SYN state.
  // Thread-safe, like every function below.
  struct Use {
    Time now;
    std::chrono::seconds idleTimeout;
    bool refresh = true;
    bool established = true;  // this packet is not a lone SYN
  };
  std::optional<TrackedEntry> lookup(const TrackedKey&, const Use&) noexcept;

  // Makes or replaces the entry of a key. False when the table is full of entries that may not
  // give way (never today: something always can) or has no room at all (zero entries).
  bool insert(const TrackedKey&, BackendSlot, Generation, const Use&) noexcept;
  bool erase(const TrackedKey&) noexcept;

  // Somebody else has seen the flow of an entry used at `lastUsed`, if that is news. `established`:
  // not only SYNs. False: there is no such entry. Whether it was idle meanwhile is not looked at.
  bool touch(const TrackedKey&, Time lastUsed, bool established) noexcept;

  // Collects garbage whose time has come; bounded work per call (true: call again soon). At most
  // 16 entries of each shard, so that packets do not wait; a comparison when nothing can be due.
  // Call about once a second. Nothing goes wrong when nobody does, but after 107 minutes an
  // insert or refresh sweeps its whole shard.
  bool advance(Time now) noexcept;

  // Visits entries, some hundred slots at a time under their shard's lock (idle ones included:
  // `lastUsed` tells). Return false from the visitor to erase the entry. The visitor must not call
  // the table. An entry that lives through the whole visit is visited exactly once.
  struct Visited {
    FlowKey key;
    ServiceId service;
    TrackedEntry entry;
  };
  void visit(const std::function<bool(const Visited&)>& keep);

  std::size_t size() const noexcept;  // entries, garbage not yet collected included
  std::size_t capacity() const noexcept;
  TrackingCounters counters() const noexcept;
  // Bytes per flow of slot, index and wheel together, for a full table of one family (of the
  // default size: the wheels' fixed part is spread over its entries).
  static std::size_t bytesPerFlow(Family) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
