// SPDX-License-Identifier: GPL-2.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "manager/kernel/sysctl_keeper.h"
#include "manager/kernel/sysctl_needs.h"
#include "support/temporary_directory.h"

namespace weir::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Sysctls : public testing::Test {
 protected:
  Sysctls() {
    for (const auto& [index, name] :
         {std::pair(1u, "lo"), std::pair(2u, "eth0"), std::pair(3u, "eth1")}) {
      Link link;
      link.index = index;
      link.name = name;
      link.loopback = index == 1;
      link.up = link.running = link.resolves = true;
      host_.links.emplace(index, link);
    }
    host_.ipv4 = true;
    host_.ipv4Backends = {3};
    set("net/ipv4/ip_forward", 1);
    for (const char* name : {"all", "default", "eth0", "eth1"}) {
      set(interfaceSysctl("ipv4", name, "forwarding"), 1);
      set(interfaceSysctl("ipv4", name, "rp_filter"), 0);
      set(interfaceSysctl("ipv4", name, "send_redirects"), 0);
      set(interfaceSysctl("ipv6", name, "forwarding"), 0);
      set(interfaceSysctl("ipv6", name, "accept_ra"), 1);
      set(interfaceSysctl("ipv6", name, "proxy_ndp"), 0);
    }
  }

  void set(const std::string& path, int value) const {
    const auto file = directory_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << value << '\n';
  }
  std::string get(const std::string& path) const {
    return readSysctls(directory_.path())(path).value_or("");
  }
  std::vector<SysctlNeed> unmet() const {
    return unmetSysctls(host_, readSysctls(directory_.path()));
  }
  std::vector<std::string> cures() const {
    std::vector<std::string> result;
    for (const SysctlNeed& need : unmet()) result.push_back(need.assignment());
    return result;
  }
  // All values, as a text.
  std::string everything() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path()))
      if (entry.is_regular_file())
        files[entry.path().string()] = get(entry.path().lexically_relative(directory_.path()));
    std::string text;
    for (const auto& [path, value] : files) text += path + "=" + value + "\n";
    return text;
  }

  test::TemporaryDirectory directory_;
  HostView host_;
};

TEST_F(Sysctls, WhatSufficesIsNotAskedFor) { EXPECT_THAT(unmet(), IsEmpty()); }

TEST_F(Sysctls, OneCommandForForwardingWhereNoInterfaceForwards) {
  set("net/ipv4/ip_forward", 0);
  for (const char* name : {"eth0", "eth1"}) set(interfaceSysctl("ipv4", name, "forwarding"), 0);
  EXPECT_THAT(cures(), ElementsAre("net.ipv4.ip_forward=1", "net.ipv4.ip_forward=1"));
  set("net/ipv4/ip_forward", 1);
  set(interfaceSysctl("ipv4", "eth1", "forwarding"), 1);
  EXPECT_THAT(cures(), ElementsAre("net.ipv4.conf.eth0.forwarding=1"));
}

TEST_F(Sysctls, TheHigherReversePathFilterOfInterfaceAndAllCounts) {
  set(interfaceSysctl("ipv4", "all", "rp_filter"), 1);
  EXPECT_THAT(cures(), ElementsAre("net.ipv4.conf.eth1.rp_filter=2"));
  set(interfaceSysctl("ipv4", "eth1", "rp_filter"), 2);
  EXPECT_THAT(cures(), IsEmpty());
  host_.answersRoutable = false;
  EXPECT_THAT(cures(),
              ElementsAre("net.ipv4.conf.eth1.rp_filter=0", "net.ipv4.conf.all.rp_filter=0"));
}

TEST_F(Sysctls, RedirectsOffOnBoth) {
  set(interfaceSysctl("ipv4", "all", "send_redirects"), 1);
  set(interfaceSysctl("ipv4", "eth1", "send_redirects"), 1);
  EXPECT_THAT(cures(), ElementsAre("net.ipv4.conf.eth1.send_redirects=0",
                                   "net.ipv4.conf.all.send_redirects=0"));
}

TEST_F(Sysctls, Ipv6ForwardingKeepsALearnedDefaultRoute) {
  host_.ipv6 = true;
  host_.routerLearned = {2};
  EXPECT_THAT(cures(),
              ElementsAre("net.ipv6.conf.eth0.accept_ra=2", "net.ipv6.conf.all.forwarding=1"));
}

TEST_F(Sysctls, ProxyNdpOnlyWhereAnnounced) {
  set(interfaceSysctl("ipv6", "all", "forwarding"), 1);
  host_.ipv6Announced = {2};
  EXPECT_THAT(cures(), ElementsAre("net.ipv6.conf.eth0.proxy_ndp=1"));
  set(interfaceSysctl("ipv6", "all", "proxy_ndp"), 1);
  EXPECT_THAT(cures(), IsEmpty());
}

