// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/log_limiter.h"
#include "unit/base/journal_stream.h"

namespace weir {
namespace {

class LogTest : public testing::Test {
 protected:
  static std::string written(log::Level level, log::Format format, const auto& write) {
    ::unsetenv("JOURNAL_STREAM");
    log::setup("weir-test", level, format);
    testing::internal::CaptureStderr();
    write();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(LogTest, LineHasLevelMessageAndFields) {
  const auto line = written(log::Level::info, log::Format::text, [] {
    log::warning("something is up", {{"QUEUE", "8100"}, {"REASON", "no \"luck\""}});
  });
  EXPECT_THAT(line, testing::EndsWith("weir-test warning: something is up QUEUE=8100 "
                                      "REASON=\"no \\\"luck\\\"\"\n"));
}

TEST_F(LogTest, LevelsBelowTheChosenOneAreSilent) {
  const auto line = written(log::Level::warning, log::Format::text, [] {
    log::info("hidden");
    log::debug("hidden");
    log::error("shown");
  });
  EXPECT_THAT(line, testing::Not(testing::HasSubstr("hidden")));
  EXPECT_THAT(line, testing::HasSubstr("shown"));
}

TEST_F(LogTest, FieldCannotForgeALine) {
  for (const auto format : {log::Format::text, log::Format::json}) {
    const auto lines = written(log::Level::info, format, [] {
      log::info("one\nline", {{"REASON", "a\nweir-test error: forged \x1b[2J"}});
    });
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
    EXPECT_EQ(lines.find('\x1b'), std::string::npos);
  }
}

TEST_F(LogTest, JsonLineIsOneObject) {
  const auto line = written(log::Level::info, log::Format::json, [] {
    log::info("ready", {{"QUEUE", "8100"}, {"NAME", "\xff"}});
  });
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["level"], "info");
  EXPECT_EQ(object["message"], "ready");
  EXPECT_EQ(object["QUEUE"], "8100");
}

TEST_F(LogTest, JsonLinesInTheJournalHavePriorities) {
  testing::internal::CaptureStderr();
  test::pretendStderrIsJournal();
  log::setup("weir-test", log::Level::info, log::Format::json);
  ::unsetenv("JOURNAL_STREAM");
  log::error("bad");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::StartsWith("<3>{"));
}

TEST_F(LogTest, AnotherProgramsJournalStreamIsNotOurs) {
  testing::internal::CaptureStderr();
  ::setenv("JOURNAL_STREAM", "8:1", 1);
  log::setup("weir-test", log::Level::info, log::Format::json);
  ::unsetenv("JOURNAL_STREAM");
  log::error("bad");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::StartsWith("{"));
}

TEST_F(LogTest, ALineThatRepeatsIsLeftOutAfterTheFirstFew) {
  const auto lines = written(log::Level::info, log::Format::text, [] {
    for (int i = 0; i < 100; ++i)
      log::warning("probe socket failed", {{"REASON", std::to_string(i)}});
    log::warning("probe socket failed", {{"BACKEND", "10.0.0.2"}});
  });
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), log::LogLimiter::kBurst + 1);
  EXPECT_THAT(lines, testing::HasSubstr("REASON=19 LIMIT=\"more lines like this are left out"));
  EXPECT_THAT(lines, testing::HasSubstr("BACKEND=10.0.0.2"));
}

TEST_F(LogTest, WordsOfTheCommandLine) {
  EXPECT_EQ(log::parseLevel("debug"), log::Level::debug);
  EXPECT_EQ(log::parseLevel("loud"), std::nullopt);
  EXPECT_EQ(log::parseFormat("json"), log::Format::json);
  EXPECT_EQ(log::parseFormat("xml"), std::nullopt);
}

}  // namespace
}  // namespace weir
