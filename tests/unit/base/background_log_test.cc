// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/background_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <future>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/log.h"

namespace weir {
namespace {

// Standard error is a pipe with little room that is read when the test says so.
class BackgroundLogTest : public testing::Test {
 protected:
  BackgroundLogTest() : before_(::dup(STDERR_FILENO)) {
    ::unsetenv("JOURNAL_STREAM");
    ::signal(SIGPIPE, SIG_IGN);  // as in weir's programs
    log::setup("weir-test", log::Level::info, log::Format::text);
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
    reader_ = Fd(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }
  ~BackgroundLogTest() override { restore(); }
  void restore() { ::dup2(before_.get(), STDERR_FILENO); }
  std::string readLines(std::size_t count) {
    std::string all;
    std::array<char, 4096> part{};
    for (std::size_t lines = 0; lines < count;) {
      const ssize_t size = ::read(reader_.get(), part.data(), part.size());
      if (size <= 0) break;
      all.append(part.data(), static_cast<std::size_t>(size));
      lines += static_cast<std::size_t>(std::count(part.begin(), part.begin() + size, '\n'));
    }
    return all;
  }

 private:
  Fd before_;
  Fd reader_;
};

TEST_F(BackgroundLogTest, NobodyWaitsForALogThatIsNotTakenAndWhatIsLostIsCounted) {
  const std::size_t count = 3 * log::BackgroundWriter::kMostWaiting;
  const std::uint64_t lostBefore = log::BackgroundWriter::lost();
  auto writer = std::make_unique<log::BackgroundWriter>();
  auto said = std::async(std::launch::async, [&] {
    for (std::size_t i = 0; i < count; ++i) log::record("connection", {{"N", std::to_string(i)}});
  });
  ASSERT_EQ(said.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  const std::uint64_t lost = log::BackgroundWriter::lost() - lostBefore;
  EXPECT_GE(lost, count - 2 * log::BackgroundWriter::kMostWaiting);
  EXPECT_LE(lost, count - log::BackgroundWriter::kMostWaiting);

  // Taken at last, all others are there, in their order, and a line says how many are not.
  const std::string all = readLines(count - lost + 1);
  writer.reset();
  std::size_t lines = 0, last = 0, at = 0;
  for (; (at = all.find(" N=", at)) != std::string::npos; ++lines) {
    const std::size_t number = std::stoul(all.substr(at += 3));
    EXPECT_TRUE(lines == 0 || number > last);
    last = number;
  }
  EXPECT_EQ(lines + lost, count);
  EXPECT_THAT(all, testing::HasSubstr("lines of the log were lost"));
  EXPECT_THAT(all, testing::HasSubstr("LINES=" + std::to_string(lost)));
}

TEST_F(BackgroundLogTest, TheEndOfTheProgramDoesNotWaitForEver) {
  const auto begun = std::chrono::steady_clock::now();
  {
    const log::BackgroundWriter writer;
    for (int i = 0; i < 80; ++i) log::record("connection", {{"N", std::to_string(i)}});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

TEST_F(BackgroundLogTest, WithoutAWriterLinesAreThereAtOnce) {
  log::info("at once");
  EXPECT_THAT(readLines(1), testing::EndsWith("info: at once\n"));
}

}  // namespace
}  // namespace weir
