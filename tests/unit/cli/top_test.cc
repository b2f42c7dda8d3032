// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/top.h"

#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <functional>

#include "unit/cli/weirctl.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;

Json status(std::uint64_t fresh, std::uint64_t known, std::uint64_t first, std::uint64_t second) {
  const std::uint64_t all = fresh + known;
  return {
      {"manager",
       {{"pid", 1},
        {"version", "0.1.0"},
        {"uptimeSec", 5},
        {"generation", 7},
        {"configuration", "applied"}}},
      {"dataPlanes", Json::array({{{"program", "weir-engine"},
                                   {"pid", 2},
                                   {"version", "0.1.0"},
                                   {"connectedSec", 1},
                                   {"uptimeSec", 4},
                                   {"appliedGeneration", 7}}})},
      {"services",
       Json::array(
           {{{"name", "web"}, {"healthy", 2}, {"total", 2}, {"eligible", 2}, {"rule", "P2.1"}}})},
      {"engine",
       {{"totals", {{"packets", all}, {"forwarded", {{"new", fresh}, {"known", known}}}}},
        {"table", {{"entries", 10}, {"capacity", 100}}},
        {"services",
         Json::array(
             {{{"service", "web"},
               {"new", fresh},
               {"known", known},
               {"related", 0},
               {"dropped", 0},
               {"backends",
                Json::array(
                    {{{"group", "a"}, {"backend", "10.2.0.11"}, {"new", first}, {"packets", first}},
                     {{"group", "a"},
                      {"backend", "10.2.0.12"},
                      {"new", second},
                      {"packets", second}}})}}})}}}};
}

class Top : public Weirctl {
 protected:
  std::string screen(const Moment* before, const Moment& now, const std::string& service = "",
                     std::size_t rows = 0) {
    std::istringstream in;
    const Terminal terminal{.in = in, .out = out_, .err = err_};
    return topScreen(before, now, service, rows, Context{.terminal = terminal});
  }
  static Moment at(double seconds, Json status) {
    return {std::move(status), std::chrono::duration<double>(seconds)};
  }
};

TEST_F(Top, RatesAndSharesComeFromTwoMoments) {
  const Moment before = at(10, status(100, 1000, 60, 40));
  const Moment now = at(12, status(140, 3000, 90, 50));
  EXPECT_EQ(screen(&before, now),
            "PROGRAM       STATE      PID  VERSION  UP   GENERATION  NOTE\n"
            "weir-manager  running      1  0.1.0    5 s           7  configuration applied\n"
            "weir-engine   connected    2  0.1.0    4 s           7  -\n"
            "\n"
            "Connections 10 of 100   new/s 20   packets/s 1020   drops: none\n"
            "\n"
            "SERVICE  HEALTHY  ELIGIBLE  RULE  NEW  NEW/S  PACKETS/S  DROPS/S\n"
            "web      2/2             2  P2.1  140     20       1020        0\n"
            "\n"
            "SERVICE  BACKEND    GROUP  NEW/S  PACKETS/S  SHARE\n"
            "web      10.2.0.11  a         15         15  75.0%\n"
            "web      10.2.0.12  a          5          5  25.0%\n");
}

TEST_F(Top, S6_GroupsOfProxiedServicesShowWhereLoadGoesAndWhy) {
  const auto moment = [](std::uint64_t accepted) {
    Json shown = status(100, 1000, 60, 40);
    shown["services"].push_back(Json::parse(R"({"name":"shop","healthy":4,"total":8,"eligible":4,
      "rule":"S3","groups":[
      {"group":"a","zone":"za","members":4,"healthy":4,"capacity":120,"usable":120,
       "usableFraction":1,"connections":90,"load":90,"fill":0.75,"drained":false},
      {"group":"b","zone":"zb","distanceMs":2,"members":4,"healthy":0,"capacity":0,"usable":0,
       "usableFraction":0,"connections":10,"load":10,"drained":true,"drainedSec":12,
       "note":"drained because"}]})"));
    shown["proxy"] = {{"totals",
                       {{"open", 100},
                        {"accepted", accepted},
                        {"bytesUp", 0},
                        {"bytesDown", accepted * 10},
                        {"connectFailures", 3}}}};
    return shown;
  };
  const Moment before = at(10, moment(100));
  const std::string text = screen(&before, at(12, moment(140)));
  EXPECT_THAT(text, HasSubstr("Proxy connections 100   new/s 20   bytes/s 200   backends that did "
                              "not answer 3\n"));
  EXPECT_THAT(text, HasSubstr("\n"
                              "SERVICE  SHARE  GROUP  ZONE  DISTANCE MS  HEALTHY  CAPACITY  USABLE "
                              " LOAD  FILL  DRAINED   WHY\n"
                              "shop     90.0%  a      za              -  4/4           120    100% "
                              "   90   75%  no        -\n"
                              "shop     10.0%  b      zb              2  0/4             0      0% "
                              "   10     -  for 12 s  drained because\n"));
  EXPECT_THAT(screen(nullptr, at(12, moment(140)), "web"), testing::Not(HasSubstr("shop")));
  Json away = moment(1);
  away.erase("proxy");
  away["proxyError"] = "weir-proxy is not connected; is it running?";
  EXPECT_THAT(screen(nullptr, at(12, away)), HasSubstr("No loads of groups: weir-proxy is not"));
}

