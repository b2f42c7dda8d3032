// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/world_intake.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace weir::proxy {

WorldIntake::Taken WorldIntake::take(std::span<const std::span<const std::uint8_t>> payloads) {
  Taken taken;
  for (const auto payload : payloads) {
    auto message = decode(payload);
    if (message.ok()) {
      apply(std::move(*message), taken);
    } else {
      taken.refused.push_back(message.error().message);
      refusedInSync_ = refusedInSync_ || synchronising_;
    }
  }
  if (!synchronising_ && working_ != published_) {
    published_ = working_;
    taken.world = published_;
  }
  taken.generation = generation_;
  return taken;
}

void WorldIntake::apply(SnapshotMessage message, Taken& taken) {
  if (auto* report = std::get_if<ProxyLoadReport>(&message)) {
    generation_ = std::max(generation_, report->generation);
    taken.reports.push_back(std::move(*report));
    return;
  }
  if (const auto* node = std::get_if<ProxySnapshot>(&message))
    generation_ = std::max(generation_, node->generation);
  if (const auto* service = std::get_if<ProxyServiceSnapshot>(&message))
    generation_ = std::max(generation_, service->generation);
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

void WorldIntake::interrupt() {
  working_ = published_;
  synchronising_ = false;
  refusedInSync_ = false;
}

}  // namespace weir::proxy
