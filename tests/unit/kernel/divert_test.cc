// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/divert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libnftnl/expr.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/x_tables.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <malloc.h>

#include <algorithm>
#include <cstring>

#include "manager/kernel/attributes.h"
#include "manager/kernel/set_elements.h"

namespace weir::manager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const DivertParameters kParameters{0xffff0000, 8100, 4, false, {}, false};

Prefix prefix(const char* text) { return *Prefix::parse(text); }
Address address(const char* text) { return *Address::parse(text); }

std::vector<std::string> fingerprints(Family family, QueueForm form,
                                      DivertParameters parameters = kParameters) {
  std::vector<std::string> result;
  for (const NftRule& rule : makeRules(family, parameters, form))
    result.push_back(fingerprint(rule.get()));
  return result;
}

std::vector<nftnl_expr*> expressions(nftnl_rule* rule) {
  std::vector<nftnl_expr*> result;
  nftnl_expr_foreach(
      rule,
      [](nftnl_expr* e, void* out) {
        static_cast<std::vector<nftnl_expr*>*>(out)->push_back(e);
        return 0;
      },
      &result);
  return result;
}

// The rule as it goes to the kernel.
std::vector<std::uint8_t> messageBytes(nftnl_rule* rule) {
  std::vector<std::uint8_t> buffer(8192);
  nlmsghdr* message =
      nftnl_nlmsg_build_hdr(reinterpret_cast<char*>(buffer.data()), NFT_MSG_NEWRULE, AF_INET, 0, 1);
  nftnl_rule_nlmsg_build_payload(message, rule);
  buffer.resize(message->nlmsg_len);
  return buffer;
}

bool containsBytes(const std::vector<std::uint8_t>& bytes, std::span<const std::uint8_t> part) {
  return std::search(bytes.begin(), bytes.end(), part.begin(), part.end()) != bytes.end();
}

TEST(DivertRules, SayWhatTheyDoInOrder) {
  EXPECT_THAT(
      fingerprints(Family::ipv4, QueueForm::native),
      ElementsAre("routes: processed, known by its source: meta cmp meta payload lookup immediate",
                  "routes: processed, known by its interface: meta lookup immediate",
                  "routes: routes to queues 8100-8103: fib cmp cmp cmp cmp notrack queue",
                  "prerouting: decided, mask 0xffff0000: meta bitwise cmp immediate",
                  "prerouting: virtual addresses to queues 8100-8103: payload lookup notrack queue",
                  "prerouting: destinations of routes: payload lookup immediate"));
}

TEST(DivertRules, N7_WhereARouteCoversAVirtualAddressReturnedPacketsLoseTheirMark) {
  DivertParameters overlapping = kParameters;
  overlapping.overlap = true;
  const auto rules = fingerprints(Family::ipv4, QueueForm::native, overlapping);
  ASSERT_EQ(rules.size(), 9u);
  EXPECT_EQ(rules[6], "returned: not decided, mask 0xffff0000: meta bitwise cmp immediate");
  EXPECT_EQ(rules[7],
            "returned: processed, known by its source: payload lookup meta bitwise lookup meta cmp "
            "meta payload lookup meta bitwise meta");
  EXPECT_EQ(makeChains(Family::ipv4, kParameters).size(), 2u);
  EXPECT_EQ(makeChains(Family::ipv4, overlapping).size(), 3u);
}

TEST(DivertRules, P8_5_Ipv6LetsNeighbourDiscoveryOfVirtualAddressesThrough) {
  const auto rules = fingerprints(Family::ipv6, QueueForm::native);
  ASSERT_EQ(rules.size(), 8u);
  EXPECT_EQ(rules[4],
            "prerouting: neighbour solicitations, mark 0xfffe0000: payload lookup meta cmp payload "
            "cmp meta bitwise meta");
  EXPECT_EQ(rules[5], "prerouting: neighbour discovery: meta cmp payload cmp cmp immediate");
}

