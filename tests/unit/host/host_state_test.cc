// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/host_state.h"

#include <gtest/gtest.h>

#include "weir/control_plane.h"
#include "weir/proxy_plane.h"

namespace weir::manager {
namespace {

TEST(HostState, ComesBackFromTheControlPlanesFileAndLeavesThatReadable) {
  const HostState state{{{"net/ipv4/conf/eth0.5/rp_filter", "1"}, {"net/ipv6/x", "0"}}, true};
  const ControlPlane controlPlane;
  const std::string text = withHostState(controlPlane.save(), ProxyPlane().save(), state);
  EXPECT_EQ(hostStateIn(text), state);
  ControlPlane restored;
  EXPECT_TRUE(restored.restore(text).ok());
}

TEST(HostState, WhatIsNotReadableIsAFreshStart) {
  for (const char* text : {"", "{", "[]", "{}", R"({"host": 3})", R"({"host": {"sysctls": []}})",
                           R"({"host": {"fallback": "yes", "sysctls": {"a": 1}}})"})
    EXPECT_EQ(hostStateIn(text), HostState{}) << text;
}

}  // namespace
}  // namespace weir::manager
