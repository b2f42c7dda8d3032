// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/resource_schemas.h"
#include "config/resources.h"
#include "config/words.h"

namespace weir::cli {
namespace {

using config::Diagnostic;
using config::Mark;
using config::Problems;

bool names(const EndpointKey& key, const Endpoint& endpoint) noexcept {
  const bool host = key.fqdn.empty()
                        ? endpoint.ipAddress == key.address || endpoint.ipv6Address == key.address
                        : endpoint.fqdn == key.fqdn;
  return host && (!key.port || endpoint.port == key.port);
}

std::string textOf(const EndpointKey& key) {
  Endpoint endpoint;
  endpoint.fqdn = key.fqdn;
  if (key.fqdn.empty())
    (key.address.isIpv4() ? endpoint.ipAddress : endpoint.ipv6Address) = key.address;
  endpoint.port = key.port;
  return endpoint.identity();
}

NetworkEndpointGroup* groupOf(Configuration& configuration, const std::string& name) {
  const auto found = std::find_if(configuration.groups.begin(), configuration.groups.end(),
                                  [&](const auto& group) { return group.name == name; });
  return found == configuration.groups.end() ? nullptr : &*found;
}

std::string noGroup(const Configuration& configuration, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& group : configuration.groups) known.push_back(group.name);
  return fmt::format("there is no network endpoint group {} at this time{}", config::quote(name),
                     config::didYouMean(name, known));
}

template <class T>
bool removeNamed(std::vector<T>& resources, const std::string& name) {
  return std::erase_if(resources, [&](const T& resource) { return resource.name == name; }) != 0;
}

bool removeFrom(Configuration& configuration, const DeleteEvent::Item& item) {
  if (item.collection == "healthChecks") return removeNamed(configuration.healthChecks, item.name);
  if (item.collection == "networkEndpointGroups")
    return removeNamed(configuration.groups, item.name);
  if (item.collection == "backendServices") return removeNamed(configuration.services, item.name);
  if (item.collection == "forwardingRules") return removeNamed(configuration.rules, item.name);
  if (item.collection == "targetTcpProxies")
    return removeNamed(configuration.targetProxies, item.name);
  if (item.collection == "tlsRoutes") return removeNamed(configuration.tlsRoutes, item.name);
  if (item.collection == "serviceLbPolicies")
    return removeNamed(configuration.lbPolicies, item.name);
  return removeNamed(configuration.routes, item.name);
}

}  // namespace

Timeline::Timeline(const Configuration& beginning, const config::Text& text) : text_(text) {
  adopt(beginning);
}

void Timeline::adopt(Configuration configuration) {
  configuration_ = std::move(configuration);
  for (const NetworkEndpointGroup& group : configuration_.groups)
    for (const Endpoint& endpoint : group.endpoints)
      seen_[group.name].insert_or_assign(endpoint.identity(), endpoint);
}

void Timeline::adoptIfValid(Configuration configuration, Mark place, Problems& problems) {
  const std::size_t before = problems.errors();
  config::Loaded loaded = config::validate(std::move(configuration));
  for (const Diagnostic& diagnostic : loaded.diagnostics)
    if (diagnostic.severity == Diagnostic::Severity::error)
      problems.error({&text_, place}, diagnostic.message);
  if (problems.errors() == before) adopt(std::move(loaded.configuration));
}

std::vector<EndpointRef> Timeline::membersOf(const EndpointKey& key, Problems& problems) const {
  std::vector<EndpointRef> members;
  for (const auto& [group, endpoints] : seen_) {
    if (!key.group.empty() && group != key.group) continue;
    for (const auto& [identity, endpoint] : endpoints)
      if (names(key, endpoint)) members.push_back({group, identity});
  }
  if (members.empty())
    problems.error({&text_, key.place},
                   key.group.empty()
                       ? fmt::format("no network endpoint group holds {}", textOf(key))
                       : fmt::format("network endpoint group {} does not hold {}",
                                     config::quote(key.group), textOf(key)));
  return members;
}

