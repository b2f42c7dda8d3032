// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "little_server.h"

namespace weir::manager {
namespace {

TEST(StateFile, ChangesOfAMomentAreWrittenTogether) {
  TemporaryDirectory directory;
  boost::asio::io_context io;
  int written = 0;
  StateFile file(io, directory.path() / "state", [&] { return "v" + std::to_string(++written); });
  EXPECT_EQ(file.read().value(), std::nullopt);
  for (int i = 0; i < 10; ++i) file.changed();
  EXPECT_EQ(written, 0);
  runFor(io, std::chrono::milliseconds(200));
  EXPECT_EQ(file.read().value(), "v1");
  EXPECT_EQ(written, 1);
}

TEST(StateFile, FlushWritesOnlyWhatChanged) {
  TemporaryDirectory directory;
  boost::asio::io_context io;
  int written = 0;
  StateFile file(io, directory.path() / "state", [&] { return "v" + std::to_string(++written); });
  EXPECT_TRUE(file.flush());
  EXPECT_EQ(written, 0);
  file.changed();
  EXPECT_TRUE(file.flush());
  EXPECT_TRUE(file.flush());
  EXPECT_EQ(file.read().value(), "v1");
}

TEST(StateFile, AnOldStateStaysWhenWritingFails) {
  TemporaryDirectory directory;
  boost::asio::io_context io;
  StateFile file(io, directory.path() / "missing" / "state", [] { return "text"; });
  file.changed();
  EXPECT_FALSE(file.flush());
}

TEST(StateFile, WhatCouldNotBeWrittenIsToldAndTriedAgain) {
  TemporaryDirectory directory;
  boost::asio::io_context io;
  const auto path = directory.path() / "state";
  std::filesystem::create_directory(path);
  StateFile file(io, path, [] { return "text"; });
  file.changed();
  runFor(io, std::chrono::milliseconds(200));
  EXPECT_THAT(file.notWritten(), testing::HasSubstr("not a regular file"));
  std::filesystem::remove(path);
  runFor(io, StateFile::kRetry + std::chrono::milliseconds(200));
  EXPECT_EQ(file.notWritten(), "");
  EXPECT_EQ(file.read().value(), "text");
}

TEST(StateFile, WhatIsNoFileIsAnErrorNotAnEnd) {
  TemporaryDirectory directory;
  boost::asio::io_context io;
  std::filesystem::create_directory(directory.path() / "state");
  const StateFile file(io, directory.path() / "state", [] { return "text"; });
  EXPECT_FALSE(file.read().ok());
}

}  // namespace
}  // namespace weir::manager