TEST_F(Top, TheFirstScreenKnowsNoRates) {
  const std::string text = screen(nullptr, at(10, status(100, 1000, 60, 40)));
  EXPECT_THAT(text, HasSubstr("new/s -   packets/s -"));
  EXPECT_THAT(text, HasSubstr("web      2/2             2  P2.1  100  -      -          -"));
}

TEST_F(Top, CountersThatBeganAnewHaveNoRate) {
  const Moment before = at(10, status(100, 1000, 60, 40));
  EXPECT_THAT(screen(&before, at(11, status(1, 1, 1, 0))), HasSubstr("new/s -"));
}

TEST_F(Top, AnEngineThatIsAwayIsSaid) {
  Json away = status(1, 1, 1, 0);
  away.erase("engine");
  away["engineError"] = "weir-engine is not connected";
  EXPECT_THAT(screen(nullptr, at(1, away)), HasSubstr("No counters: weir-engine is not connected"));
}

TEST_F(Top, AScreenIsNeverLongerThanTheWindow) {
  const std::string text = screen(nullptr, at(1, status(1, 1, 1, 0)), "", 6);
  EXPECT_EQ(lines(text), 6);
  EXPECT_THAT(text, HasSubstr("more lines; --service NAME shows one service\n"));
}

TEST_F(Top, WithoutATerminalScreensFollowEachOther) {
  manager_.say("GET /v1/status", 200, status(1, 1, 1, 0).dump());
  EXPECT_EQ(weirctl({"top", "-n", "2", "--interval", "1s"}), 0);
  EXPECT_EQ(manager_.asked().size(), 2u);
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(out_.str(), HasSubstr("\n\nPROGRAM"));
  EXPECT_EQ(weirctl({"top", "-n", "1", "--format", "json"}), 0);
  EXPECT_EQ(lines(out_.str()), 1);
  EXPECT_EQ(Json::parse(out_.str())["manager"]["generation"], 7);
}

TEST_F(Top, AManagerThatIsAwayEndsAScript) {
  test::TemporaryDirectory empty;
  std::istringstream in;
  EXPECT_EQ(run({"--run-dir", empty.path().string(), "top", "-n", "2"},
                {.in = in, .out = out_, .err = err_}),
            3);
}

// Runs `weirctl top` on a terminal of its own, ends it by `end`, and returns what it wrote and
// whether the terminal was left as it was found.
struct OnTerminal {
  std::string text;
  bool sameSettings = false;
  int status = -1;
};
OnTerminal topOnTerminal(const std::string& runDir, const std::function<void(int, pid_t)>& end) {
  int terminal = -1;
  int other = -1;
  termios before{};
  EXPECT_EQ(::openpty(&terminal, &other, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(::tcgetattr(other, &before), 0);
  ::close(terminal);
  ::close(other);
  const pid_t child = ::forkpty(&terminal, nullptr, &before, nullptr);
  if (child == 0) {
    ::execl(WEIRCTL, WEIRCTL, "--run-dir", runDir.c_str(), "top", "--interval", "1s", nullptr);
    ::_exit(127);
  }
  OnTerminal result;
  bool ended = false;
  char buffer[4096];
  // The terminal reads as an error when its last user is gone.
  for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) {
    result.text.append(buffer, static_cast<std::size_t>(n));
    if (ended || result.text.find("weir-manager") == std::string::npos) continue;
    ended = true;
    end(terminal, child);
  }
  ::waitpid(child, &result.status, 0);
  termios after{};
  ::tcgetattr(terminal, &after);
  result.sameSettings = before.c_lflag == after.c_lflag && before.c_cc[VSUSP] == after.c_cc[VSUSP];
  ::close(terminal);
  return result;
}

TEST_F(Top, TheTerminalIsLeftAsItWas) {
  manager_.say("GET /v1/status", 200, status(1, 1, 1, 0).dump());
  const std::vector<std::function<void(int, pid_t)>> ends{
      [](int terminal, pid_t) { EXPECT_EQ(::write(terminal, "q", 1), 1); },
      [](int terminal, pid_t) { EXPECT_EQ(::write(terminal, "\x03", 1), 1); },
      [](int, pid_t child) { ::kill(child, SIGTERM); }};
  for (const auto& end : ends) {
    const OnTerminal result = topOnTerminal(directory_.path().string(), end);
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(result.sameSettings);
    EXPECT_TRUE(result.text.starts_with("\x1b[?1049h\x1b[?25l")) << result.text;
    EXPECT_TRUE(result.text.ends_with("\x1b[?25h\x1b[?1049l")) << result.text;
  }
}

}  // namespace
}  // namespace weir::cli