void Timeline::checkService(const LoadEvent& event, Problems& problems) const {
  std::vector<std::string> known;
  for (const BackendService& service : configuration_.services) {
    if (service.isManaged()) known.push_back(service.name);
    if (service.name != event.service) continue;
    if (!service.isManaged())
      problems.error({&text_, event.place},
                     fmt::format("backend service {} is a passthrough service; load is about those "
                                 "of a proxy, with loadBalancingScheme INTERNAL_MANAGED or "
                                 "EXTERNAL_MANAGED",
                                 config::quote(event.service)));
    return;
  }
  problems.error({&text_, event.place}, fmt::format("there is no backend service {} at this time{}",
                                                    config::quote(event.service),
                                                    config::didYouMean(event.service, known)));
}

void Timeline::change(const RemoveEvent& event, Problems& problems) {
  Configuration next = configuration_;
  NetworkEndpointGroup* group = groupOf(next, event.endpoint.group);
  if (group == nullptr) {
    problems.error({&text_, event.endpoint.place}, noGroup(configuration_, event.endpoint.group));
    return;
  }
  const auto removed = std::erase_if(
      group->endpoints, [&](const Endpoint& endpoint) { return names(event.endpoint, endpoint); });
  if (removed == 0) {
    problems.error({&text_, event.endpoint.place},
                   fmt::format("network endpoint group {} does not hold {} at this time",
                               config::quote(group->name), textOf(event.endpoint)));
    return;
  }
  adoptIfValid(std::move(next), event.endpoint.place, problems);
}

void Timeline::change(const AddEvent& event, Problems& problems) {
  const std::size_t before = problems.errors();
  config::Reader reader(text_, problems);
  Endpoint endpoint;
  {
    const config::Reader::Scope scope(reader, "endpoint");
    config::readEndpoint(*event.endpoint, endpoint, reader);
  }
  if (problems.errors() != before) return;
  Configuration next = configuration_;
  NetworkEndpointGroup* group = groupOf(next, event.group);
  if (group == nullptr) {
    problems.error({&text_, event.groupPlace}, noGroup(configuration_, event.group));
    return;
  }
  if (!endpoint.port) endpoint.port = group->defaultPort;
  group->endpoints.push_back(std::move(endpoint));
  adoptIfValid(std::move(next), event.endpoint->mark, problems);
}

void Timeline::change(const ApplyEvent& event, Problems& problems) {
  const std::size_t before = problems.errors();
  config::Loaded loaded = config::merge(configuration_, event.resources, text_);
  for (Diagnostic& diagnostic : loaded.diagnostics)
    if (diagnostic.severity == Diagnostic::Severity::error) problems.add(std::move(diagnostic));
  if (problems.errors() == before) adopt(std::move(loaded.configuration));
}

void Timeline::change(const DeleteEvent& event, Problems& problems) {
  const std::size_t before = problems.errors();
  Configuration next = configuration_;
  for (const DeleteEvent::Item& item : event.items)
    if (!removeFrom(next, item))
      problems.error({&text_, item.place}, fmt::format("there is no {} in {} at this time",
                                                       config::quote(item.name), item.collection));
  if (problems.errors() == before && !event.items.empty())
    adoptIfValid(std::move(next), event.items.front().place, problems);
}

namespace {

// Applies what an event means for the resources alone.
struct Check {
  Timeline& timeline;
  Problems& problems;

  void operator()(const Packet&) const {}
  void operator()(const ConnectionEvent&) const {}
  void operator()(const CloseEvent&) const {}
  void operator()(const LoadEvent& event) const { timeline.checkService(event, problems); }
  void operator()(const HealthEvent& event) const {
    for (const auto& item : event.items) timeline.membersOf(item.endpoint, problems);
  }
  void operator()(const WeightEvent& event) const {
    for (const auto& item : event.items) timeline.membersOf(item.endpoint, problems);
  }
  void operator()(const UtilizationEvent& event) const {
    for (const auto& item : event.items) timeline.membersOf(item.endpoint, problems);
  }
  template <class Change>
  void operator()(const Change& event) const {
    timeline.change(event, problems);
  }
};

}  // namespace

void checkEvents(const Configuration& beginning, const config::Text& text,
                 const std::deque<Event>& events, Problems& problems) {
  Timeline timeline(beginning, text);
  for (const Event& event : events) std::visit(Check{timeline, problems}, event.what);
}

}  // namespace weir::cli
