// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/verdict_writer.h"

#include <gtest/gtest.h>

#include <random>

#include "unit/engine/verdict_messages.h"

namespace weir::engine {
namespace {

using test::carryOut;
using test::Fate;
using test::readVerdicts;

constexpr Verdict kDrop{};
constexpr Verdict kPass{true, false, 0};
constexpr Verdict marked(std::uint32_t mark) { return {true, true, mark}; }

TEST(VerdictWriter, PacketAloneIsOneVerdict) {
  VerdictWriter writer(8100, 64);
  writer.add(5, marked(0x10000));
  const auto sent = readVerdicts(writer.finish());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_FALSE(sent[0].batch);
  EXPECT_EQ(sent[0].queue, 8100);
  EXPECT_EQ(sent[0].id, 5u);
  EXPECT_EQ(sent[0].verdict, static_cast<std::uint32_t>(NF_ACCEPT));
  EXPECT_EQ(sent[0].mark, 0x10000u);
}

TEST(VerdictWriter, RunIsOneBatchVerdictWithTheLastId) {
  VerdictWriter writer(1, 64);
  for (std::uint32_t id = 7; id < 20; ++id) writer.add(id, marked(0x20000));
  const auto sent = readVerdicts(writer.finish());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].batch);
  EXPECT_EQ(sent[0].id, 19u);
  EXPECT_EQ(sent[0].mark, 0x20000u);
}

TEST(VerdictWriter, DifferentMarksAndVerdictsEndARun) {
  VerdictWriter writer(1, 64);
  writer.add(1, marked(0x10000));
  writer.add(2, marked(0x20000));
  writer.add(3, kPass);
  writer.add(4, kDrop);
  writer.add(5, kDrop);
  EXPECT_EQ(readVerdicts(writer.finish()).size(), 4u);
}

TEST(VerdictWriter, PassLeavesTheMarkAlone) {
  VerdictWriter writer(1, 64);
  writer.add(1, kPass);
  const auto sent = readVerdicts(writer.finish());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].verdict, static_cast<std::uint32_t>(NF_ACCEPT));
  EXPECT_FALSE(sent[0].mark.has_value());
}

TEST(VerdictWriter, NothingAddedIsNothingToSend) {
  VerdictWriter writer(1, 64);
  EXPECT_TRUE(writer.finish().empty());
  writer.add(1, kDrop);
  EXPECT_FALSE(writer.finish().empty());
  writer.clear();
  EXPECT_TRUE(writer.finish().empty());
}

// Whatever the mix, each packet meets its own verdict when the kernel carries the messages out.
TEST(VerdictWriter, EveryPacketMeetsItsOwnVerdict) {
  std::mt19937 random(3);
  VerdictWriter writer(1, 64);
  for (int round = 0; round < 2000; ++round) {
    writer.clear();
    std::set<std::uint32_t> waiting;
    std::map<std::uint32_t, Fate> want;
    // Ids have holes and may wrap.
    std::uint32_t id = round % 2 == 0 ? static_cast<std::uint32_t>(random()) : 0xfffffff0u;
    const std::size_t count = 1 + random() % 64;
    for (std::size_t i = 0; i < count; ++i) {
      id += 1 + static_cast<std::uint32_t>(random() % 8 == 0 ? random() % 5 : 0);
      const auto mark = static_cast<std::uint32_t>(random() % 3) << 16;
      const Verdict verdict = random() % 5 == 0 ? kDrop : random() % 5 == 0 ? kPass : marked(mark);
      writer.add(id, verdict);
      waiting.insert(id);
      want[id] = {verdict.accept ? std::uint32_t{NF_ACCEPT} : std::uint32_t{NF_DROP},
                  verdict.setsMark ? std::optional(verdict.mark) : std::nullopt};
    }
    ASSERT_EQ(carryOut(waiting, readVerdicts(writer.finish())), want);
  }
}

// A packet whose message could not be read waits under an unknown id.
TEST(VerdictWriter, DropUpToKeepsARunFromAnsweringEarlierPackets) {
  VerdictWriter writer(1, 64);
  writer.dropUpTo(9);
  writer.add(10, marked(0x10000));
  writer.add(11, marked(0x10000));
  const auto fates = carryOut({8, 9, 10, 11}, readVerdicts(writer.finish()));
  EXPECT_EQ(fates.at(8), (Fate{NF_DROP, std::nullopt}));
  EXPECT_EQ(fates.at(9), (Fate{NF_DROP, std::nullopt}));
  EXPECT_EQ(fates.at(10), (Fate{NF_ACCEPT, 0x10000u}));
  EXPECT_EQ(fates.at(11), (Fate{NF_ACCEPT, 0x10000u}));
}

}  // namespace
}  // namespace weir::engine