TEST_F(Sysctls, NamesWithDotsAreWrittenWithSlashes) {
  host_.links.at(3).name = "eth1.5";
  set("net/ipv4/conf/eth1.5/rp_filter", 1);
  EXPECT_THAT(cures(), ElementsAre("net.ipv4.conf.eth1/5.rp_filter=2"));
}

TEST_F(Sysctls, OneLineNamesTheFirstCureAndCountsTheOthersOnce) {
  EXPECT_EQ(unfitness(unmet()), "");
  set("net/ipv4/ip_forward", 0);
  for (const char* name : {"eth0", "eth1"}) set(interfaceSysctl("ipv4", name, "forwarding"), 0);
  EXPECT_EQ(
      unfitness(unmet()),
      "net.ipv4.ip_forward is 0: this host forwards no IPv4 packet: nothing reaches a backend "
      "(sysctl -w net.ipv4.ip_forward=1)");
  set(interfaceSysctl("ipv4", "eth1", "rp_filter"), 1);
  EXPECT_THAT(unfitness(unmet()), HasSubstr("ip_forward=1); and 1 more setting of this host: "
                                            "weirctl check --host names all"));
}

TEST_F(Sysctls, WhatIsOnlyAdvisedIsNoWarning) {
  host_.ipv4Announced = {2};
  set("net/ipv4/neigh/eth0/proxy_delay", 80);
  EXPECT_FALSE(unmet().empty());
  EXPECT_EQ(unfitness(unmet()), "");
}

TEST_F(Sysctls, TheKeeperSetsSavesFirstAndGivesBackToTheByte) {
  set(interfaceSysctl("ipv4", "all", "send_redirects"), 1);
  set(interfaceSysctl("ipv4", "eth1", "send_redirects"), 1);
  set(interfaceSysctl("ipv4", "eth1", "rp_filter"), 1);
  const std::string before = everything();
  SysctlKeeper keeper(directory_.path());
  KernelState::Sysctls saved;
  bool savedBefore = false;
  keeper.remember({}, [&](const KernelState::Sysctls& former) {
    if (saved.empty()) savedBefore = everything() == before;
    saved = former;
  });
  ASSERT_TRUE(keeper.set(unmet(), host_.links).ok());
  EXPECT_TRUE(savedBefore) << "nothing may be changed before its value is kept";
  EXPECT_THAT(unmet(), IsEmpty());
  EXPECT_EQ(get(interfaceSysctl("ipv4", "eth0", "send_redirects")), "1")
      << "what it had through conf.all";
  EXPECT_EQ(get(interfaceSysctl("ipv4", "default", "send_redirects")), "1");

  // Killed: a successor knows the values from the file, and changes nothing further.
  SysctlKeeper successor(directory_.path());
  successor.remember(saved, [&](const KernelState::Sysctls& former) { saved = former; });
  ASSERT_TRUE(successor.set(unmet(), host_.links).ok());
  ASSERT_TRUE(successor.restore().ok());
  EXPECT_EQ(everything(), before);
  EXPECT_THAT(saved, IsEmpty());
}

TEST_F(Sysctls, TheKeeperForgetsInterfacesThatHaveGone) {
  set(interfaceSysctl("ipv4", "eth1", "rp_filter"), 1);
  SysctlKeeper keeper(directory_.path());
  KernelState::Sysctls saved;
  keeper.remember({}, [&](const KernelState::Sysctls& former) { saved = former; });
  ASSERT_TRUE(keeper.set(unmet(), host_.links).ok());
  EXPECT_EQ(saved.size(), 1u);
  std::filesystem::remove_all(directory_.path() / "net/ipv4/conf/eth1");
  ASSERT_TRUE(keeper.set({}, host_.links).ok());
  EXPECT_THAT(saved, IsEmpty());
  EXPECT_TRUE(keeper.restore().ok());
}

TEST_F(Sysctls, TheKeeperFollowsAnInterfaceThatGetsAnotherName) {
  set(interfaceSysctl("ipv4", "eth1", "rp_filter"), 1);
  set(interfaceSysctl("ipv4", "eth1", "send_redirects"), 1);
  SysctlKeeper keeper(directory_.path());
  KernelState::Sysctls saved;
  keeper.remember({}, [&](const KernelState::Sysctls& former) { saved = former; });
  keeper.follow(host_.links);
  ASSERT_TRUE(keeper.set(unmet(), host_.links).ok());
  EXPECT_EQ(get(interfaceSysctl("ipv4", "eth1", "rp_filter")), "2");
  // The kernel moves the settings along.
  std::filesystem::rename(directory_.path() / "net/ipv4/conf/eth1",
                          directory_.path() / "net/ipv4/conf/lan0");
  host_.links.at(3).name = "lan0";
  keeper.follow(host_.links);
  EXPECT_EQ(saved,
            (KernelState::Sysctls{{interfaceSysctl("ipv4", "lan0", "rp_filter"), "1"},
                                  {interfaceSysctl("ipv4", "lan0", "send_redirects"), "1"}}));
  ASSERT_TRUE(keeper.set(unmet(), host_.links).ok());
  ASSERT_TRUE(keeper.restore().ok());
  EXPECT_EQ(get(interfaceSysctl("ipv4", "lan0", "rp_filter")), "1");
  EXPECT_EQ(get(interfaceSysctl("ipv4", "lan0", "send_redirects")), "1");
}

