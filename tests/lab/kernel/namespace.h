// SPDX-License-Identifier: GPL-2.0-or-later
//
// A weir node's network namespace for one test:
//
//   eth0 10.2.0.1/20  fd02::1/64   the backends' network
//   eth1 10.1.0.1/24  fd01::1/64   uplink; default route via 10.1.0.254 and fd01::fe
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "base/fd.h"
#include "manager/kernel/netlink_kernel_state.h"

namespace weir::manager::lab {

// Output of a shell command in the test's namespace, standard error included; fails the test when
// the command fails, unless it may.
std::string run(const std::string& command);
std::string runMayFail(const std::string& command);

// An interface with a link but nobody at the other end.
void addInterface(const std::string& name);

// Everything that weir might touch, as an operator sees it.
std::string kernelView();

// The text that `ip route get` prints for a packet to `destination` with a mark.
std::string routeGet(const std::string& destination, std::uint32_t mark);

// Gives the test's namespace the settings that weir needs, so that nothing is warned of.
void makeFit();

// Moves the test into a namespace of its own, and back.
class NamespaceTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::unique_ptr<NetlinkKernelState> openState();

 private:
  Fd outside_;
};

// A host in a namespace of its own, at the other end of a veth pair "NAME" - "eth0".
class Host {
 public:
  explicit Host(const std::string& interface);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host();
  std::string run(const std::string& command) const;
  // Does `destination` answer an echo request?
  bool reaches(const std::string& destination) const;

 private:
  pid_t keeper_ = -1;
};

KernelWish wish(std::initializer_list<BackendRoute> backends,
                std::initializer_list<const char*> divert);
// Mark with this index under the default mask.
Mark markOf(std::uint32_t index);
BackendRoute backend(std::uint32_t index, const char* ipv4, const char* ipv6 = nullptr);

}  // namespace weir::manager::lab
