// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/kernel_cache.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/boot_time.h"
#include "base/log.h"

namespace weir::engine {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLook{1};
constexpr seconds kLookForModule{5};
// Entries that are asked about in one go; the others come with the next.
constexpr std::size_t kMostAsked = 65'536;

// Services by their forwarding rules; those that only routes lead to are not among them.
std::map<ServiceId, std::vector<SnapshotRule>> rulesByService(const World& world) {
  std::map<ServiceId, std::vector<SnapshotRule>> rules;
  for (const SnapshotRule& rule : world.rules().snapshot().rules)
    if (world.service(rule.service) != nullptr) rules[rule.service].push_back(rule);
  return rules;
}

FlowModule::Key keyOf(const TrackingTable::Visited& flow) { return {flow.key, flow.service}; }

}  // namespace

KernelCache::KernelCache(const NodeSnapshot& node, TrackingTable& table, Grace grace, Open open)
    : node_(node), table_(&table), grace_(std::move(grace)), open_(std::move(open)) {}

Status KernelCache::start(std::shared_ptr<const World> world, Time now) {
  world_ = std::move(world);
  if (node_.flowCache == FlowCache::off) {
    whyNot_ = "flowCache is off";
    return success();
  }
  Status attached = attach(now);
  if (!attached && node_.flowCache == FlowCache::require)
    return Error{"flowCache is 'require', but " + attached.error().message};
  if (attached)
    log::info("known flows are answered for by the kernel module", {});
  else
    log::info("every packet goes through the queue", {{"REASON", whyNot_}});
  return success();
}

Status KernelCache::attach(Time now) {
  nextLook_ = now + kLookForModule;
  auto opened = open_();
  if (!opened) {
    whyNot_ = opened.error().message;
    return opened.error();
  }
  if (!*opened) {
    whyNot_ = "the kernel module is not loaded (modprobe weir)";
    return Error{whyNot_};
  }
  module_ = std::move(**opened);
  Status status = takeOver();
  if (status) status = tell(*world_);
  if (status) status = adoptFlows(now);
  if (!status) {
    lose(status.error(), now);
    return status;
  }
  nextLook_ = now + kLook;
  nextRefresh_ = now;
  return success();
}

// What an earlier engine has left stays as far as this one knows it too.
Status KernelCache::takeOver() {
  services_.clear();
  const auto found = module_->node();
  if (!found) return found.error();
  if (found->markMask != 0 && found->markMask != node_.fwmarkMask)
    if (Status status = module_->clearNode(); !status) return status;
  const auto most = std::min<std::size_t>(table_->capacity(), 1u << 27);
  if (Status status = module_->setNode(node_.fwmarkMask, static_cast<std::uint32_t>(most)); !status)
    return status;
  const auto services = module_->services();
  if (!services) return services.error();
  const auto rules = rulesByService(*world_);
  for (const auto& [id, epoch] : *services) {
    // A younger epoch than ours: the manager has begun to count anew.
    if (rules.contains(id) && epoch <= world_->service(id)->snapshot().generation)
      services_[id].epoch = epoch;
    else if (Status status = module_->removeService(id); !status)
      return status;
  }
  const auto backends = module_->backends();
  if (!backends) return backends.error();
  for (const FlowModule::BackendUse& use : *backends)
    if (services_.contains(use.service) &&
        world_->service(use.service)->describe(use.slot) == nullptr)
      if (Status status = module_->removeBackend(use.service, use.slot); !status) return status;
  return success();
}

Status KernelCache::tell(const World& world) {
  const auto rules = rulesByService(world);
  for (auto told = services_.begin(); told != services_.end();) {
    if (rules.contains(told->first)) {
      ++told;
      continue;
    }
    if (Status status = module_->removeService(told->first); !status) return status;
    told = services_.erase(told);
  }
  // Where routes are, a packet may come back from an appliance to a virtual address, and the rules
  // that recognise it stand behind the module's hook.
  const bool direct = world.rules().snapshot().routes.empty();
  for (const auto& [id, itsRules] : rules)
    if (Status status = tellService(*world.service(id), itsRules, direct); !status) return status;
  told_ = world_;
  return success();
}

