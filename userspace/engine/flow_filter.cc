// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/flow_filter.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::engine {

namespace {

bool isBehindRoute(const World& world, ServiceId service) noexcept {
  const auto& routes = world.rules().snapshot().routes;
  return std::any_of(routes.begin(), routes.end(),
                     [&](const SnapshotRoute& route) { return route.service == service; });
}

}  // namespace

Result<FlowFilter> FlowFilter::make(const World& world, const std::string& service,
                                    const std::string& client, const std::string& backend) {
  FlowFilter filter;
  filter.backend = backend;
  if (!service.empty()) {
    for (const auto& known : world.services())
      if (known && known->snapshot().name == service) filter.service = known->snapshot().id;
    if (!filter.service) return Error{fmt::format("no passthrough service named '{}'", service)};
  }
  if (!client.empty()) {
    filter.client = Prefix::parse(client);
    if (!filter.client)
      return Error{
          fmt::format("'{}' is neither an address nor a prefix with zero host bits", client)};
  }
  return filter;
}

bool FlowFilter::matches(const World& world, const TrackingTable::Visited& flow) const noexcept {
  if (service && flow.service != *service) return false;
  if (client && !client->contains(flow.key.source) &&
      !(client->contains(flow.key.destination) && isBehindRoute(world, flow.service)))
    return false;
  if (backend.empty()) return true;
  const Service* owner = world.service(flow.service);
  const SnapshotBackend* holder = owner == nullptr ? nullptr : owner->describe(flow.entry.backend);
  return holder != nullptr && holder->endpoint == backend;
}

}  // namespace weir::engine