TEST_F(Sysctls, TheKeeperTellsApartInterfacesThatSwapTheirNames) {
  set(interfaceSysctl("ipv4", "eth1", "rp_filter"), 1);
  SysctlKeeper keeper(directory_.path());
  KernelState::Sysctls saved;
  keeper.remember({}, [&](const KernelState::Sysctls& former) { saved = former; });
  keeper.follow(host_.links);
  ASSERT_TRUE(keeper.set(unmet(), host_.links).ok());
  std::swap(host_.links.at(2).name, host_.links.at(3).name);
  keeper.follow(host_.links);
  EXPECT_EQ(saved, (KernelState::Sysctls{{interfaceSysctl("ipv4", "eth0", "rp_filter"), "1"}}));
}

// How the fallback's hash is chosen.
class HashPolicy : public Sysctls {
 protected:
  HashPolicy() {
    set(interfaceSysctl("ipv6", "all", "forwarding"), 1);
    for (const char* name : {"eth0", "eth1"}) set(interfaceSysctl("ipv6", name, "forwarding"), 1);
    host_.ipv6 = true;
    choose(0, 7);
  }
  void choose(int policy, int fields) {
    for (const std::string family : {"ipv4", "ipv6"}) {
      set("net/" + family + "/fib_multipath_hash_policy", policy);
      set("net/" + family + "/fib_multipath_hash_fields", fields);
    }
  }
};

TEST_F(HashPolicy, VirtualAddressesAloneNeedPortsOnly) {
  EXPECT_THAT(cures(), IsEmpty());
  host_.spreadsByPort = true;
  EXPECT_THAT(cures(), ElementsAre("net.ipv4.fib_multipath_hash_policy=1",
                                   "net.ipv6.fib_multipath_hash_policy=1"));
  choose(3, 0x37);
  EXPECT_THAT(cures(), IsEmpty());
}

TEST_F(HashPolicy, N6_RoutesNeedOneThatIsTheSameInBothDirections) {
  host_.bothWays = host_.spreadsByPort = true;
  const std::vector<std::string> both{
      "net.ipv4.fib_multipath_hash_fields=0x37", "net.ipv4.fib_multipath_hash_policy=3",
      "net.ipv6.fib_multipath_hash_fields=0x37", "net.ipv6.fib_multipath_hash_policy=3"};
  EXPECT_EQ(cures(), both);
  // The hash of a network card.
  choose(1, 7);
  EXPECT_EQ(cures(), both);
  choose(3, 0x37);
  EXPECT_THAT(cures(), IsEmpty());
  // The flow label, a half of a pair, an inner header.
  for (const int fields : {0x3f, 0x17, 0x36, 0x77}) {
    choose(3, fields);
    EXPECT_THAT(cures(), ElementsAre("net.ipv4.fib_multipath_hash_fields=0x37",
                                     "net.ipv6.fib_multipath_hash_fields=0x37"))
        << fields;
  }
}

TEST_F(HashPolicy, N6_ByAddressesAloneIpv4sDefaultIsSymmetricAndIpv6sIsNot) {
  host_.bothWays = true;
  EXPECT_THAT(cures(), ElementsAre("net.ipv6.fib_multipath_hash_policy=3"));
  choose(1, 0x3f);
  EXPECT_THAT(cures(), ElementsAre("net.ipv4.fib_multipath_hash_fields=0x07",
                                   "net.ipv4.fib_multipath_hash_policy=3",
                                   "net.ipv6.fib_multipath_hash_fields=0x07",
                                   "net.ipv6.fib_multipath_hash_policy=3"));
}

TEST_F(HashPolicy, AKernelWithoutFieldsGetsWhatItHas) {
  std::filesystem::remove(directory_.path() / "net/ipv4/fib_multipath_hash_fields");
  std::filesystem::remove(directory_.path() / "net/ipv6/fib_multipath_hash_fields");
  host_.bothWays = host_.spreadsByPort = true;
  EXPECT_THAT(cures(), ElementsAre("net.ipv4.fib_multipath_hash_policy=1",
                                   "net.ipv6.fib_multipath_hash_policy=1"));
}

TEST_F(Sysctls, AValueThatCannotBeWrittenIsAnError) {
  SysctlKeeper keeper(directory_.path());
  const Status status = keeper.set({{"net/none", "0", "1", "", false, ""}}, host_.links);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("net/none"));
}

}  // namespace
}  // namespace weir::manager
