// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <tuple>

#include "weir/data_plane.h"

namespace weir {

Service::Service(ServiceSnapshot snapshot, std::uint64_t hashSeed)
    : snapshot_(std::move(snapshot)) {
  std::size_t slots = 0;
  for (const SnapshotBackend& backend : snapshot_.backends) {
    slots = std::max<std::size_t>(slots, backend.slot.value() + 1u);
  }
  backends_.resize(slots);
  descriptions_.resize(slots);
  for (std::uint32_t i = 0; i < snapshot_.backends.size(); ++i) {
    const SnapshotBackend& backend = snapshot_.backends[i];
    backends_[backend.slot.value()] = {backend.mark, backend.validFrom};
    descriptions_[backend.slot.value()] = i;
  }

  const auto choiceOf = [&](const EligibleSet& wanted) -> std::uint16_t {
    EligibleSet set = wanted;
    std::erase_if(set.members, [&](const EligibleSet::Member& member) {
      return backend(member.slot) == nullptr;
    });
    // Every node must index its table alike (P4.1), so the order is made sure of, not assumed.
    std::sort(set.members.begin(), set.members.end(), [&](const auto& a, const auto& b) {
      return std::tie(describe(a.slot)->endpoint, a.slot) <
             std::tie(describe(b.slot)->endpoint, b.slot);
    });
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (choices_[i]->set == set) return static_cast<std::uint16_t>(i);
    }
    std::vector<MaglevBackend> places;
    places.reserve(set.members.size());
    for (const EligibleSet::Member& member : set.members) {
      places.push_back(maglevBackend(describe(member.slot)->endpoint, member.weight, hashSeed));
    }
    MaglevTable table = places.empty() ? MaglevTable() : MaglevTable(places);
    choices_.push_back(std::make_shared<const Choice>(Choice{std::move(set), std::move(table)}));
    return static_cast<std::uint16_t>(choices_.size() - 1);
  };
  choiceOf(snapshot_.eligible);
  for (const auto& [zone, set] : snapshot_.zonal) {
    if (zone == kNoZone) continue;
    if (zone.value() >= choiceOfZone_.size()) choiceOfZone_.resize(zone.value() + 1u);
    choiceOfZone_[zone.value()] = choiceOf(set);
  }
}

const Service::Backend* Service::backend(BackendSlot slot) const noexcept {
  if (slot.value() >= backends_.size()) return nullptr;
  const Backend& backend = backends_[slot.value()];
  return backend.mark != Mark{} ? &backend : nullptr;
}

const SnapshotBackend* Service::describe(BackendSlot slot) const noexcept {
  if (backend(slot) == nullptr) return nullptr;
  return &snapshot_.backends[descriptions_[slot.value()]];
}

const Service::Choice& Service::choiceFor(ZoneIndex zone) const noexcept {
  const std::size_t choice =
      zone.value() < choiceOfZone_.size() ? choiceOfZone_[zone.value()] : std::size_t{0};
  return *choices_[choice];
}

}  // namespace weir
