// SPDX-License-Identifier: GPL-2.0-or-later
//
// The vectors are those of docs/hashing.md. They never change: a node of another release must
// choose the same backends.
#include "core/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weir/affinity.h"
#include "weir/maglev.h"

namespace weir {
namespace {

struct KeyVector {
  std::uint64_t seed;
  const char* source;
  const char* destination;  // empty: does not count
  std::uint16_t sourcePort;
  std::uint16_t destinationPort;
  std::uint8_t protocol;
  TupleKind kind;
  std::uint64_t hash;
};
constexpr KeyVector kKeyVectors[] = {
    {0x0, "10.1.0.7", "10.9.9.9", 40000, 80, 6, TupleKind::five, 0x9e400ffed28a06c5},
    {0x0, "10.1.0.7", "10.9.9.9", 0, 0, 17, TupleKind::three, 0x763e0cebd6aa1e70},
    {0x0, "10.1.0.7", "10.9.9.9", 0, 0, 0, TupleKind::two, 0x41bdf549a6d010f0},
    {0x0, "10.1.0.7", "", 0, 0, 0, TupleKind::one, 0xde48b3d12f454d59},
    {0x0, "fd00::7", "fd01::9", 40000, 443, 6, TupleKind::five, 0xb67174276a989354},
    {0x0, "fd00::7", "fd01::9", 0, 0, 58, TupleKind::three, 0xbdbe39384d62d244},
    {0x0, "fd00::7", "fd01::9", 0, 0, 0, TupleKind::two, 0x815d1e177ce15edb},
    {0x0, "fd00::7", "", 0, 0, 0, TupleKind::one, 0xf3a9b9b51f7d2c93},
    {0x123456789abcdef, "10.1.0.7", "10.9.9.9", 40000, 80, 6, TupleKind::five, 0x9577ac837c1bbc47},
    {0x123456789abcdef, "10.1.0.7", "10.9.9.9", 0, 0, 17, TupleKind::three, 0xb8417df7812a3e50},
    {0x123456789abcdef, "10.1.0.7", "10.9.9.9", 0, 0, 0, TupleKind::two, 0xe7578627150e9827},
    {0x123456789abcdef, "10.1.0.7", "", 0, 0, 0, TupleKind::one, 0x75704c7ea079d075},
    {0x123456789abcdef, "fd00::7", "fd01::9", 40000, 443, 6, TupleKind::five, 0x1ce835612e1370d4},
    {0x123456789abcdef, "fd00::7", "fd01::9", 0, 0, 58, TupleKind::three, 0x814007d6f7f2a3f8},
    {0x123456789abcdef, "fd00::7", "fd01::9", 0, 0, 0, TupleKind::two, 0xae972c2d9c394e75},
    {0x123456789abcdef, "fd00::7", "", 0, 0, 0, TupleKind::one, 0x662b66be8581d695},
};

TEST(Hash, P4_1_KeysHaveTheirDocumentedValues) {
  for (const KeyVector& v : kKeyVectors) {
    FlowKey key;
    key.source = Address::parse(v.source).value();
    if (*v.destination != 0) key.destination = Address::parse(v.destination).value();
    key.sourcePort = v.sourcePort;
    key.destinationPort = v.destinationPort;
    key.protocol = static_cast<Protocol>(v.protocol);
    key.kind = v.kind;
    EXPECT_EQ(hashKey(key, v.seed), v.hash) << v.source << " " << v.destination;
  }
}

struct TextVector {
  std::uint64_t seed;
  const char* text;
  std::uint64_t hash;
  std::uint32_t offset;
  std::uint32_t skip;
};
constexpr TextVector kTextVectors[] = {
    {0x0, "", 0xa509dbdc183b4657, 25839, 65088},
    {0x0, "10.2.0.11", 0xdd5ee943cc035aa9, 39564, 64875},
    {0x0, "10.2.0.1", 0xbfb8e6fd0e575f07, 30709, 38363},
    {0x0, "fd00:2::11", 0xb7a1c5ef32cbc9ae, 42289, 42050},
    {0x0, "10.200.100.111", 0x9b6d80e8247d6a4a, 11080, 2627},
    {0x123456789abcdef, "", 0x2229c687b04a3a4b, 11871, 64355},
    {0x123456789abcdef, "10.2.0.11", 0x01c1feb11902e5d0, 51645, 2267},
    {0x123456789abcdef, "10.2.0.1", 0x7f735d909d6ddd96, 7750, 54674},
    {0x123456789abcdef, "fd00:2::11", 0x461d7e47c1574c48, 49948, 54387},
    {0x123456789abcdef, "10.200.100.111", 0x84a04c984038eee2, 30370, 17762},
};

TEST(Hash, P4_1_IdentitiesHaveTheirDocumentedPlaces) {
  for (const TextVector& v : kTextVectors) {
    EXPECT_EQ(hashText(v.text, v.seed), v.hash) << v.text;
    const MaglevBackend backend = maglevBackend(v.text, 5, v.seed);
    EXPECT_EQ(backend.offset, v.offset) << v.text;
    EXPECT_EQ(backend.skip, v.skip) << v.text;
    EXPECT_EQ(backend.weight, 5u);
  }
}

TEST(Hash, P4_1_LengthCountsInTexts) {
  EXPECT_NE(hashText(std::string("a"), 1), hashText(std::string("a\0", 2), 1));
}

// Every bit of input flips every bit of output in half of all cases.
class Avalanche : public testing::Test {
 protected:
  // `flip(key, bit)` changes one bit of a key.
  template <class Make, class Flip>
  void expectAvalanche(Make&& make, Flip&& flip, std::size_t bits) {
    constexpr int kTrials = 2000;
    std::mt19937_64 random(5);
    for (std::size_t bit = 0; bit < bits; ++bit) {
      int flips[64] = {};
      for (int trial = 0; trial < kTrials; ++trial) {
        const std::uint64_t seed = random();
        FlowKey key = make(random);
        const std::uint64_t before = hashKey(key, seed);
        flip(key, bit);
        const std::uint64_t difference = before ^ hashKey(key, seed);
        for (int i = 0; i < 64; ++i) flips[i] += static_cast<int>(difference >> i & 1);
      }
      // Six standard deviations of a fair coin.
      for (int i = 0; i < 64; ++i) {
        EXPECT_NEAR(flips[i], kTrials / 2, 6 * std::sqrt(kTrials / 4.0))
            << "input bit " << bit << ", output bit " << i;
      }
    }
  }
};

void flipPorts(FlowKey& key, std::size_t bit) {
  if (bit < 16) {
    key.sourcePort = static_cast<std::uint16_t>(key.sourcePort ^ (1u << bit));
  } else {
    key.destinationPort = static_cast<std::uint16_t>(key.destinationPort ^ (1u << (bit - 16)));
  }
}

TEST_F(Avalanche, P4_3_Ipv4Keys) {
  expectAvalanche(
      [](std::mt19937_64& random) {
        FlowKey key;
        key.source = Address::ipv4(static_cast<std::uint32_t>(random()));
        key.destination = Address::ipv4(static_cast<std::uint32_t>(random()));
        key.sourcePort = static_cast<std::uint16_t>(random());
        key.destinationPort = static_cast<std::uint16_t>(random());
        key.protocol = Protocol::tcp;
        return key;
      },
      [](FlowKey& key, std::size_t bit) {
        if (bit < 32) return flipPorts(key, bit);
        Address& address = bit < 64 ? key.source : key.destination;
        address = Address::ipv4(address.ipv4Bits() ^ (1u << (bit % 32)));
      },
      96);
}

TEST_F(Avalanche, P4_3_Ipv6Keys) {
  expectAvalanche(
      [](std::mt19937_64& random) {
        FlowKey key;
        key.source = Address::ipv6(random() | 1, random());
        key.destination = Address::ipv6(random() | 1, random());
        key.sourcePort = static_cast<std::uint16_t>(random());
        key.destinationPort = static_cast<std::uint16_t>(random());
        key.protocol = Protocol::udp;
        return key;
      },
      [](FlowKey& key, std::size_t bit) {
        if (bit < 32) return flipPorts(key, bit);
        Address& address = bit < 160 ? key.source : key.destination;
        const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
        const bool upper = (bit - 32) % 128 < 64;
        address =
            Address::ipv6(address.hi() ^ (upper ? mask : 0), address.lo() ^ (upper ? 0 : mask));
      },
      288);
}

// Chi-square of the picked slots' upper bits over keys that look like real ones: few sources,
// consecutive ports.
TEST(Hash, P4_3_ConsecutiveClientsSpreadEvenly) {
  constexpr int kBins = 256;
  constexpr int kKeys = 256 * 400;
  std::vector<int> bins(kBins);
  for (int i = 0; i < kKeys; ++i) {
    FlowKey key;
    key.source = Address::ipv4(0x0a010000u + static_cast<std::uint32_t>(i % 100));
    key.destination = Address::ipv4(0x0a090909);
    key.sourcePort = static_cast<std::uint16_t>(32768 + i / 100);
    key.destinationPort = 80;
    key.protocol = Protocol::tcp;
    ++bins[hashKey(key, 0) >> 56];
  }
  double chiSquare = 0;
  const double expected = double{kKeys} / kBins;
  for (const int count : bins) chiSquare += (count - expected) * (count - expected) / expected;
  // 255 degrees of freedom: mean 255, standard deviation 22.6.
  EXPECT_LT(chiSquare, 255 + 5 * 22.6);
  EXPECT_GT(chiSquare, 255 - 5 * 22.6);
}

}  // namespace
}  // namespace weir
