// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/backends.h"

#include <random>

namespace weir::proxy {

namespace {

Backends::Choice choiceOf(const BackendPick& pick) {
  Backends::Choice choice;
  choice.rule = pick.rule;
  if (!pick) {
    choice.reason = pick.reason;
    choice.detail = pick.detail;
    return choice;
  }
  choice.slot = pick.slot;
  choice.address = pick.address;
  choice.group = pick.group->name;
  choice.endpoint = pick.endpoint->endpoint;
  return choice;
}

}  // namespace

Backends::Choice Backends::acquire(const ServiceBalancer::Request& request) {
  const std::lock_guard lock(mutex_);
  const BackendPick pick = balancer_.pick(request);
  if (pick) balancer_.opened(pick.slot, request.now);
  return choiceOf(pick);
}

Backends::Choice Backends::preview(const ServiceBalancer::Request& request) {
  const std::lock_guard lock(mutex_);
  return choiceOf(balancer_.preview(request));
}

std::pair<std::string, std::string> Backends::nameOf(ProxySlot slot) const {
  const std::lock_guard lock(mutex_);
  return balancer_.nameOf(slot);
}

void Backends::release(ProxySlot slot, Time now) {
  const std::lock_guard lock(mutex_);
  balancer_.closed(slot, now);
}

void Backends::update(std::shared_ptr<const ProxyServiceSnapshot> snapshot, const ZoneOrder& order,
                      Time now) {
  // What is made aside, and what is left over, must not hold connections up.
  const auto prepared = balancer_.prepare(std::move(snapshot), order);
  const std::lock_guard lock(mutex_);
  balancer_.update(*prepared, now);
}

void Backends::report(const ProxyLoadReport& report, Time now) {
  const std::lock_guard lock(mutex_);
  balancer_.report(report, now);
}

void Backends::resolved(std::string_view fqdn, const std::vector<Address>& addresses) {
  const std::lock_guard lock(mutex_);
  balancer_.resolved(fqdn, addresses);
}

std::vector<ProxySlot> Backends::expired(Time now) const {
  const std::lock_guard lock(mutex_);
  return balancer_.expired(now);
}

Backends::Load Backends::load(Time now) {
  const std::lock_guard lock(mutex_);
  return {balancer_.openConnections(), balancer_.loads(now)};
}

std::shared_ptr<Backends> BackendsDirectory::find(std::string_view service) const {
  const std::lock_guard lock(mutex_);
  const auto found = services_.find(service);
  return found == services_.end() ? nullptr : found->second;
}

void BackendsDirectory::update(std::shared_ptr<const ProxyWorld> world, Time now) {
  static std::random_device entropy;
  const bool newOrder = &told_->zoneOrder() != &world->zoneOrder();
  for (const auto& [name, snapshot] : world->services()) {
    auto backends = find(name);
    if (backends == nullptr) {
      backends = std::make_shared<Backends>(name, world->node().hashSeed, entropy());
      backends->update(snapshot, world->zoneOrder(), now);
      const std::lock_guard lock(mutex_);
      services_.emplace(name, std::move(backends));
    } else if (newOrder || told_->service(name) != snapshot) {
      backends->update(snapshot, world->zoneOrder(), now);
    }
  }
  told_ = std::move(world);
  const std::lock_guard lock(mutex_);
  std::erase_if(services_,
                [&](const auto& entry) { return !told_->services().contains(entry.first); });
}

std::vector<std::shared_ptr<Backends>> BackendsDirectory::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Backends>> all;
  for (const auto& [name, backends] : services_) all.push_back(backends);
  return all;
}

}  // namespace weir::proxy
