// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/table_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/temporary_directory.h"
#include "unit/engine/scene.h"

namespace weir::engine {
namespace {

constexpr TrackingTable::Use kUse{test::kNow, std::chrono::seconds(600)};

TrackedKey keyOf(const TrackingTable& table, std::uint16_t port) {
  Tuple tuple{test::address("10.1.0.7"),
              test::address("10.9.9.9"),
              port,
              80,
              Protocol::tcp,
              Fragment::none};
  return table.tracked(makeKey(TupleKind::five, tuple), test::kWeb);
}

class TableFileTest : public testing::Test {
 protected:
  // Opens the file as a process would, fills in `flows` and leaves without a farewell.
  void fill(std::uint16_t flows) {
    auto file = TableFile::open(path_, test::smallTable());
    ASSERT_TRUE(file.ok()) << file.error().message;
    TrackingTable table(file->options(), file->slots(), test::kNow);
    for (std::uint16_t port = 1; port <= flows; ++port)
      ASSERT_TRUE(table.insert(keyOf(table, port), BackendSlot(2), Generation(1), kUse));
  }

  std::size_t recovered(const TrackingTableOptions& options, std::string* other = nullptr) {
    auto file = TableFile::open(path_, options);
    EXPECT_TRUE(file.ok());
    if (!file) return 0;
    if (other != nullptr) *other = file->foundOther();
    TrackingTable table(file->options(), file->slots(), test::kNow);
    return table.recovered();
  }

  void overwrite(std::streamoff at, std::string_view bytes) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.good());
  }

  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "engine.table";
};

TEST_F(TableFileTest, EntriesOutliveTheProcess) {
  fill(100);
  auto file = TableFile::open(path_, test::smallTable());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->foundOther(), "");
  TrackingTable table(file->options(), file->slots(), test::kNow);
  EXPECT_EQ(table.recovered(), 100u);
  for (std::uint16_t port = 1; port <= 100; ++port) {
    const auto entry = table.lookup(keyOf(table, port), kUse);
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->backend, BackendSlot(2));
  }
}

TEST_F(TableFileTest, IsReadableByItsOwnerOnly) {
  fill(1);
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(TableFileTest, EachNewFileHasASeedOfItsOwn) {
  const auto seed = [&](const char* name) {
    return TableFile::open(directory_.path() / name, test::smallTable()).value().options().seed;
  };
  EXPECT_NE(seed("a"), seed("b"));
}

TEST_F(TableFileTest, TwoProcessesNeverShareIt) {
  const auto first = TableFile::open(path_, test::smallTable());
  ASSERT_TRUE(first.ok());
  const auto second = TableFile::open(path_, test::smallTable());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("in use"), std::string::npos);
}

TEST_F(TableFileTest, OtherSizeStartsEmpty) {
  fill(10);
  TrackingTableOptions larger = test::smallTable();
  larger.ipv4Entries *= 2;
  std::string other;
  EXPECT_EQ(recovered(larger, &other), 0u);
  EXPECT_NE(other.find("room for"), std::string::npos) << other;
  // And from then on it is the new table's file.
  EXPECT_EQ(recovered(larger, &other), 0u);
  EXPECT_EQ(other, "");
}

TEST_F(TableFileTest, OtherLayoutStartsEmpty) {
  fill(10);
  overwrite(8, std::string_view("\xff\xff\xff\xff", 4));
  std::string other;
  EXPECT_EQ(recovered(test::smallTable(), &other), 0u);
  EXPECT_NE(other.find("layout"), std::string::npos) << other;
}

TEST_F(TableFileTest, NoTableAtAllStartsEmpty) {
  std::ofstream(path_) << "something else";
  std::string other;
  EXPECT_EQ(recovered(test::smallTable(), &other), 0u);
  EXPECT_NE(other.find("not a tracking table"), std::string::npos) << other;
}

TEST_F(TableFileTest, CutFileStartsEmpty) {
  fill(10);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  std::string other;
  EXPECT_EQ(recovered(test::smallTable(), &other), 0u);
  EXPECT_NE(other.find("cut"), std::string::npos) << other;
}

TEST_F(TableFileTest, FileFromBeforeTheLastBootStartsEmpty) {
  fill(10);
  overwrite(48, "00000000-0000-0000-0000-000000000000");
  std::string other;
  EXPECT_EQ(recovered(test::smallTable(), &other), 0u);
  EXPECT_NE(other.find("boot"), std::string::npos) << other;
}

// Damage costs the entries that it hit, nothing else.
TEST_F(TableFileTest, DamagedSlotsAreDropped) {
  fill(200);
  const std::string noise(4096, '\x5a');
  overwrite(4096, noise);
  const std::size_t kept = recovered(test::smallTable());
  EXPECT_LE(kept, 200u);
  EXPECT_GE(kept, 200u - noise.size() / 32);
}

TEST_F(TableFileTest, MissingDirectoryIsAnError) {
  const auto file =
      TableFile::open(directory_.path() / "none" / "engine.table", test::smallTable());
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("engine.table"), std::string::npos);
}

}  // namespace
}  // namespace weir::engine
