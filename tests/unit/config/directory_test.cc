// SPDX-License-Identifier: GPL-2.0-or-later
//
// /etc/weir as files, and `weirctl check`.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/check.h"
#include "fixture.h"
#include "support/temporary_directory.h"

namespace weir::config::test {
namespace {

namespace fs = std::filesystem;

class Directory : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }

  weir::test::TemporaryDirectory directory_;
  const fs::path path_ = directory_.path();
};

TEST_F(Directory, C1_AllFilesOfConfDInNameOrder) {
  write("weir.yaml", "queues: 2\n" + kCheck);
  write("conf.d/20-b.yaml", kService);
  write("conf.d/10-a.yaml", kGroup);
  write("conf.d/30.yaml", kRule);
  write("conf.d/.hidden.yaml", "[");
  write("conf.d/readme.txt", "[");
  const Loaded loaded = loadDirectory(path_);
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  EXPECT_EQ(loaded.configuration.node.queues, 2u);
  std::vector<std::string> order;
  for (const auto& d : loaded.definitions) order.push_back(d.collection);
  EXPECT_THAT(order, testing::ElementsAre("healthChecks", "networkEndpointGroups",
                                          "backendServices", "forwardingRules"));
}

TEST_F(Directory, MissingFilesAreEmpty) {
  EXPECT_TRUE(loadDirectory(path_).ok());
  write("conf.d/a.yaml", kAll);
  EXPECT_EQ(loadDirectory(path_).configuration.rules.size(), 1u);
}

TEST_F(Directory, OneFileMayHoldEverything) {
  write("all.yaml", "queues: 3\n" + kAll);
  const Loaded loaded = loadDirectory(path_ / "all.yaml");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.configuration.node.queues, 3u);
  EXPECT_EQ(loaded.configuration.rules.size(), 1u);
}

TEST_F(Directory, WhatCannotBeReadIsAnError) {
  EXPECT_THAT(all(errors(loadDirectory(path_ / "none"))), testing::HasSubstr("cannot be read"));
  fs::create_directories(path_ / "conf.d" / "dir.yaml");
  ASSERT_EQ(::mkfifo((path_ / "conf.d" / "pipe.yaml").c_str(), 0600), 0);
  ASSERT_EQ(::mknod((path_ / "conf.d" / "socket.yaml").c_str(), S_IFSOCK | 0600, 0), 0);
  fs::create_symlink("nowhere", path_ / "conf.d" / "link.yaml");
  write("conf.d/large.yaml", std::string(kMaxFileBytes + 1, ' '));
  write("conf.d/z.yaml", "@");
  const auto found = errors(loadDirectory(path_));
  ASSERT_EQ(found.size(), 6u) << all(found);
  EXPECT_THAT(found[0].message, testing::HasSubstr("is a directory, not a file"));
  EXPECT_THAT(found[1].message, testing::HasSubstr("larger than 8 MiB"));
  EXPECT_THAT(found[2].message, testing::HasSubstr("cannot be read"));
  EXPECT_THAT(found[3].message, testing::HasSubstr("not a regular file"));
  EXPECT_EQ(found[3].line, 0u);
  EXPECT_THAT(found[4].message, testing::HasSubstr("not a regular file"));
  EXPECT_EQ(found[5].line, 1u);
}

TEST_F(Directory, ConfDThatIsAFileIsAnError) {
  write("conf.d", "queues: 1\n");
  EXPECT_FALSE(loadDirectory(path_).ok());
}

TEST_F(Directory, C1_ADanglingLinkIsAnErrorNotAnEmptyConfiguration) {
  fs::create_symlink("/nowhere/at/all", path_ / "conf.d");
  EXPECT_FALSE(loadDirectory(path_).ok());
  fs::remove(path_ / "conf.d");
  fs::create_symlink("/nowhere/at/all", path_ / "weir.yaml");
  EXPECT_FALSE(loadDirectory(path_).ok());
}

TEST_F(Directory, OtherEndingsAreToldToBePassedOver) {
  write("conf.d/a.yml", kAll);
  write("conf.d/b.json", "{}");
  write("conf.d/c.YAML", kAll);
  const Loaded loaded = loadDirectory(path_);
  EXPECT_TRUE(loaded.ok());
  EXPECT_EQ(only(loaded, Diagnostic::Severity::warning).size(), 3u);
}

