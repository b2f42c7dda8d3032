// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/fake_kernel_state.h"

#include <gtest/gtest.h>

namespace weir::manager {
namespace {

KernelWish wishWith(std::uint32_t mark, const char* backend, const char* divert) {
  KernelWish wish;
  wish.backends.push_back({Mark(mark), Address::parse(backend), std::nullopt});
  wish.divert.push_back(*Prefix::parse(divert));
  return wish;
}

TEST(FakeKernelState, KeepOldAddsAndRemoveOldRemoves) {
  FakeKernelState kernel;
  ASSERT_TRUE(
      kernel.apply(wishWith(0x10000, "10.2.0.1", "10.9.9.9"), KernelState::Prune::removeOld));
  const KernelWish next = wishWith(0x20000, "10.2.0.2", "10.9.9.8");
  ASSERT_TRUE(kernel.apply(next, KernelState::Prune::keepOld));
  EXPECT_EQ(kernel.kernel().backends.size(), 2u);
  EXPECT_EQ(kernel.kernel().divert.size(), 2u);
  ASSERT_TRUE(kernel.apply(next, KernelState::Prune::removeOld));
  EXPECT_EQ(kernel.kernel(), next);
  EXPECT_EQ(kernel.calls().size(), 3u);
  ASSERT_TRUE(kernel.removeAll());
  EXPECT_EQ(kernel.kernel(), KernelWish{});
}

TEST(FakeKernelState, FailureHasNoEffect) {
  FakeKernelState kernel;
  kernel.failNext("no");
  EXPECT_FALSE(
      kernel.apply(wishWith(0x10000, "10.2.0.1", "10.9.9.9"), KernelState::Prune::keepOld));
  EXPECT_EQ(kernel.kernel(), KernelWish{});
  kernel.disturb();
  EXPECT_TRUE(kernel.reconcile().value());
  EXPECT_FALSE(kernel.reconcile().value());
}

}  // namespace
}  // namespace weir::manager
