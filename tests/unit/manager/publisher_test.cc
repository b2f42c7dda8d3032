// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "little_server.h"
#include "manager/kernel/fake_kernel_state.h"

namespace weir::manager {
namespace {

// Notes every effect in order.
class NotingKernel : public FakeKernelState {
 public:
  explicit NotingKernel(std::vector<std::string>& notes) : notes_(notes) {}
  Status apply(const KernelWish& wish, Prune prune) override {
    notes_.push_back((prune == Prune::keepOld ? "kernel adds to " : "kernel prunes to ") +
                     std::to_string(wish.backends.size()));
    return FakeKernelState::apply(wish, prune);
  }
  Status removeAll() override {
    notes_.push_back("kernel removes all");
    return FakeKernelState::removeAll();
  }

 private:
  std::vector<std::string>& notes_;
};

class Publishing : public testing::Test {
 protected:
  static KernelWish wish(std::initializer_list<std::uint32_t> marks) {
    KernelWish wish;
    for (const auto mark : marks)
      wish.backends.push_back({Mark(mark), Address::ipv4(0x0a000000 + mark), std::nullopt});
    return wish;
  }
  static std::vector<SnapshotMessage> snapshot(std::uint32_t generation) {
    ServiceSnapshot service;
    service.generation = Generation(generation);
    return {service};
  }