TEST_F(Directory, C1_AWeirYamlByAnotherNameIsToldToBePassedOver) {
  for (const std::string file : {"weir.yml", "weir.json", "Weir.yaml", "weir.YAML"}) {
    write(file, "queues: 2\n");
    write("conf.d/a.yaml", kAll);
    const auto warnings = only(loadDirectory(path_), Diagnostic::Severity::warning);
    ASSERT_EQ(warnings.size(), 1u) << file;
    EXPECT_EQ(warnings[0].file, (path_ / file).string());
    EXPECT_THAT(warnings[0].message, testing::HasSubstr("is not read: the settings of this node"));
    fs::remove(path_ / file);
  }
}

TEST_F(Directory, C1_ADirectoryWithoutAnyResourceSaysThatConfDIsMissing) {
  write("weir.yaml", "queues: 2\n");
  const auto warnings = only(loadDirectory(path_), Diagnostic::Severity::warning);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].file, (path_ / "conf.d").string());
  EXPECT_THAT(warnings[0].message, testing::HasSubstr("is missing"));
  fs::create_directory(path_ / "conf.d");
  EXPECT_TRUE(loadDirectory(path_).diagnostics.empty());
}

TEST_F(Directory, TextThatReadsAsAnotherIsEscaped) {
  write("conf.d/a.yaml", "queues: \"a\xe2\x80\xae\xe2\x80\x8b\"\n");
  const Loaded loaded = loadDirectory(path_);
  ASSERT_EQ(loaded.diagnostics.size(), 1u);
  const std::string text = loaded.diagnostics[0].toString();
  EXPECT_EQ(text.find("\xe2\x80"), std::string::npos) << text;
  EXPECT_THAT(text, testing::HasSubstr("\\u202e\\u200b"));
}

