// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/replace_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/fd.h"
#include "support/temporary_directory.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

std::string readAll(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::size_t filesIn(const fs::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

class ReplaceFile : public testing::Test {
 protected:
  ReplaceFile() { fs::create_directory(path().parent_path()); }
  fs::path path() const { return directory_.path() / "conf.d" / "weirctl.yaml"; }
  test::TemporaryDirectory directory_;
};

TEST_F(ReplaceFile, MakesTheFile) {
  ASSERT_TRUE(replaceFile(path(), "a").ok());
  EXPECT_EQ(readAll(path()), "a");
  EXPECT_EQ(fs::status(path()).permissions(), static_cast<fs::perms>(0644));
  EXPECT_EQ(filesIn(path().parent_path()), 1u);
}

TEST_F(ReplaceFile, KeepsModeAndOwner) {
  ASSERT_TRUE(replaceFile(path(), "a").ok());
  ASSERT_EQ(::chmod(path().c_str(), 0640), 0);
  const bool isRoot = ::chown(path().c_str(), 12345, 23456) == 0;
  ASSERT_TRUE(replaceFile(path(), "b").ok());
  struct stat now {};
  ASSERT_EQ(::stat(path().c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777, 0640u);
  EXPECT_EQ(now.st_uid, isRoot ? 12345u : ::geteuid());
  EXPECT_EQ(now.st_gid, isRoot ? 23456u : ::getegid());
}

TEST_F(ReplaceFile, FollowsALinkAndKeepsIt) {
  const fs::path elsewhere = directory_.path() / "elsewhere.yaml";
  std::ofstream(elsewhere) << "old";
  fs::create_symlink(elsewhere, path());
  ASSERT_TRUE(replaceFile(path(), "new").ok());
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_EQ(readAll(elsewhere), "new");
  fs::remove(elsewhere);
  const Status dangling = replaceFile(path(), "new");
  ASSERT_FALSE(dangling.ok());
  EXPECT_THAT(dangling.error().message, testing::HasSubstr("cannot follow the link"));
}

TEST_F(ReplaceFile, LeftoversOfACrashDoNotMatter) {
  fs::create_symlink("/etc/passwd", path().parent_path() / ".weirctl.yaml.new");
  ASSERT_TRUE(replaceFile(path(), "a").ok());
  EXPECT_EQ(readAll(path()), "a");
  EXPECT_EQ(filesIn(path().parent_path()), 1u);
}

TEST_F(ReplaceFile, WithoutADirectoryTheErrorSaysWhy) {
  fs::remove(path().parent_path());
  EXPECT_FALSE(replaceFile(path(), "a").ok());
  std::ofstream(directory_.path() / "conf.d") << "a file";
  const Status status = replaceFile(path(), "a");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("nothing was changed"));
}

TEST_F(ReplaceFile, APlainNameIsInTheWorkingDirectory) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_.path());
  const Status first = replaceFile("backup.yaml", "a"), second = writeOutput("backup.yaml", "b");
  fs::current_path(before);
  EXPECT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(readAll(directory_.path() / "backup.yaml"), "b");
}

TEST_F(ReplaceFile, WhatIsNoRegularFileIsNotReplaced) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  const Status status = replaceFile(path(), "a");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("is not a regular file"));
  EXPECT_TRUE(fs::is_fifo(path()));
}