TEST(DivertRules, TheFallbackMarksWhatWouldBeQueued) {
  DivertParameters fallback = kParameters;
  fallback.fallback = true;
  for (const Family family : kFamilies) {
    const auto queued = fingerprints(family, QueueForm::native);
    auto marked = fingerprints(family, QueueForm::native, fallback);
    ASSERT_EQ(marked.size(), queued.size());
    for (std::size_t i = 0; i < queued.size(); ++i) {
      EXPECT_EQ(marked[i].find("queue"), std::string::npos) << marked[i];
      const bool was = queued[i].find("notrack queue") != std::string::npos;
      EXPECT_EQ(marked[i] != queued[i], was) << queued[i];
      EXPECT_EQ(marked[i].find("notrack meta bitwise meta") != std::string::npos, was) << marked[i];
    }
  }
}

TEST(DivertRules, BothQueueFormsCountAsTheSame) {
  for (const Family family : kFamilies)
    EXPECT_EQ(fingerprints(family, QueueForm::native), fingerprints(family, QueueForm::compat));
}

TEST(DivertRules, EveryParameterChangesAFingerprint) {
  const auto rules = fingerprints(Family::ipv4, QueueForm::native);
  EXPECT_NE(rules,
            fingerprints(Family::ipv4, QueueForm::native, {0xfff00000, 8100, 4, false, {}, false}));
  EXPECT_NE(rules,
            fingerprints(Family::ipv4, QueueForm::native, {0xffff0000, 8101, 4, false, {}, false}));
  EXPECT_NE(rules,
            fingerprints(Family::ipv4, QueueForm::native, {0xffff0000, 8100, 3, false, {}, false}));
}

TEST(DivertRules, CompatTargetIsNfqueueRevision3WithoutBypass) {
  const auto rules = makeRules(Family::ipv4, kParameters, QueueForm::compat);
  nftnl_expr* last = expressions(rules[4].get()).back();
  EXPECT_STREQ(nftnl_expr_get_str(last, NFTNL_EXPR_NAME), "target");
  EXPECT_STREQ(nftnl_expr_get_str(last, NFTNL_EXPR_TG_NAME), "NFQUEUE");
  EXPECT_EQ(nftnl_expr_get_u32(last, NFTNL_EXPR_TG_REV), 3u);
  std::uint32_t length = 0;
  const void* data = nftnl_expr_get(last, NFTNL_EXPR_TG_INFO, &length);
  ASSERT_EQ(length, XT_ALIGN(sizeof(xt_NFQ_info_v3)));
  xt_NFQ_info_v3 info;
  std::memcpy(&info, data, sizeof info);
  EXPECT_EQ(info.queuenum, 8100);
  EXPECT_EQ(info.queues_total, 4);
  EXPECT_EQ(info.flags, 0);
}

TEST(DivertRules, NativeQueueHasNoFlags) {
  const auto rules = makeRules(Family::ipv4, kParameters, QueueForm::native);
  nftnl_expr* last = expressions(rules[4].get()).back();
  EXPECT_EQ(nftnl_expr_get_u16(last, NFTNL_EXPR_QUEUE_NUM), 8100);
  EXPECT_EQ(nftnl_expr_get_u16(last, NFTNL_EXPR_QUEUE_TOTAL), 4);
  EXPECT_FALSE(nftnl_expr_is_set(last, NFTNL_EXPR_QUEUE_FLAGS));
}

TEST(DivertRules, MaskAndTargetReachTheMessage) {
  const auto rules = makeRules(Family::ipv4, kParameters, QueueForm::compat);
  const std::uint32_t mask = kParameters.fwmarkMask;
  std::uint8_t maskBytes[4];
  std::memcpy(maskBytes, &mask, sizeof mask);
  EXPECT_TRUE(containsBytes(messageBytes(rules[3].get()), maskBytes));

  const xt_NFQ_info_v3 info{8100, 4, 0};
  std::uint8_t targetInfo[XT_ALIGN(sizeof info)] = {};
  std::memcpy(targetInfo, &info, sizeof info);
  const auto bytes = messageBytes(rules[4].get());
  EXPECT_TRUE(containsBytes(bytes, targetInfo));
  const std::string_view name = "NFQUEUE";
  EXPECT_TRUE(containsBytes(
      bytes, std::span(reinterpret_cast<const std::uint8_t*>(name.data()), name.size() + 1)));
}

