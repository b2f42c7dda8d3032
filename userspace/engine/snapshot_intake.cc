// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/snapshot_intake.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weir::engine {

namespace {

bool sameNode(const NodeSnapshot& a, const NodeSnapshot& b) noexcept {
  return a.queueBase == b.queueBase && a.queues == b.queues && a.ipv4Entries == b.ipv4Entries &&
         a.ipv6Entries == b.ipv6Entries && a.fwmarkMask == b.fwmarkMask;
}

}  // namespace

SnapshotIntake::Taken SnapshotIntake::take(std::span<const std::span<const std::uint8_t>> payloads,
                                           const std::function<void()>& between) {
  Taken taken;
  std::vector<std::optional<SnapshotMessage>> messages;  // nullopt: refused
  std::map<ServiceId, std::size_t> newest;               // position of a service's last snapshot
  for (const auto payload : payloads) {
    auto message = decode(payload);
    if (!message) {
      taken.refused.push_back(message.error().message);
      messages.emplace_back();
      continue;
    }
    if (const auto* service = std::get_if<ServiceSnapshot>(&*message))
      newest[service->id] = messages.size();
    messages.emplace_back(std::move(*message));
  }

  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i]) {
      refusedInSync_ = refusedInSync_ || synchronising_;
      continue;
    }
    const auto* service = std::get_if<ServiceSnapshot>(&*messages[i]);
    if (service != nullptr && newest[service->id] != i) continue;
    apply(*messages[i]);
    between();
  }

  if (!synchronising_ && working_ != published_) {
    published_ = working_;
    taken.world = published_;
    taken.generation = generation_;
  }
  return taken;
}

void SnapshotIntake::apply(const SnapshotMessage& message) {
  if (const auto* node = std::get_if<NodeSnapshot>(&message)) {
    nodeDiffers_ = node_ && !sameNode(*node_, *node);
    if (!node_) node_ = *node;
    return;
  }
  if (const auto* service = std::get_if<ServiceSnapshot>(&message))
    generation_ = std::max(generation_, service->generation);
  if (const auto* rules = std::get_if<RulesSnapshot>(&message)) {
    generation_ = std::max(generation_, rules->generation);
    rulesHeard_ = true;
  }
  if (std::holds_alternative<SyncBegin>(message)) {
    synchronising_ = true;
    refusedInSync_ = false;
  }
  if (std::holds_alternative<SyncEnd>(message)) {
    synchronised_ = synchronised_ || synchronising_;
    synchronising_ = false;
    // SyncEnd forgets the services that were not named; one whose snapshot was refused is not
    // known to be gone, so none is forgotten.
    if (std::exchange(refusedInSync_, false)) return;
  }
  working_ = working_->after(message);
}

void SnapshotIntake::interrupt() {
  working_ = published_;
  synchronising_ = false;
  refusedInSync_ = false;
}

}  // namespace weir::engine
