// SPDX-License-Identifier: GPL-2.0-or-later
//
// Exit status and words where a command line, or where its output goes, is wrong (C2).
#include <streambuf>

#include "unit/cli/weirctl.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;

class Usage : public Weirctl {};

// Takes nothing, as a full disk.
class Full : public std::streambuf {
 protected:
  int_type overflow(int_type) override { return traits_type::eof(); }
  int sync() override { return -1; }
};

TEST_F(Usage, C2_OutputThatNobodyGetsIsAFailure) {
  Full full;
  std::ostream out(&full);
  std::ostringstream err;
  std::istringstream in;
  const auto weirctl = [&](const std::vector<std::string>& arguments) {
    out.clear();
    err.str("");
    std::vector<std::string> line{"--run-dir", directory_.path().string()};
    line.insert(line.end(), arguments.begin(), arguments.end());
    return run(line, {.in = in,
                      .out = out,
                      .err = err,
                      .inIsTerminal = false,
                      .outIsTerminal = false,
                      .color = false});
  };
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"export"}, {"--version"}, {"--help"}}) {
    EXPECT_EQ(weirctl(line), 1) << line[0];
    EXPECT_THAT(err.str(), HasSubstr("weirctl: the output cannot be written")) << line[0];
  }
  EXPECT_EQ(weirctl({"nonsense"}), 2);
}

TEST_F(Usage, C2_ExportGoesToAPlainNameAndToDevices) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  const int plain = weirctl({"export", "-f", "backup.yaml"});
  std::filesystem::current_path(before);
  EXPECT_EQ(plain, 0) << err_.str();
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "backup.yaml"));
  EXPECT_EQ(weirctl({"export", "-f", "/dev/null"}), 0) << err_.str();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(weirctl({"export", "-f", "/dev/full"}), 1);
  EXPECT_EQ(err_.str(), "weirctl: cannot write /dev/full: No space left on device\n");
  EXPECT_EQ(weirctl({"export", "-f", (directory_.path() / "none/x.yaml").string()}), 1);
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "none"));
}

TEST_F(Usage, C2_FlagsThatContradictEachOtherAreWrongUsage) {
  EXPECT_EQ(weirctl({"health-checks", "create", "http", "hc", "--port=80", "--use-serving-port"}),
            2);
  EXPECT_THAT(err_.str(), HasSubstr("--port and --use-serving-port exclude each other"));
  EXPECT_EQ(weirctl({"forwarding-rules", "create", "r", "--address=10.9.9.9", "--ports=80",
                     "--port-range=80-90", "--backend-service=web"}),
            2);
  EXPECT_THAT(err_.str(), HasSubstr("--ports and --port-range exclude each other"));
  EXPECT_EQ(weirctl({"forwarding-rules", "create", "r", "--address=10.9.9.9",
                     "--target-tcp-proxy=p", "--backend-service=web"}),
            2);
  EXPECT_EQ(
      weirctl({"backend-services", "update", "web", "--enable-logging", "--no-enable-logging"}), 2);
  EXPECT_THAT(err_.str(),
              HasSubstr("--enable-logging and --no-enable-logging contradict each other"));
  EXPECT_TRUE(manager_.asked().empty());
}

TEST_F(Usage, C2_ADrainingTimeoutBeyondTheMostIsWrongUsage) {
  EXPECT_EQ(weirctl({"drain", "web", "10.2.0.11", "--timeout", "2h"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--timeout must be at most 1h"));
  EXPECT_TRUE(manager_.asked().empty());
  EXPECT_EQ(weirctl({"drain", "web", "10.2.0.11", "--timeout", "1h"}), 0);
}

TEST_F(Usage, C2_TopOfAnUnknownServiceSaysSo) {
  manager_.say("GET /v1/status", 200, R"({"services":[{"name":"web"}]})");
  EXPECT_EQ(weirctl({"top", "-n", "1", "--service", "wbe"}), 1);
  EXPECT_EQ(err_.str(), "weirctl: there is no backend service 'wbe' (did you mean 'web'?)\n");
}

TEST_F(Usage, C2_AnEmptyFileIsNotApplied) {
  EXPECT_EQ(weirctl({"apply", "-f", "-"}, " \n"), 1);
  EXPECT_EQ(err_.str(), "weirctl: (input) is empty; nothing was changed\n");
  EXPECT_TRUE(manager_.asked().empty());
}

}  // namespace
}  // namespace weir::cli