Status KernelCache::tellService(const Service& service, const std::vector<SnapshotRule>& rules,
                                bool direct) {
  const ServiceSnapshot& snapshot = service.snapshot();
  const auto [place, isNew] = services_.try_emplace(snapshot.id);
  Told& told = place->second;
  if (isNew) told.epoch = snapshot.generation;
  if (told.service == &service && told.rules == rules) return success();
  if (Status status = module_->setService({snapshot.id, told.epoch, snapshot.affinity,
                                           snapshot.tracking, snapshot.idleTimeout, direct, rules});
      !status)
    return status;
  if (told.service != nullptr && told.service != &service)
    for (const SnapshotBackend& former : told.service->snapshot().backends)
      if (service.describe(former.slot) == nullptr)
        if (Status status = module_->removeBackend(snapshot.id, former.slot); !status)
          return status;
  if (told.service != &service)
    if (Status status = module_->setBackends(snapshot.id, snapshot.backends); !status)
      return status;
  told.service = &service;
  told.rules = rules;
  return success();
}

Status KernelCache::adoptFlows(Time now) {
  std::vector<FlowModule::Key> contradicted;
  const Status status = module_->visit([&](const FlowModule::Flow& flow) {
    const Service* service = world_->service(flow.of.service);
    if (service == nullptr || service->backend(flow.backend) == nullptr) return;
    const TrackedKey key = table_->tracked(flow.of.key, flow.of.service);
    TrackingTable::Use use{now, service->snapshot().idleTimeout, false, !flow.onlySynSeen};
    const auto entry = table_->lookup(key, use);
    if (!entry)
      static_cast<void>(table_->insert(key, flow.backend, flow.epoch, use));
    else if (entry->backend != flow.backend)
      contradicted.push_back(flow.of);
    else
      table_->touch(key, now - flow.idle, !flow.onlySynSeen);
  });
  return status ? module_->forget(contradicted) : status;
}

Status KernelCache::raiseEpochs() {
  const bool anyLags = std::ranges::any_of(services_, [](const auto& item) {
    return item.second.epoch != item.second.service->snapshot().generation;
  });
  if (!anyLags || !grace_()) return success();
  for (auto& [id, told] : services_) {
    const Generation newest = told.service->snapshot().generation;
    if (told.epoch == newest) continue;
    if (Status status = module_->setEpoch(id, newest); !status) return status;
    told.epoch = newest;
  }
  return success();
}

void KernelCache::beforePublishing(std::shared_ptr<const World> world, Time now) {
  world_ = std::move(world);
  if (!module_) return;
  if (Status status = tell(*world_); !status) lose(status.error(), now);
}

void KernelCache::afterPublishing() {
  if (!module_) return;
  if (Status status = raiseEpochs(); !status) lose(status.error(), nextLook_);
}

void KernelCache::tick(Time now) {
  if (now < nextLook_ || node_.flowCache == FlowCache::off || world_ == nullptr) return;
  nextLook_ = now + kLook;
  if (!module_) {
    if (attach(now)) log::info("known flows are answered for by the kernel module again", {});
    return;
  }
  const auto found = module_->node();
  if (!found) return lose(found.error(), now);
  // Somebody has sent NODE_DEL: the manager on its way out, or an operator.
  if (found->markMask != node_.fwmarkMask) {
    static_cast<void>(attach(now));
    return;
  }
  Status status = raiseEpochs();
  if (status && now >= nextRefresh_) status = refreshEntries(now);
  if (status && now >= nextComparison_) status = forgetEvicted(now);
  if (!status) lose(status.error(), now);
}