TEST(DivertElements, SingleAddressesAndRangesAreKeptApartByFamily) {
  const std::vector<Prefix> all{prefix("10.9.9.9"), prefix("192.0.2.0/24"), prefix("fd00::9"),
                                prefix("2001:db8::/32")};
  const DivertElements ipv4 = divertElements(all, {}, Family::ipv4);
  EXPECT_THAT(ipv4.addresses, ElementsAre(address("10.9.9.9")));
  EXPECT_THAT(ipv4.ranges, ElementsAre(AddressRange{address("192.0.2.0"), address("192.0.2.255")}));
  const DivertElements ipv6 = divertElements(all, {}, Family::ipv6);
  EXPECT_THAT(ipv6.addresses, ElementsAre(address("fd00::9")));
  EXPECT_THAT(ipv6.ranges,
              ElementsAre(AddressRange{address("2001:db8::"),
                                       address("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff")}));
}

TEST(DivertElements, N7_ARouteToOneAddressIsARangeNotAVirtualAddress) {
  const std::vector<DivertedRoute> routes{{"host", prefix("192.0.2.7")}};
  const DivertElements ipv4 = divertElements({}, routes, Family::ipv4);
  EXPECT_THAT(ipv4.addresses, IsEmpty());
  EXPECT_THAT(ipv4.ranges, ElementsAre(AddressRange{address("192.0.2.7"), address("192.0.2.7")}));
  EXPECT_TRUE(divertElements({}, routes, Family::ipv6).empty());
}

TEST(DivertElements, ARouteMayCoverAVirtualAddress) {
  const std::vector<Prefix> addresses{prefix("10.9.9.9")};
  const auto covers = [&](const char* range) {
    return anyRangeCoversAnAddress(
        divertElements(addresses, std::vector<DivertedRoute>{{"r", prefix(range)}}, Family::ipv4));
  };
  EXPECT_TRUE(covers("0.0.0.0/0"));
  EXPECT_TRUE(covers("10.9.9.9"));
  EXPECT_FALSE(covers("10.9.9.10"));
  EXPECT_FALSE(covers("10.9.9.0/29"));
}

TEST(DivertRules, ATableTellsTheNumbersOfItsRun) {
  const RoutingOwnership own{10000, 0x77650000, 87};
  EXPECT_THAT(ownersIn(makeTable(Family::ipv4, {own}).get()), ElementsAre(own));
  EXPECT_FALSE(nftnl_table_is_set(makeTable(Family::ipv4, {}).get(), NFTNL_TABLE_USERDATA));
  const NftTable foreign(nftnl_table_alloc());
  EXPECT_THAT(ownersIn(foreign.get()), IsEmpty());
}

TEST(DivertRules, ATableTellsNumbersOfRunsThatHaveNotBeenCleanedUpAfter) {
  constexpr std::uint32_t kMost = 0xffffffff;
  const RoutingOwnership own{kMost, kMost, 255};
  const std::vector<RoutingOwnership> former{
      {1, kMost, 251}, {kMost, kMost, 252}, {kMost, kMost, 253}, {kMost, kMost, 254}};
  const auto owners = ownersOf(own, former);
  // What there is no room for is the oldest.
  EXPECT_THAT(owners, ElementsAre(own, former[1], former[2], former[3]));
  EXPECT_EQ(ownersIn(makeTable(Family::ipv6, owners).get()), owners);
  EXPECT_THAT(ownersOf(own, {}), ElementsAre(own));
}

// A manager makes and reads them every few seconds for as long as it runs. Libraries forget parts.
TEST(DivertRules, WhatIsMadeForAComparisonLeavesNoMemoryBehind) {
  const RoutingOwnership own{10000, 0x77650000, 87};
  const auto make = [&] {
    for (const Family family : {Family::ipv4, Family::ipv6}) {
      ownersIn(makeTable(family, {own}).get());
      ownersIn(makeTable(family, {}).get());
      makeChains(family, kParameters);
      makeSet(family, DivertSet{});
      makeRules(family, kParameters, QueueForm::native);
      makeRules(family, kParameters, QueueForm::compat);
    }
  };
  make();
  const std::size_t before = ::mallinfo2().uordblks;
  for (int i = 0; i < 1000; ++i) make();
  EXPECT_LT(::mallinfo2().uordblks, before + 4096);
}

