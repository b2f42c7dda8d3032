// SPDX-License-Identifier: GPL-2.0-or-later
//
// A kernel in memory, for tests of what stands above it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "manager/kernel/kernel_state.h"

namespace weir::manager {

class FakeKernelState : public KernelState {
 public:
  struct Applied {
    KernelWish wish;
    Prune prune;
  };

  Status apply(const KernelWish& wish, Prune prune) override {
    calls_.push_back({wish, prune});
    if (nextError_) return *std::exchange(nextError_, std::nullopt);
    wish_ = wish;
    KernelWish next = wish;
    if (prune == Prune::keepOld) {
      for (const BackendRoute& old : kernel_.backends) {
        const auto sameMark = [&old](const BackendRoute& b) { return b.mark == old.mark; };
        if (std::ranges::none_of(next.backends, sameMark)) next.backends.push_back(old);
      }
      for (const Prefix& old : kernel_.divert)
        if (std::ranges::find(next.divert, old) == next.divert.end()) next.divert.push_back(old);
      for (const DivertedRoute& old : kernel_.routes)
        if (std::ranges::find(next.routes, old) == next.routes.end()) next.routes.push_back(old);
    }
    kernel_ = std::move(next);
    return success();
  }
  std::vector<UnreachableBackend> unreachable() const override { return unreachable_; }
  Result<bool> reconcile() override {
    ++reconciliations_;
    if (nextError_) return *std::exchange(nextError_, std::nullopt);
    if (disturbed_) changes_.push_back({KernelChange::Kind::restored, "what was disturbed"});
    return std::exchange(disturbed_, false);
  }
  Status checkRoutes(std::span<const DivertedRoute> routes) override {
    for (const DivertedRoute& route : routes)
      if (route.destination == connected_)
        return Error{"route " + route.name + " is within a connected subnet"};
    return success();
  }
  std::vector<KernelChange> takeChanges() override { return std::exchange(changes_, {}); }
  Status removeAll() override {
    kernel_ = {};
    wish_ = {};
    unreachable_.clear();
    return success();
  }

  // What is in effect: the last wish and, until a removeOld, what earlier ones had.
  const KernelWish& kernel() const noexcept { return kernel_; }
  const KernelWish& lastWish() const noexcept { return wish_; }
  const std::vector<Applied>& calls() const noexcept { return calls_; }
  unsigned reconciliations() const noexcept { return reconciliations_; }

  // The next apply() or reconcile() fails with this error, without any effect.
  void failNext(std::string message) { nextError_ = Error{std::move(message)}; }
  // The next reconcile() finds something to repair.
  void disturb() noexcept { disturbed_ = true; }
  // Routes to this destination are refused.
  void setConnected(Prefix subnet) { connected_ = subnet; }
  void setUnreachable(std::vector<UnreachableBackend> backends) {
    unreachable_ = std::move(backends);
  }

 private:
  KernelWish kernel_;
  KernelWish wish_;
  std::vector<Applied> calls_;
  std::vector<UnreachableBackend> unreachable_;
  std::vector<KernelChange> changes_;
  std::optional<Prefix> connected_;
  std::optional<Error> nextError_;
  unsigned reconciliations_ = 0;
  bool disturbed_ = false;
};

}  // namespace weir::manager