TEST_F(ReplaceFile, OutputGoesIntoADeviceOrAPipeThatStays) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  const Fd pipe(::open(path().c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(writeOutput(path(), "a").ok());
  char text = 0;
  EXPECT_EQ(::read(pipe.get(), &text, 1), 1);
  EXPECT_EQ(text, 'a');
  EXPECT_TRUE(fs::is_fifo(path()));
  EXPECT_TRUE(writeOutput("/dev/null", "a").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const Status full = writeOutput("/dev/full", "a");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message, "cannot write /dev/full: No space left on device");
  const Status directory = writeOutput(path().parent_path(), "a");
  ASSERT_FALSE(directory.ok());
  EXPECT_THAT(directory.error().message, testing::HasSubstr("Is a directory"));
}

// /dev/stdout and its like: a file that a shell opened must not be taken away from under it.
TEST_F(ReplaceFile, OutputGoesIntoAFileThatIsOpen) {
  std::ofstream(path()) << "old";
  const Fd file(::open(path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const fs::path link = directory_.path() / "stdout";
  fs::create_symlink(fs::path("/proc/self/fd") / std::to_string(file.get()), link);
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(path().c_str(), &before), 0);
  ASSERT_TRUE(writeOutput(link, "n").ok());
  ASSERT_EQ(::stat(path().c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(ReplaceFile, OutputHasTheModeThatTheUmaskLeaves) {
  const mode_t before = ::umask(0027);
  const Status written = writeOutput(path(), "a"),
               settings = replaceFile(path().parent_path() / "b", "b");
  ::umask(before);
  ASSERT_TRUE(written.ok() && settings.ok());
  EXPECT_EQ(fs::status(path()).permissions(), static_cast<fs::perms>(0640));
  EXPECT_EQ(fs::status(path().parent_path() / "b").permissions(), static_cast<fs::perms>(0644));
  ASSERT_EQ(::chmod(path().c_str(), 0604), 0);
  ASSERT_TRUE(writeOutput(path(), "b").ok());
  EXPECT_EQ(fs::status(path()).permissions(), static_cast<fs::perms>(0604));
}

// Killed in the midst of it, again and again: the old content or the new one, and nothing beside.
TEST_F(ReplaceFile, ASignalLeavesNothingBehind) {
  const std::string old = "old", text(1u << 20, 'x');
  ASSERT_TRUE(writeOutput(path(), old).ok());
  for (int round = 0; round < 15; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::signal(SIGTERM, SIG_DFL);
      for (;;) (void)writeOutput(path(), text);
    }
    ::usleep(static_cast<useconds_t>(700 * round));
    ::kill(child, SIGTERM);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const std::string now = readAll(path());
    ASSERT_TRUE(now == old || now == text) << now.size();
    ASSERT_EQ(filesIn(path().parent_path()), 1u) << "round " << round;
  }
}

TEST_F(ReplaceFile, NoDirectoryIsMadeForOutput) {
  const fs::path missing = directory_.path() / "missing";
  EXPECT_FALSE(writeOutput(missing / "backup.yaml", "a").ok());
  EXPECT_FALSE(fs::exists(missing));
}

// A disk that is full in the middle of the file: a tmpfs of one page.
TEST_F(ReplaceFile, AFullDiskChangesNothing) {
  const fs::path disk = directory_.path() / "disk";
  fs::create_directory(disk);
  // In a mount namespace of the test's own, so that nothing is left whatever happens.
  ASSERT_EQ(::unshare(CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)), 0);
  ASSERT_EQ(::mount("", "/", "", MS_REC | MS_PRIVATE, ""), 0);
  ASSERT_EQ(::mount("weir-test", disk.c_str(), "tmpfs", 0, "size=16k"), 0);
  const fs::path file = disk / "weirctl.yaml";
  const Status small = replaceFile(file, "old");
  const Status large = replaceFile(file, std::string(100'000, 'x'));
  const std::string content = readAll(file);
  const std::size_t files = filesIn(disk);
  ASSERT_EQ(::mount("", disk.c_str(), "", MS_REMOUNT | MS_RDONLY, ""), 0);
  const Status readOnly = replaceFile(file, "new");
  const std::string stillThere = readAll(file);
  ASSERT_EQ(::umount(disk.c_str()), 0);
  EXPECT_TRUE(small.ok());
  ASSERT_FALSE(large.ok());
  EXPECT_THAT(large.error().message, testing::HasSubstr("No space left"));
  EXPECT_EQ(content, "old");
  EXPECT_EQ(files, 1u);
  ASSERT_FALSE(readOnly.ok());
  EXPECT_THAT(readOnly.error().message, testing::HasSubstr("Read-only"));
  EXPECT_EQ(stillThere, "old");
}

}  // namespace
}  // namespace weir
