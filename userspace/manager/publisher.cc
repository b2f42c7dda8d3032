// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/publisher.h"

#include <algorithm>

#include "base/log.h"
#include "manager/clock.h"
#include "manager/kernel_wish.h"

namespace weir::manager {

namespace {

Generation generationOf(const SnapshotMessage& message) {
  if (const auto* service = std::get_if<ServiceSnapshot>(&message)) return service->generation;
  if (const auto* rules = std::get_if<RulesSnapshot>(&message)) return rules->generation;
  return {};
}

}  // namespace

Publisher::Publisher(boost::asio::io_context& io, KernelState& kernel, DataPlanes dataPlanes)
    : kernel_(kernel), dataPlanes_(std::move(dataPlanes)), confirmation_(io) {}

void Publisher::publish(KernelWish wish, std::vector<SnapshotMessage> changes) {
  if (!inKernel_ || wish != wish_) {
    const KernelWish both = inKernel_ ? unionOf(*inKernel_, wish) : wish;
    wish_ = std::move(wish);
    pruneDue_ = !inKernel_ || both != wish_;
    applyToKernel(both, KernelState::Prune::keepOld);
  }
  for (const auto& message : changes) generation_ = std::max(generation_, generationOf(message));
  if (!changes.empty()) {
    dataPlanes_.broadcast(changes);
    publishedAt_ = now();
  }
  if (!pruneDue_) return;
  confirmation_.expires_after(kConfirmationLimit);
  confirmation_.async_wait([this](const boost::system::error_code& error) {
    if (!error) prune();
  });
}

void Publisher::progressed() {
  if (pruneDue_ && dataPlanes_.confirmed(generation_)) prune();
}

void Publisher::prune() {
  confirmation_.cancel();
  if (!std::exchange(pruneDue_, false)) return;
  applyToKernel(wish_, KernelState::Prune::removeOld);
}

void Publisher::applyToKernel(const KernelWish& wish, KernelState::Prune prune) {
  const Status status = kernel_.apply(wish, prune);
  inKernel_ = wish;
  if (status.ok()) return;
  ++counters_.kernelErrors;
  log::error("the kernel refused part of weir's state; trying again with every reconciliation",
             {{"REASON", status.error().message}});
}

void Publisher::reconcile() {
  if (!inKernel_) return;
  ++counters_.reconciliations;
  const auto repaired = kernel_.reconcile();
  if (!repaired.ok()) {
    ++counters_.kernelErrors;
    log::error("cannot bring the kernel to the wanted state",
               {{"REASON", repaired.error().message}});
  } else if (repaired.value()) {
    ++counters_.repairs;
    log::warning("kernel state of weir's had been changed by others; it is restored");
  }
}

Status Publisher::withdraw() {
  confirmation_.cancel();
  pruneDue_ = false;
  inKernel_.reset();
  return kernel_.removeAll();
}

}  // namespace weir::manager
