// SPDX-License-Identifier: GPL-2.0-or-later
//
// The kernel module's cache of known flows, kept in step with the world.
//
// The module answers for packets whose flow it knows, so the engine does not see them. Three things
// follow. What makes an entry invalid must reach the module: its flows carry the service's
// generation as their epoch, and its backends the generations from which on theirs are valid, so
// that a snapshot ends as many flows there as here without touching one. What the engine believes
// to be idle may not be: the module is asked about entries before they expire. What the table gives
// up because it is full, the module is to give up too: its flows are compared with the entries
// after evictions, which costs packets nothing. And verdicts under way must not teach the module
// what a newer world has ended: a service's epoch is raised only when no packet thread works with
// an older world any more (`Grace`).
//
// Routes are not told to the module: whether their packets have been processed depends on the
// neighbour they come from (docs/architecture.md), so all of them go through the queue.
//
// When the module cannot be told of a change it is told to forget everything, which is always
// right, and looked for again later.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/flow_module.h"
#include "weir/data_plane.h"
#include "weir/tracking_table.h"

namespace weir::engine {

class KernelCache {
 public:
  // Waits, for some milliseconds at most, until every packet thread works with the world that was
  // published last. False: not yet.
  using Grace = std::function<bool()>;

  using Open = std::function<Result<std::optional<FlowModule>>()>;

  KernelCache(const NodeSnapshot& node, TrackingTable& table, Grace grace,
              Open open = &FlowModule::open);

  // Before the first packet. Flows that the module has kept from an earlier engine become entries
  // of the table. The error is for `require` alone: there is no module.
  Status start(std::shared_ptr<const World>, Time now);

  // Around the publication of a world: what it ends has ended in the module before, what it begins
  // begins afterwards.
  void beforePublishing(std::shared_ptr<const World>, Time now);
  void afterPublishing();

  // Often; does something about once a second.
  void tick(Time now);

  // Entries that an operator has flushed.
  void forget(const std::vector<TrackingTable::Visited>&);

  // For statistics.
  bool isActive() const noexcept { return module_.has_value(); }
  const std::string& whyNot() const noexcept { return whyNot_; }
  std::optional<FlowModule::Node> node();
  struct Use {
    std::uint64_t packets = 0, bytes = 0;
  };
  // What the module answered for since this engine started, as of the last readUses().
  void readUses();
  Use use(const ServiceSnapshot&, const SnapshotBackend&) const;

 private:
  struct Told {
    const Service* service = nullptr;  // of world_; nullptr: by an earlier engine
    Generation epoch;
    std::vector<SnapshotRule> rules;
  };
  struct Counted {
    Use last;  // as read
    Use total;
  };
  using Rules = std::map<ServiceId, std::vector<SnapshotRule>>;

  Status attach(Time now);
  Status takeOver();
  Status tell(const World&);
  Status tellService(const Service&, const std::vector<SnapshotRule>& rules, bool direct);
  Status adoptFlows(Time now);
  Status raiseEpochs();
  Status refreshEntries(Time now);
  Status forgetEvicted(Time now);
  void lose(const Error&, Time now);

  NodeSnapshot node_;
  TrackingTable* table_;
  Grace grace_;
  Open open_;
  std::optional<FlowModule> module_;
  std::string whyNot_ = "not started";
  std::shared_ptr<const World> world_;  // the newest that is to be told
  std::shared_ptr<const World> told_;   // keeps what Told points to
  std::map<ServiceId, Told> services_;
  std::map<std::pair<std::string, std::string>, Counted> counted_;  // by service and endpoint
  Time nextLook_{};
  Time nextRefresh_{};
  Time nextComparison_{};
  std::uint64_t evictionsSeen_ = 0;
};

}  // namespace weir::engine
