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
    pruneDue_ = !inKernel_ || both != wish_ || inKernel_->announced != wish_.announced ||
                inKernel_->interfaces != wish_.interfaces || inKernel_->fallback != wish_.fallback;
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
  noteChanges();
  noteWarnings();
  refusal_ = status.ok() ? std::string() : status.error().message;
  if (status.ok()) return;
  ++counters_.kernelErrors;
  log::error("the kernel refused part of weir's state; trying again with every reconciliation",
             {{"REASON", status.error().message}});
}

void Publisher::reconcile() {
  if (!inKernel_) return;
  ++counters_.reconciliations;
  const auto repaired = kernel_.reconcile();
  if (noteChanges()) ++counters_.repairs;
  noteWarnings();
  refusal_ = repaired.ok() ? std::string() : repaired.error().message;
  if (repaired.ok()) return;
  ++counters_.kernelErrors;
  log::error("cannot bring the kernel to the wanted state", {{"REASON", repaired.error().message}});
}

bool Publisher::noteChanges() {
  bool disturbed = false;
  for (KernelChange& change : kernel_.takeChanges()) {
    switch (change.kind) {
      case KernelChange::Kind::restored:
        disturbed = true;
        log::warning("others had removed or changed kernel state of weir's; it is put back",
                     {{"WHAT", change.what}});
        break;
      case KernelChange::Kind::removed:
        disturbed = true;
        log::warning("others had added to weir's kernel state; it is removed",
                     {{"WHAT", change.what}});
        break;
      case KernelChange::Kind::followed:
        log::info("the host's network has changed; weir's kernel state follows",
                  {{"WHAT", change.what}});
        break;
      case KernelChange::Kind::cleaned:
        log::info("removed what an earlier run had left", {{"WHAT", change.what}});
        break;
    }
    events_.push_back({now(), std::move(change)});
    if (events_.size() > kEventsKept) events_.pop_front();
  }
  return disturbed;
}

void Publisher::noteWarnings() {
  std::vector<std::string> warnings = kernel_.warnings();
  for (const std::string& warning : warnings)
    if (std::ranges::find(warnings_, warning) == warnings_.end())
      log::warning("a route is in conflict with this host's network; it goes on as it is",
                   {{"REASON", warning}});
  warnings_ = std::move(warnings);
}

std::vector<std::string> Publisher::kernelWarnings() const {
  std::vector<std::string> all = warnings_;
  if (!refusal_.empty()) all.push_back(refusal_);
  return all;
}

Status Publisher::withdraw() {
  confirmation_.cancel();
  pruneDue_ = false;
  inKernel_.reset();
  return kernel_.removeAll();
}

}  // namespace weir::manager