// Asks about the entries that were not used, as far as the engine has seen, for a quarter of their
// idle timeout. So what the engine knows of an entry's last use lags by less than half of it.
Status KernelCache::refreshEntries(Time now) {
  seconds shortest = kMaxIdleTimeout;
  for (const auto& [id, told] : services_)
    shortest = std::min(shortest, told.service->snapshot().idleTimeout);
  nextRefresh_ = now + std::max<milliseconds>(kLook, milliseconds(shortest) / 8);

  std::vector<FlowModule::Key> keys;
  table_->visit([&](const TrackingTable::Visited& flow) {
    const auto told = services_.find(flow.service);
    if (told == services_.end() || keys.size() >= kMostAsked) return true;
    const milliseconds timeout = told->second.service->snapshot().idleTimeout;
    const auto idle = now - flow.entry.lastUsed;
    if (idle >= timeout / 4 && idle < timeout) keys.push_back(keyOf(flow));
    return true;
  });
  if (keys.size() == kMostAsked) nextRefresh_ = now + kLook;
  const auto found = module_->find(keys);
  if (!found) return found.error();
  for (const FlowModule::Flow& flow : *found)
    table_->touch(table_->tracked(flow.of.key, flow.of.service), now - flow.idle,
                  !flow.onlySynSeen);
  return success();
}

// A flow that the module knows had an entry when it was learned: where there is none any more, it
// has given way, was flushed or has expired.
Status KernelCache::forgetEvicted(Time now) {
  const TrackingCounters counters = table_->counters();
  const std::uint64_t evictions = counters.evictedOnlySyn + counters.evictedEstablished;
  // Verdicts whose entries are among the evicted are learned first.
  if (evictions == evictionsSeen_ || !grace_()) return success();
  const Time begun = bootTime();
  std::vector<FlowModule::Key> gone;
  Status status = module_->visit([&](const FlowModule::Flow& flow) {
    const TrackedKey key = table_->tracked(flow.of.key, flow.of.service);
    if (!table_->touch(key, now - flow.idle, !flow.onlySynSeen)) gone.push_back(flow.of);
  });
  if (status) status = module_->forget(gone);
  if (status) evictionsSeen_ = evictions;
  // No more than a tenth of the thread's time, however long a flood lasts.
  nextComparison_ = now + std::max<milliseconds>(kLook, 9 * (bootTime() - begun));
  return status;
}

void KernelCache::forget(const std::vector<TrackingTable::Visited>& flows) {
  if (!module_ || flows.empty()) return;
  std::vector<FlowModule::Key> keys;
  keys.reserve(flows.size());
  for (const TrackingTable::Visited& flow : flows)
    if (services_.contains(flow.service)) keys.push_back(keyOf(flow));
  // Verdicts that were decided before the flush are learned before, too.
  static_cast<void>(grace_());
  if (Status status = module_->forget(keys); !status) lose(status.error(), nextLook_);
}

void KernelCache::lose(const Error& error, Time now) {
  whyNot_ = error.message;
  log::warning("the kernel module cannot be used for now; every packet goes through the queue",
               {{"REASON", error.message}});
  static_cast<void>(module_->clearNode());
  module_.reset();
  services_.clear();
  nextLook_ = now + kLookForModule;
}

std::optional<FlowModule::Node> KernelCache::node() {
  if (!module_) return std::nullopt;
  auto found = module_->node();
  return found ? std::optional(std::move(*found)) : std::nullopt;
}

void KernelCache::readUses() {
  if (!module_ || told_ == nullptr) return;
  const auto found = module_->backends();
  if (!found) return;
  for (const FlowModule::BackendUse& use : *found) {
    const Service* service = told_->service(use.service);
    const SnapshotBackend* backend = service != nullptr ? service->describe(use.slot) : nullptr;
    if (backend == nullptr) continue;
    Counted& counted = counted_[{service->snapshot().name, backend->endpoint}];
    // The module began to count anew where it has less than before.
    const Use since = use.packets >= counted.last.packets ? counted.last : Use{};
    counted.total.packets += use.packets - since.packets;
    counted.total.bytes += use.bytes - since.bytes;
    counted.last = {use.packets, use.bytes};
  }
}

KernelCache::Use KernelCache::use(const ServiceSnapshot& service,
                                  const SnapshotBackend& backend) const {
  const auto found = counted_.find({service.name, backend.endpoint});
  return found != counted_.end() ? found->second.total : Use{};
}

}  // namespace weir::engine
