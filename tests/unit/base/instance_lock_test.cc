// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/instance_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/temporary_directory.h"

namespace weir {
namespace {

TEST(InstanceLock, SecondInstanceIsToldWhoHasIt) {
  const test::TemporaryDirectory directory;
  const auto first = InstanceLock::acquire(directory.path() / "run", "weir-engine");
  ASSERT_TRUE(first.ok()) << first.error().message;
  const auto second = InstanceLock::acquire(directory.path() / "run", "weir-engine");
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("running already"), std::string::npos);
  EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos);
}

TEST(InstanceLock, OtherProgramAndOtherDirectoryHaveLocksOfTheirOwn) {
  const test::TemporaryDirectory a, b;
  const auto first = InstanceLock::acquire(a.path(), "weir-engine");
  EXPECT_TRUE(InstanceLock::acquire(a.path(), "weir-manager").ok());
  EXPECT_TRUE(InstanceLock::acquire(b.path(), "weir-engine").ok());
}

TEST(InstanceLock, IsReleasedWithItsOwner) {
  const test::TemporaryDirectory directory;
  { const auto first = InstanceLock::acquire(directory.path(), "weir-engine"); }
  EXPECT_TRUE(InstanceLock::acquire(directory.path(), "weir-engine").ok());
}

TEST(InstanceLock, DirectoryThatCannotBeMadeIsAnError) {
  const auto lock = InstanceLock::acquire("/proc/none/run", "weir-engine");
  ASSERT_FALSE(lock.ok());
  EXPECT_NE(lock.error().message.find("/proc/none/run"), std::string::npos);
}

}  // namespace
}  // namespace weir