// Nothing that a path can lead to makes the check wait or fill the memory.
TEST_F(Directory, C2_ChecksWhateverItIsGivenWithoutWaiting) {
  ASSERT_EQ(::mkfifo((path_ / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", path_ / "link-to-pipe");
  fs::create_symlink("nowhere", path_ / "broken");
  fs::create_symlink("loop", path_ / "loop");
  fs::create_symlink("/dev/zero", path_ / "zero");
  fs::create_symlink("/dev/tty", path_ / "tty");
  write("large.yaml", std::string(kMaxFileBytes + 1, ' '));
  const auto tell = [&](const std::string& file) {
    std::ostringstream out, err;
    EXPECT_EQ(runCheck(path_ / file, out, err), 1) << file;
    EXPECT_THAT(err.str(), testing::StartsWith((path_ / file).string() + ": error: "));
    return err.str();
  };
  EXPECT_THAT(tell("pipe"), testing::HasSubstr("is not a regular file"));
  EXPECT_THAT(tell("link-to-pipe"), testing::HasSubstr("is not a regular file"));
  EXPECT_THAT(tell("zero"), testing::HasSubstr("is not a regular file"));
  EXPECT_THAT(tell("broken"), testing::HasSubstr("No such file"));
  EXPECT_THAT(tell("loop"), testing::HasSubstr("cannot be read: "));
  EXPECT_THAT(tell("large.yaml"), testing::HasSubstr("larger than 8 MiB"));
  EXPECT_THAT(tell("none"), testing::HasSubstr("No such file"));
  tell("tty");
}

// Files of the kernel claim to be regular and empty: some wait for more, some never end.
TEST_F(Directory, C2_FilesOfTheKernelAreNotRead) {
  for (const std::string file :
       {"/proc/kmsg", "/proc/self/pagemap", "/proc/self/status", "/sys/kernel/mm/ksm/run"}) {
    if (!fs::exists(file)) continue;
    fs::remove(path_ / "link");
    fs::create_symlink(file, path_ / "link");
    std::ostringstream out, err;
    EXPECT_EQ(runCheck(path_ / "link", out, err), 1) << file;
    EXPECT_THAT(err.str(), testing::ContainsRegex("is not a regular file|cannot be read")) << file;
  }
}

TEST_F(Directory, C2_WhatMayNotBeReadIsSaid) {
  write("secret.yaml", "queues: 1\n");
  fs::permissions(path_, fs::perms::all);
  fs::permissions(path_ / "secret.yaml", fs::perms::none);
  const uid_t user = ::geteuid();
  ASSERT_TRUE(user != 0 || ::seteuid(65534) == 0);  // root may read everything
  std::ostringstream out, err;
  EXPECT_EQ(runCheck(path_ / "secret.yaml", out, err), 1);
  ASSERT_TRUE(user != 0 || ::seteuid(user) == 0);
  EXPECT_THAT(err.str(), testing::HasSubstr("cannot be read: Permission denied"));
}

TEST_F(Directory, C1_FilesOutsideOfConfDAreToldToBePassedOver) {
  write("weir.yaml", kAll);
  write("services.yaml", "[");
  write("notes.txt", "[");
  write("conf.d/more/a.yaml", "[");
  const Loaded loaded = loadDirectory(path_);
  EXPECT_TRUE(loaded.ok());
  ASSERT_EQ(loaded.diagnostics.size(), 2u) << all(loaded.diagnostics);
  for (const Diagnostic& d : loaded.diagnostics) {
    EXPECT_EQ(d.severity, Diagnostic::Severity::hint);
    EXPECT_THAT(d.message, testing::HasSubstr("is not read"));
  }
  EXPECT_EQ(loaded.diagnostics[0].file, (path_ / "conf.d" / "more").string());
  EXPECT_EQ(loaded.diagnostics[1].file, (path_ / "services.yaml").string());
}

TEST_F(Directory, NamesOfFilesAreSafeToShow) {
  write("conf.d/a\x1b[31m\xff.yaml", "queues: [\n");
  const Loaded loaded = loadDirectory(path_);
  ASSERT_EQ(loaded.diagnostics.size(), 1u);
  EXPECT_THAT(loaded.diagnostics[0].file, testing::EndsWith("a\\x1b[31m\\xff.yaml"));
}

TEST_F(Directory, C2_CheckTellsAndExits) {
  write("weir.yaml", kAll);
  std::ostringstream out, err;
  EXPECT_EQ(runCheck(path_, out, err), 0);
  EXPECT_EQ(err.str(), "");
  EXPECT_EQ(out.str(), path_.string() +
                           ": valid: 1 forwarding rule, 1 service, 1 group, 1 endpoint, 1 health "
                           "check, 0 routes; 0 warnings, 0 hints\n");
}

TEST_F(Directory, C2_CheckCountsWhatProxiesHave) {
  write("weir.yaml",
        kCheck +
            "serviceLbPolicies: [{name: p}, {name: q}]\ntargetTcpProxies: [{name: t}]\n"
            "networkEndpointGroups: [{name: g, defaultPort: 80}]\nbackendServices: [{name: s, "
            "loadBalancingScheme: INTERNAL_MANAGED, backends: [{group: g, maxConnections: "
            "1}]}]\ntlsRoutes: [{name: x, targetProxies: [t], rules: [{matches: [{sniHost: "
            "[a.b]}], action: {destinations: [{serviceName: s}]}}]}]\n");
  std::ostringstream out, err;
  EXPECT_EQ(runCheck(path_, out, err), 0) << err.str();
  EXPECT_THAT(out.str(),
              testing::HasSubstr("0 routes, 1 target proxy, 1 TLS route, 2 service policies; "));
}

TEST_F(Directory, C2_HintsDoNotFailTheCheck) {
  write("weir.yaml", kCheck);
  std::ostringstream out, err;
  EXPECT_EQ(runCheck(path_, out, err), 0);
  EXPECT_THAT(err.str(), testing::HasSubstr("hint: no service uses health check 'hc'"));
}

TEST_F(Directory, C2_ErrorsFailTheCheckAndShowTheLine) {
  write("weir.yaml", "queues: 010\n");
  std::ostringstream out, err;
  EXPECT_EQ(runCheck(path_, out, err), 1);
  EXPECT_EQ(err.str(), (path_ / "weir.yaml").string() +
                           ":1:9: error: queues must be a whole number from 1 to 64, not '010'\n"
                           "  queues: 010\n          ^\n");
  EXPECT_EQ(out.str(), path_.string() + ": 1 error, 0 warnings, 0 hints; not applicable\n");
}

}  // namespace
}  // namespace weir::config::test
