// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/replace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

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
  fs::path path() const { return directory_.path() / "conf.d" / "weirctl.yaml"; }
  test::TemporaryDirectory directory_;
};

TEST_F(ReplaceFile, MakesTheFileAndItsDirectory) {
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
  fs::create_directory(path().parent_path());
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
  fs::create_directory(path().parent_path());
  fs::create_symlink("/etc/passwd", path().parent_path() / ".weirctl.yaml.new");
  ASSERT_TRUE(replaceFile(path(), "a").ok());
  EXPECT_EQ(readAll(path()), "a");
  EXPECT_EQ(filesIn(path().parent_path()), 1u);
}

TEST_F(ReplaceFile, WithoutADirectoryTheErrorSaysWhy) {
  std::ofstream(directory_.path() / "conf.d") << "a file";
  const Status status = replaceFile(path(), "a");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("nothing was changed"));
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
