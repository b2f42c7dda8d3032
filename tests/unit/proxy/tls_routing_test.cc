// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/tls_routing.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

// Each rule's name is that of its only destination.
TlsRule rule(std::string service, std::vector<std::string> hosts,
             std::vector<std::string> alpn = {}) {
  TlsRule made;
  made.matches.push_back({std::move(hosts), std::move(alpn)});
  made.destinations.push_back({std::move(service), 1});
  return made;
}

class TlsRoutingTest : public testing::Test {
 protected:
  std::string to(std::string_view name, std::vector<std::string> protocols = {}) {
    std::vector<const TlsRoute*> pointers;
    for (const auto& route : routes_) pointers.push_back(&route);
    const auto match = TlsRouting(pointers).find(name, protocols);
    return match ? match.rule->destinations[0].service : "";
  }

  std::vector<TlsRoute> routes_;
};

TEST_F(TlsRoutingTest, X6_3_ExactThenTheWildcardWithTheMostLabels) {
  routes_ = {{"t1", {}, {rule("foo", {"*.foo.com"})}},
             {"t2", {}, {rule("bar", {"*.bar.foo.com"}), rule("exact", {"baz.bar.foo.com"})}}};
  EXPECT_EQ(to("baz.bar.foo.com"), "exact");
  EXPECT_EQ(to("qux.bar.foo.com"), "bar");
  EXPECT_EQ(to("a.b.bar.foo.com"), "bar");
  EXPECT_EQ(to("bar.foo.com"), "foo");
  EXPECT_EQ(to("qux.qux.foo.com"), "foo");
}

TEST_F(TlsRoutingTest, X6_3_AWildcardStandsForOneOrMoreWholeLabels) {
  routes_ = {{"t", {}, {rule("foo", {"*.foo.com"})}}};
  EXPECT_EQ(to("foo.com"), "");
  EXPECT_EQ(to("afoo.com"), "");
  EXPECT_EQ(to("a.b.c.foo.com"), "foo");
  EXPECT_EQ(to("com"), "");
}

TEST_F(TlsRoutingTest, X6_3_OfEqualNamesTheFirstThatAcceptsTheProtocol) {
  routes_ = {{"t1", {}, {rule("two", {"a.b"}, {"h2"}), rule("any", {"a.b"})}},
             {"t2", {}, {rule("late", {"a.b"}, {"http/1.1"})}}};
  EXPECT_EQ(to("a.b", {"http/1.1", "h2"}), "two");
  EXPECT_EQ(to("a.b", {"http/1.1"}), "any");
  EXPECT_EQ(to("a.b"), "any");
}

TEST_F(TlsRoutingTest, X6_3_ANameWhoseRulesWantOtherProtocolsDoesNotMatch) {
  routes_ = {{"t", {}, {rule("two", {"a.foo.com"}, {"h2"}), rule("foo", {"*.foo.com"})}}};
  EXPECT_EQ(to("a.foo.com", {"h2"}), "two");
  EXPECT_EQ(to("a.foo.com", {"h3"}), "foo");
}

TEST_F(TlsRoutingTest, X6_2_NoRouteMatches) {
  EXPECT_EQ(to("a.b"), "");
  routes_ = {{"t", {}, {rule("one", {"a.b"})}}};
  EXPECT_EQ(to("b"), "");
  EXPECT_EQ(to("x.a.b"), "");
}

}  // namespace
}  // namespace weir
