// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <random>

#include "base/channel.h"

namespace weir {
namespace {

Frame frame(FrameType type, std::uint32_t request, std::size_t bytes) {
  Frame f{type, request, std::vector<std::uint8_t>(bytes)};
  for (std::size_t i = 0; i < bytes; ++i) f.payload[i] = static_cast<std::uint8_t>(i * 7 + request);
  return f;
}

std::vector<Frame> sample() {
  return {frame(FrameType::hello, 0, 40), frame(FrameType::snapshot, 0, 3000),
          frame(FrameType::request, 0xfedcba98, 0), frame(FrameType::response, 7, 1),
          frame(FrameType::applied, 0, 17)};
}

std::vector<std::uint8_t> bytesOf(const std::vector<Frame>& frames) {
  std::vector<std::uint8_t> bytes;
  for (const Frame& f : frames) {
    const auto one = serialize(f);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

void expectSame(const std::vector<Frame>& got, const std::vector<Frame>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].type, want[i].type);
    EXPECT_EQ(got[i].request, want[i].request);
    EXPECT_EQ(got[i].payload, want[i].payload);
  }
}

TEST(FrameReader, GivesFramesWhateverTheSplit) {
  const auto want = sample();
  const auto bytes = bytesOf(want);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    // Round 0 feeds byte by byte.
    const std::size_t most = round == 0 ? 1 : 1 + random() % 1500;
    FrameReader reader;
    std::vector<Frame> got;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % most, bytes.size() - at);
      reader.feed(std::span(bytes).subspan(at, size));
      at += size;
      for (;;) {
        auto next = reader.next();
        ASSERT_TRUE(next.ok());
        if (!*next) break;
        got.push_back(std::move(**next));
      }
    }
    expectSame(got, want);
  }
}

TEST(FrameReader, HeaderIsLittleEndian) {
  const auto bytes = serialize(frame(FrameType::request, 0x01020304, 2));
  const std::vector<std::uint8_t> header(bytes.begin(), bytes.begin() + 12);
  EXPECT_EQ(header, (std::vector<std::uint8_t>{2, 0, 0, 0, 2, 0, 0, 0, 4, 3, 2, 1}));
}

TEST(FrameReader, WaitsForTheRest) {
  const auto bytes = serialize(frame(FrameType::snapshot, 0, 100));
  FrameReader reader;
  reader.feed(std::span(bytes).first(bytes.size() - 1));
  auto next = reader.next();
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(next->has_value());
}

// The header alone is enough to refuse: nobody has to send the payload it promises.
TEST(FrameReader, RefusesGarbageByItsHeader) {
  const std::vector<std::vector<std::uint8_t>> headers{
      {1, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0},  // 64 MiB and a byte
      {0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0},
      {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},  // type 0
      {0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0},  // unknown type
      {0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0},  // reserved bytes
  };
  for (const auto& header : headers) {
    FrameReader reader;
    reader.feed(header);
    EXPECT_FALSE(reader.next().ok());
  }
}

TEST(FrameReader, SurvivesRandomBytes) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint8_t> bytes(random() % 200);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % 8);
    FrameReader reader;
    reader.feed(bytes);
    std::size_t taken = 0;
    for (;;) {
      const auto next = reader.next();
      if (!next.ok() || !next.value().has_value()) break;
      taken += 12 + (**next.operator->()).payload.size();
    }
    EXPECT_LE(taken, bytes.size());
  }
}

}  // namespace
}  // namespace weir
