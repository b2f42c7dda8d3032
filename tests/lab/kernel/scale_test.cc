// SPDX-License-Identifier: GPL-2.0-or-later
//
// A thousand backends of both families. Bounds are far above what was measured, so that only a
// change of kind fails them; the times are printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <functional>

#include "lab/kernel/namespace.h"

namespace weir::manager::lab {
namespace {

using ::testing::HasSubstr;
using Prune = KernelState::Prune;

class Scale : public NamespaceTest {};

std::chrono::duration<double> timed(const char* what, const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%s: %.3f s\n", what, took.count());
  return took;
}

KernelWish manyBackends(std::uint32_t count) {
  KernelWish wanted = wish({}, {"10.9.9.9", "fd09::9"});
  for (std::uint32_t i = 1; i <= count; ++i) {
    wanted.backends.push_back({markOf(i), Address::ipv4(0x0a020000 + 10 + i),
                               Address::ipv6(0xfd02ull << 48, 0x1000 + i)});
  }
  return wanted;
}

TEST_F(Scale, P10_AThousandBackends) {
  auto state = openState();
  const std::string before = kernelView();
  const KernelWish wanted = manyBackends(1000);
  const auto apply = [&](const KernelWish& w) {
    const Status done = state->apply(w, Prune::removeOld);
    ASSERT_TRUE(done) << done.error().message;
  };
  EXPECT_LT(timed("apply 1,000 backends, both families", [&] { apply(wanted); }).count(), 2.0);
  EXPECT_TRUE(state->unreachable().empty());
  const std::uint64_t writes = state->writes();
  std::printf("messages: %llu\n", static_cast<unsigned long long>(writes));
  EXPECT_LT(timed("apply the same", [&] { apply(wanted); }).count(), 1.0);
  EXPECT_LT(timed("reconcile", [&] { EXPECT_FALSE(state->reconcile().value()); }).count(), 1.0);
  EXPECT_EQ(state->writes(), writes);

  for (const std::uint32_t i : {1u, 2u, 255u, 256u, 511u, 512u, 640u, 999u, 1000u}) {
    EXPECT_THAT(routeGet("10.9.9.9", i << 16),
                HasSubstr("via " + Address::ipv4(0x0a020000 + 10 + i).toString() + " dev eth0"));
    EXPECT_THAT(
        routeGet("fd09::9", i << 16),
        HasSubstr("via " + Address::ipv6(0xfd02ull << 48, 0x1000 + i).toString() + " dev eth0"));
  }
  EXPECT_THAT(routeGet("10.9.9.9", 1001u << 16), HasSubstr("via 10.1.0.254"));

  KernelWish fewer = wanted;
  fewer.backends.erase(fewer.backends.begin() + 500);
  EXPECT_LT(timed("remove one of them", [&] { apply(fewer); }).count(), 1.0);
  EXPECT_LE(state->writes() - writes, 2u * (1 + 14));
  EXPECT_LT(timed("remove all", [&] { EXPECT_TRUE(state->removeAll()); }).count(), 2.0);
  EXPECT_EQ(kernelView(), before);
}

TEST_F(Scale, P10_TwentyThousandBackends) {
  constexpr std::uint32_t kBackends = 20000;  // several share a leaf of the rule tree
  auto state = openState();
  KernelWish wanted = wish({}, {});
  run("ip addr add 10.128.0.1/16 dev eth0");
  for (std::uint32_t i = 1; i <= kBackends; ++i)
    wanted.backends.push_back({markOf(i), Address::ipv4(0x0a800000 + 10 + i), std::nullopt});
  timed("apply 20,000 backends, IPv4",
        [&] { EXPECT_TRUE(state->apply(wanted, Prune::removeOld)); });
  EXPECT_THAT(routeGet("10.9.9.9", 0x1fffu << 16), HasSubstr("via 10.128.32.9 dev eth0"));
  EXPECT_THAT(routeGet("10.9.9.9", 0x3fffu << 16), HasSubstr("via 10.128.64.9 dev eth0"));
  EXPECT_THAT(routeGet("10.9.9.9", 20001u << 16), HasSubstr("via 10.1.0.254"));
  timed("reconcile", [&] { EXPECT_FALSE(state->reconcile().value()); });
  timed("remove all", [&] { EXPECT_TRUE(state->removeAll()); });
}

}  // namespace
}  // namespace weir::manager::lab
