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
  const bool news = !inKernel_ || wish != wish_;
  if (news) {
    const KernelWish both = inKernel_ ? unionOf(*inKernel_, wish) : wish;
    wish_ = std::move(wish);
    // Also when nothing is to go: until it is pruned the kernel state keeps whatever it finds under
    // weir's numbers, and reconciliations would too.
    pruneDue_ = true;
    applyToKernel(both, KernelState::Prune::keepOld);
  }
  publish(std::move(changes));
  // What repeats the wish does not put off the pruning.
  if (!news) return;
  confirmation_.expires_after(kConfirmationLimit);
  confirmation_.async_wait([this](const boost::system::error_code& error) {
    if (!error) prune();
  });
}

void Publisher::publish(std::vector<SnapshotMessage> changes) {
  for (const auto& message : changes) generation_ = std::max(generation_, generationOf(message));
  if (changes.empty()) return;
  dataPlanes_.broadcast(changes);
  publishedAt_ = now();
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
  noteRefusal(status);
}

void Publisher::reconcile() {
  if (!inKernel_) return;
  ++counters_.reconciliations;
  const auto repaired = kernel_.reconcile();
  if (noteChanges()) ++counters_.repairs;
  noteWarnings();
  noteRefusal(repaired.ok() ? success() : Status(repaired.error()));
}

void Publisher::noteRefusal(const Status& status) {
  if (status.ok()) {
    if (!refusal_.empty()) log::info("the kernel has taken all of weir's state again");
    refusal_.clear();
    refusals_.clear();
    return;
  }
  ++counters_.kernelErrors;
  refusal_ = status.error().message;
  const auto present = std::chrono::steady_clock::now();
  // Reasons may take turns, and each may name something else every time.
  if (refusals_.size() >= kRefusalsKept && !refusals_.contains(refusal_)) return;
  const auto [told, first] = refusals_.try_emplace(refusal_, present);
  if (!first && present - told->second < kRefusalRepeat) return;
  told->second = present;
  log::error("the kernel refuses part of weir's state; trying again with every reconciliation",
             {{"REASON", refusal_}});
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
      log::warning("something on this host is in conflict with what weir is told to do",
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
