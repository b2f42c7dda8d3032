// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "control_plane_state.h"

namespace weir::control {
namespace {

std::uint32_t lastPosition(std::uint32_t fwmarkMask) noexcept {
  return std::min(fwmarkMask >> std::countr_zero(fwmarkMask), kLastMarkPosition);
}

// Address pairs that the snapshots of the new configuration may mention, in order of configuration
// so that equal configurations are numbered equally.
std::vector<AddressPair> needed(const State& state, const Index& index) {
  std::vector<AddressPair> pairs;
  std::set<AddressPair> seen;
  const auto need = [&](const Endpoint& endpoint) {
    const AddressPair pair = addressesOf(endpoint);
    if (seen.insert(pair).second) pairs.push_back(pair);
  };
  for (const NetworkEndpointGroup& group : state.configuration.groups)
    if (index.servicesOfGroup.contains(group.name))
      for (const Endpoint& endpoint : group.endpoints) need(endpoint);
  for (const auto& [ref, endpoint] : state.endpoints)
    if (endpoint.leaves && index.servicesOfGroup.contains(ref.group)) need(endpoint.definition);
  return pairs;
}

}  // namespace

Status numberServices(State& state, const Index& index, std::vector<ServiceId>& removed) {
  std::set<ServiceId> taken;
  for (const auto& [name, service] : state.services) taken.insert(service.id);
  for (auto it = state.services.begin(); it != state.services.end();) {
    if (index.services.contains(it->first)) {
      ++it;
    } else {
      removed.push_back(it->second.id);
      it = state.services.erase(it);
    }
  }
  std::uint32_t candidate = 0;
  for (const BackendService& service : state.configuration.services) {
    if (!index.services.contains(service.name) || state.services.contains(service.name)) continue;
    while (candidate <= std::numeric_limits<ServiceId::rep>::max() &&
           taken.contains(ServiceId(static_cast<ServiceId::rep>(candidate))))
      ++candidate;
    if (candidate > std::numeric_limits<ServiceId::rep>::max())
      return Error{"more than 65536 backend services (those being removed included)"};
    ServiceState& added = state.services[service.name];
    added.id = ServiceId(static_cast<ServiceId::rep>(candidate++));
  }
  return success();
}

Status numberMarks(State& state, const Index& index) {
  const std::uint32_t mask = state.configuration.node.fwmarkMask;
  if (mask == 0) return Error{"fwmarkMask is 0: no mark can be given to any backend"};
  const std::uint32_t last = lastPosition(mask);
  const std::vector<AddressPair> pairs = needed(state, index);
  const std::set<AddressPair> wanted(pairs.begin(), pairs.end());

  MarkPositions marks;
  std::set<std::uint32_t> taken;
  std::size_t leaving = 0;
  for (const auto& [pair, position] : state.marks) {
    const bool stays = wanted.contains(pair) && position <= last;
    if (stays) marks.emplace(pair, position);
    // Those of an earlier run are not worth a refusal to start: they give way where there is no
    // room for both, as after a change of the mask.
    if (stays || state.applied || state.marks.size() + pairs.size() <= last) {
      taken.insert(position);
      leaving += stays ? 0 : 1;
    }
  }
  std::uint32_t candidate = 1;
  for (const AddressPair& pair : pairs) {
    if (marks.contains(pair)) continue;
    while (candidate <= last && taken.contains(candidate)) ++candidate;
    if (candidate > last || candidate == 0)
      return Error{fmt::format(
          "fwmarkMask 0x{:08x} has room for {} backends, but the configuration has {}{}{}", mask,
          last, pairs.size(),
          leaving != 0 ? fmt::format(" and {} that are just leaving", leaving) : "",
          last == kLastMarkPosition ? "; no mask has room for more"
                                    : "; widen the mask in weir.yaml")};
    marks.emplace(pair, candidate++);
  }
  state.marks = std::move(marks);
  return success();
}

void returnMarks(State& state, const Index& index) {
  const std::vector<AddressPair> pairs = needed(state, index);
  const std::set<AddressPair> wanted(pairs.begin(), pairs.end());
  std::erase_if(state.marks, [&](const auto& mark) { return !wanted.contains(mark.first); });
}

Mark markAt(std::uint32_t position, std::uint32_t fwmarkMask) noexcept {
  return Mark(position << std::countr_zero(fwmarkMask));
}

BackendSlot freeSlot(const std::set<BackendSlot>& used) noexcept {
  std::uint16_t candidate = 0;
  for (const BackendSlot slot : used) {  // ascending
    if (slot.value() != candidate) break;
    ++candidate;
  }
  return BackendSlot(candidate);
}

}  // namespace weir::control