  boost::asio::io_context io_;
  std::vector<std::string> notes_;
  NotingKernel kernel_{notes_};
  Generation confirmed_;
  Publisher publisher_{io_,
                       kernel_,
                       {[this](std::span<const SnapshotMessage>) { notes_.push_back("snapshots"); },
                        [this](Generation wanted) { return confirmed_ >= wanted; }}};
};

TEST_F(Publishing, KernelAddsBeforeSnapshotsAndPrunesAfterConfirmation) {
  publisher_.publish(wish({1, 2}), snapshot(1));
  confirmed_ = Generation(1);
  publisher_.progressed();
  notes_.clear();

  publisher_.publish(wish({2, 3}), snapshot(2));
  EXPECT_THAT(notes_, testing::ElementsAre("kernel adds to 3", "snapshots"));
  publisher_.progressed();  // of an older generation
  EXPECT_EQ(notes_.size(), 2u);
  confirmed_ = Generation(2);
  publisher_.progressed();
  EXPECT_THAT(notes_, testing::ElementsAre("kernel adds to 3", "snapshots", "kernel prunes to 2"));
  EXPECT_EQ(kernel_.kernel(), wish({2, 3}));
}

TEST_F(Publishing, AnAdditionIsPrunedTooOrReconciliationsWouldKeepWhatOthersAdd) {
  publisher_.publish(wish({1}), snapshot(1));
  confirmed_ = Generation(1);
  publisher_.progressed();
  publisher_.publish(wish({1, 2}), snapshot(2));
  EXPECT_EQ(kernel_.calls().back().prune, KernelState::Prune::keepOld);
  confirmed_ = Generation(2);
  publisher_.progressed();
  EXPECT_EQ(kernel_.calls().back().prune, KernelState::Prune::removeOld);
  EXPECT_EQ(kernel_.lastWish(), wish({1, 2}));
  // Settings and numbers are changes like any other.
  KernelWish renumbered = wish({1, 2});
  renumbered.routeProtocol = 91;
  publisher_.publish(renumbered, {});
  publisher_.progressed();
  EXPECT_EQ(kernel_.calls().back().prune, KernelState::Prune::removeOld);
  KernelWish managed = renumbered;
  managed.manageSysctls = true;
  publisher_.publish(managed, {});
  publisher_.progressed();
  EXPECT_EQ(kernel_.calls().back().wish, managed);
  EXPECT_EQ(kernel_.calls().back().prune, KernelState::Prune::removeOld);
}

TEST_F(Publishing, WhatRepeatsTheWishDoesNotPutOffThePruning) {
  publisher_.publish(wish({1}), snapshot(1));
  const auto pruned = [&] { return kernel_.calls().back().prune == KernelState::Prune::removeOld; };
  std::uint32_t generation = 1;
  const auto begin = std::chrono::steady_clock::now();
  while (!pruned() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
    publisher_.publish(wish({1}), snapshot(++generation));
    runFor(io_, std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(pruned());
}

TEST_F(Publishing, ADataPlaneThatHangsHoldsUpPruningForASecondOnly) {
  publisher_.publish(wish({1}), snapshot(1));
  const auto begin = std::chrono::steady_clock::now();
  runUntil(io_, [&] { return kernel_.calls().back().prune == KernelState::Prune::removeOld; });
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, std::chrono::milliseconds(900));
  EXPECT_LE(waited, std::chrono::milliseconds(2500));
}

TEST_F(Publishing, NothingOldGoesWhileChangesFollowEachOther) {
  publisher_.publish(wish({1}), snapshot(1));
  publisher_.publish(wish({2}), snapshot(2));
  publisher_.publish(wish({3}), snapshot(3));
  EXPECT_EQ(kernel_.kernel().backends.size(), 3u);
  confirmed_ = Generation(3);
  publisher_.progressed();
  EXPECT_EQ(kernel_.kernel(), wish({3}));
}

TEST_F(Publishing, WhatConcernsDataPlanesAloneLeavesTheKernelAlone) {
  publisher_.publish(wish({1}), snapshot(1));
  const std::size_t calls = kernel_.calls().size();
  notes_.clear();
  publisher_.publish(snapshot(2));
  publisher_.publish({});
  EXPECT_THAT(notes_, testing::ElementsAre("snapshots"));
  EXPECT_EQ(kernel_.calls().size(), calls);
  EXPECT_EQ(publisher_.generation(), Generation(2));
  confirmed_ = Generation(2);
  publisher_.progressed();  // what the first one left to prune is still pruned
  EXPECT_EQ(kernel_.calls().size(), calls + 1);
}

TEST_F(Publishing, TheSameWishDoesNotTouchTheKernel) {
  publisher_.publish(wish({1}), snapshot(1));
  confirmed_ = Generation(1);
  publisher_.progressed();
  const std::size_t calls = kernel_.calls().size();
  publisher_.publish(wish({1}), snapshot(2));
  publisher_.publish(wish({1}), {});
  EXPECT_EQ(kernel_.calls().size(), calls);
  EXPECT_EQ(publisher_.generation(), Generation(2));
}

TEST_F(Publishing, LeftoversOfAnEarlierRunGoWithTheFirstPruning) {
  publisher_.publish(wish({1}), snapshot(1));
  confirmed_ = Generation(1);
  publisher_.progressed();
  EXPECT_EQ(kernel_.calls().back().prune, KernelState::Prune::removeOld);
}

TEST_F(Publishing, ARefusalOfTheKernelIsCountedAndDoesNotHoldBackSnapshots) {
  kernel_.failNext("no");
  publisher_.publish(wish({1}), snapshot(1));
  EXPECT_THAT(notes_, testing::ElementsAre("kernel adds to 1", "snapshots"));
  EXPECT_EQ(publisher_.counters().kernelErrors, 1u);
}

TEST_F(Publishing, ARefusalThatLastsIsLoggedWhenItBeginsAndWhenItEnds) {
  publisher_.publish(wish({1}), snapshot(1));
  testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) {
    kernel_.failNext("first reason");
    publisher_.reconcile();
    kernel_.failNext("second reason");
    publisher_.reconcile();
  }
  EXPECT_THAT(publisher_.kernelWarnings(), testing::ElementsAre("second reason"));
  publisher_.reconcile();
  publisher_.reconcile();
  const std::string log = testing::internal::GetCapturedStderr();
  const auto count = [&log](std::string_view text) {
    std::size_t found = 0;
    for (std::size_t at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("first reason"), 1u) << log;
  EXPECT_EQ(count("second reason"), 1u) << log;
  EXPECT_EQ(count("again"), 1u + 2u) << log;  // "trying again" twice
  EXPECT_EQ(publisher_.counters().kernelErrors, 10u);
  EXPECT_THAT(publisher_.kernelWarnings(), testing::IsEmpty());
}

TEST_F(Publishing, ReconciliationsAndRepairsAreCounted) {
  publisher_.reconcile();  // nothing is wanted yet
  EXPECT_EQ(kernel_.reconciliations(), 0u);
  publisher_.publish(wish({1}), snapshot(1));
  kernel_.disturb();
  publisher_.reconcile();
  publisher_.reconcile();
  EXPECT_EQ(publisher_.counters().reconciliations, 2u);
  EXPECT_EQ(publisher_.counters().repairs, 1u);
}

TEST_F(Publishing, N9_NothingRemainsAfterWithdrawal) {
  publisher_.publish(wish({1}), snapshot(1));
  ASSERT_TRUE(publisher_.withdraw().ok());
  EXPECT_EQ(notes_.back(), "kernel removes all");
  runFor(io_, Publisher::kConfirmationLimit + std::chrono::milliseconds(200));
  EXPECT_EQ(notes_.back(), "kernel removes all");
}

}  // namespace
}  // namespace weir::manager