// As a dump shows it.
NftRule parsed(nftnl_rule* rule) {
  auto bytes = messageBytes(rule);
  NftRule copy(nftnl_rule_alloc());
  EXPECT_GE(nftnl_rule_nlmsg_parse(reinterpret_cast<nlmsghdr*>(bytes.data()), copy.get()), 0);
  return copy;
}

TEST(DivertRules, ContentsAreTheSameOnBothSides) {
  DivertParameters overlapping = kParameters;
  overlapping.overlap = true;
  for (const Family family : kFamilies)
    for (const QueueForm form : {QueueForm::native, QueueForm::compat})
      for (const NftRule& rule : makeRules(family, overlapping, form))
        EXPECT_EQ(contentsOf(parsed(rule.get()).get()), contentsOf(rule.get()));
}

TEST(DivertRules, AChangedValueChangesTheContentsThoughCommentAndExpressionsStay) {
  const auto build = [](std::uint32_t mask, std::uint32_t operation) {
    struct Builder : RuleExpressions<Builder> {
      Builder() : RuleExpressions(2, kTableName, kChainName) {}
    };
    return Builder()
        .meta(NFT_META_MARK)
        .bitAnd(mask)
        .compare(operation, std::uint32_t{0})
        .accept()
        .done("decided");
  };
  const NftRule rule = build(0xffff0000, NFT_CMP_NEQ);
  for (const auto& [mask, operation] :
       {std::pair(0xffff0000u, NFT_CMP_EQ), std::pair(0u, NFT_CMP_NEQ)}) {
    const NftRule other = build(mask, operation);
    EXPECT_EQ(fingerprint(other.get()), fingerprint(rule.get()));
    EXPECT_NE(contentsOf(other.get()), contentsOf(rule.get()));
  }
}

TEST(DivertElements, RangesInsideOthersAreLeftOut) {
  const std::vector<Prefix> nested{prefix("10.1.0.0/16"), prefix("10.0.0.0/8"),
                                   prefix("10.1.2.0/24"), prefix("11.0.0.0/8")};
  EXPECT_THAT(divertElements(nested, {}, Family::ipv4).ranges,
              ElementsAre(AddressRange{address("10.0.0.0"), address("10.255.255.255")},
                          AddressRange{address("11.0.0.0"), address("11.255.255.255")}));
}

TEST(DivertElements, WholeAddressSpacesAreRanges) {
  const std::vector<Prefix> all{prefix("0.0.0.0/0"), prefix("::/0")};
  EXPECT_THAT(divertElements(all, {}, Family::ipv4).ranges,
              ElementsAre(AddressRange{address("0.0.0.0"), address("255.255.255.255")}));
  EXPECT_THAT(
      divertElements(all, {}, Family::ipv6).ranges,
      ElementsAre(AddressRange{address("::"), address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")}));
}

TEST(DivertElements, NothingNeedsNoMessage) {
  Messages messages;
  addElementMessages(messages, Family::ipv4, {}, ElementChange::add);
  EXPECT_TRUE(messages.empty());
}

TEST(DivertElements, ManyAreCutIntoMessagesThatFitAnAttribute) {
  DivertElements elements;
  for (std::uint32_t i = 0; i < 5000; ++i)
    elements.ranges.insert(
        {Address::ipv6(0xfd00ull << 48 | i, 0), Address::ipv6(0xfd00ull << 48 | i, 255)});
  Messages messages;
  addElementMessages(messages, Family::ipv6, elements, ElementChange::add);
  EXPECT_EQ(messages.size(), 10u);
  for (std::size_t i = 0; i < messages.size(); ++i) EXPECT_LT(messages.at(i)->nlmsg_len, 0xffffu);
}

}  // namespace
}  // namespace weir::manager
