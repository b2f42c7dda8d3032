// SPDX-License-Identifier: GPL-2.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/kernel/announce.h"
#include "manager/kernel/gratuitous.h"

namespace weir::manager {
namespace {

constexpr MacAddress kMac{2, 0, 0, 0, 0xab, 0xcd};
Address address(const char* text) { return *Address::parse(text); }

TEST(Gratuitous, TheArpRequestAsksForItsOwnSenderOnTheWholeLink) {
  const std::array<std::uint8_t, 42> expected{
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0, 0, 0xab, 0xcd, 8, 6,  // Ethernet
      0,    1,    8,    0,    6,    4,    0,  1,                          // request
      2,    0,    0,    0,    0xab, 0xcd, 10, 9, 9, 9,                    // sender
      0,    0,    0,    0,    0,    0,    10, 9, 9, 9};                   // target
  EXPECT_EQ(gratuitousArp(address("10.9.9.9"), kMac), expected);
}

TEST(Gratuitous, TheAdvertisementOverridesAndIsNotSolicited) {
  const auto message = unsolicitedAdvertisement(address("fd09::9"), kMac);
  const std::array<std::uint8_t, 32> expected{136, 0, 0, 0, 0xa0, 0, 0, 0, 0xfd, 9,   0,
                                              0,   0, 0, 0, 0,    0, 0, 0, 0,    0,   0,
                                              0,   9, 2, 1, 2,    0, 0, 0, 0xab, 0xcd};
  EXPECT_EQ(message, expected);
}

class AnnouncingLinks : public testing::Test {
 protected:
  static Link link(unsigned index, const char* name) {
    Link link;
    link.index = index;
    link.name = name;
    link.up = link.running = link.resolves = true;
    return link;
  }
  std::vector<std::string> names(const char* virtualAddress,
                                 const std::vector<std::string>& interfaces) const {
    std::vector<std::string> result;
    for (const Link* found : announcingLinks(address(virtualAddress), interfaces, links_, subnets_))
      result.push_back(found->name);
    return result;
  }
  Links links_{{2, link(2, "eth0")}, {3, link(3, "eth1")}, {4, link(4, "eth2")}};
  std::vector<ConnectedSubnet> subnets_{{*Prefix::parse("10.1.0.0/24"), "eth0"},
                                        {*Prefix::parse("10.2.0.0/24"), "eth1"},
                                        {*Prefix::parse("fd01::/64"), "eth0"}};
};

TEST_F(AnnouncingLinks, WithoutNamesThoseWhoseSubnetHasTheAddress) {
  EXPECT_THAT(names("10.1.0.200", {}), testing::ElementsAre("eth0"));
  EXPECT_THAT(names("fd01::200", {}), testing::ElementsAre("eth0"));
  EXPECT_THAT(names("10.9.9.9", {}), testing::IsEmpty());
}

TEST_F(AnnouncingLinks, NamesDecideAlone) {
  EXPECT_THAT(names("10.9.9.9", {"eth2", "eth9"}), testing::ElementsAre("eth2"));
  EXPECT_THAT(names("10.1.0.200", {"eth1"}), testing::ElementsAre("eth1"));
}

TEST_F(AnnouncingLinks, NeitherDownNorWithoutNeighbours) {
  links_.at(2).up = false;
  links_.at(3).resolves = false;
  EXPECT_THAT(names("10.9.9.9", {"eth0", "eth1"}), testing::IsEmpty());
  EXPECT_THAT(names("10.1.0.200", {}), testing::IsEmpty());
}

}  // namespace
}  // namespace weir::manager
