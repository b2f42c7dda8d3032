// SPDX-License-Identifier: GPL-2.0-or-later
#include <utility>

#include "weir/data_plane.h"

namespace weir {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

World::World() : rules_(std::make_shared<const Rules>(RulesSnapshot{})) {}

std::shared_ptr<const World> World::after(const SnapshotMessage& message) const {
  auto next = std::make_shared<World>(*this);
  const auto put = [&](ServiceId id, std::shared_ptr<const Service> service) {
    const std::size_t at = id.value();
    if (at >= next->services_.size()) {
      if (service == nullptr) return;
      next->services_.resize(at + 1);
    }
    next->services_[at] = std::move(service);
  };
  const auto heard = [&](ServiceId id, bool exists) {
    if (!next->heardInSync_) return;
    if (id.value() >= next->heardInSync_->size()) next->heardInSync_->resize(id.value() + 1u);
    (*next->heardInSync_)[id.value()] = exists;
  };

  std::visit(Overloaded{
                 // Not for packets.
                 [](const NodeSnapshot&) {},
                 [](const ProxySnapshot&) {},
                 [](const ProxyServiceSnapshot&) {},
                 [](const ProxyServiceRemoved&) {},
                 [](const ProxyLoadReport&) {},
                 [&](const SyncBegin&) { next->heardInSync_.emplace(); },
                 [&](const ServiceSnapshot& service) {
                   put(service.id,
                       std::make_shared<const Service>(service, rules_->snapshot().hashSeed));
                   heard(service.id, true);
                 },
                 [&](const ServiceRemoved& removed) {
                   put(removed.id, nullptr);
                   heard(removed.id, false);
                 },
                 [&](const RulesSnapshot& rules) {
                   next->rules_ = std::make_shared<const Rules>(rules);
                   if (rules.hashSeed == rules_->snapshot().hashSeed) return;
                   for (auto& service : next->services_) {
                     if (service == nullptr) continue;
                     service = std::make_shared<const Service>(service->snapshot(), rules.hashSeed);
                   }
                 },
                 [&](const SyncEnd&) {
                   if (!next->heardInSync_) return;
                   const std::vector<bool> named = *std::exchange(next->heardInSync_, std::nullopt);
                   for (std::size_t i = 0; i < next->services_.size(); ++i) {
                     if (i >= named.size() || !named[i]) next->services_[i] = nullptr;
                   }
                 },
             },
             message);
  return next;
}

const Service* World::service(ServiceId id) const noexcept {
  return id.value() < services_.size() ? services_[id.value()].get() : nullptr;
}

}  // namespace weir
