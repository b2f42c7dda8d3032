// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/resolver.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <map>

#include "support/packet_builder.h"

namespace weir::proxy {
namespace {

using namespace std::chrono_literals;
using test::append;
using test::Bytes;
using test::put16;
using testing::ElementsAre;

constexpr std::uint16_t kA = 1, kAaaa = 28;
enum Code : std::uint8_t { kGood = 0, kServerFailure = 2, kNoSuchName = 3 };

// A name server on loopback that says what it was told to; what it was not told of has no data.
class NameServer {
 public:
  struct Answer {
    std::vector<Address> addresses;
    unsigned ttl = 60;
    Code code = kGood;
  };

  NameServer() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(::bind(fd_.get(), address, size), 0);
    EXPECT_EQ(::getsockname(fd_.get(), address, &size), 0);
    port_ = ntohs(at.sin_port);
  }

  std::uint16_t port() const { return port_; }
  int fd() const { return fd_.get(); }
  unsigned asked() const { return asked_; }
  Answer& of(const std::string& name, std::uint16_t type) { return answers_[{name, type}]; }

  void serveOne() {
    Bytes query(512);
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const auto length = ::recvfrom(fd_.get(), query.data(), query.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    ASSERT_GT(length, 12);
    ++asked_;
    std::string name;
    std::size_t at = 12;
    for (; query[at] != 0; at += query[at] + 1u)
      name += (name.empty() ? "" : ".") +
              std::string(query.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                          query.begin() + static_cast<std::ptrdiff_t>(at) + 1 + query[at]);
    const auto type = static_cast<std::uint16_t>(query[at + 1] << 8 | query[at + 2]);
    const Answer& answer = answers_[{name, type}];

    Bytes reply{query[0], query[1], 0x81, static_cast<std::uint8_t>(0x80 | answer.code)};
    put16(reply, 1);
    put16(reply, static_cast<std::uint16_t>(answer.addresses.size()));
    put16(reply, 0);
    put16(reply, 0);
    reply.insert(reply.end(), query.begin() + 12,
                 query.begin() + static_cast<std::ptrdiff_t>(at) + 5);
    for (const Address& address : answer.addresses) {
      const auto bytes = address.bytes();
      put16(reply, 0xc00c);  // the name of the question
      put16(reply, type);
      put16(reply, 1);
      put16(reply, static_cast<std::uint16_t>(answer.ttl >> 16));
      put16(reply, static_cast<std::uint16_t>(answer.ttl));
      put16(reply, type == kA ? 4 : 16);
      reply.insert(reply.end(), bytes.begin() + (type == kA ? 12 : 0), bytes.end());
    }
    ::sendto(fd_.get(), reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
  }

 private:
  Fd fd_;
  std::uint16_t port_ = 0;
  unsigned asked_ = 0;
  std::map<std::pair<std::string, std::uint16_t>, Answer> answers_;
};

Address address(std::string_view text) { return *Address::parse(text); }

class ResolverTest : public testing::Test {
 protected:
  ResolverTest() {
    settings_.nameServers = {address("127.0.0.1")};
    auto opened =
        Resolver::open([this](const std::string& name,
                              const auto& addresses) { told_.emplace_back(name, addresses); },
                       server_.port());
    resolver_ = std::move(*opened);
  }

  // Until both questions for each of `names` names have been answered; answers take as long as they
  // take, but `now` stands still.
  void settle(unsigned queries) {
    const std::uint64_t wanted = resolver_->counts().queries + queries;
    resolver_->process(now_);
    for (int turn = 0; turn < 200; ++turn) {
      std::array<pollfd, 2> wait{{{server_.fd(), POLLIN, 0}, {resolver_->fd(), POLLIN, 0}}};
      // Quiet for a while: all has been said. What c-ares repeats after failures comes at once.
      if (::poll(wait.data(), wait.size(), 50) == 0 && resolver_->counts().queries >= wanted)
        return;
      if (wait[0].revents != 0) server_.serveOne();
      resolver_->process(now_);
    }
    FAIL() << "never quiet";
  }
  void want(const std::set<std::string>& names) { resolver_->want(names, settings_, now_); }
  std::vector<Address> known(std::string_view name) const {
    const auto* addresses = resolver_->addressesOf(name);
    return addresses ? *addresses : std::vector<Address>();
  }

  NameServer server_;
  ProxySettings settings_;
  Time now_{1h};
  std::vector<std::pair<std::string, std::vector<Address>>> told_;
  std::unique_ptr<Resolver> resolver_;
};

TEST_F(ResolverTest, X3_1_BothFamiliesOfEveryName) {
  server_.of("a.example.com", kA).addresses = {address("192.0.2.2"), address("192.0.2.1")};
  server_.of("a.example.com", kAaaa).addresses = {address("2001:db8::1")};
  server_.of("b.example.com", kAaaa).addresses = {address("2001:db8::2")};
  want({"a.example.com", "b.example.com"});
  EXPECT_FALSE(resolver_->hasTriedAll());
  settle(0);
  EXPECT_TRUE(resolver_->hasTriedAll());
  EXPECT_THAT(known("a.example.com"),
              ElementsAre(address("192.0.2.1"), address("192.0.2.2"), address("2001:db8::1")));
  EXPECT_THAT(known("b.example.com"), ElementsAre(address("2001:db8::2")));
  EXPECT_EQ(told_.size(), 2u);
  EXPECT_EQ(resolver_->counts().names, 2u);
  EXPECT_EQ(resolver_->counts().unresolved, 0u);
}

TEST_F(ResolverTest, X3_1_AnswersAreBelievedForTheirTtlWithinTheBounds) {
  settings_.dnsMinTtl = 5s;
  settings_.dnsMaxTtl = 100s;
  const std::vector<std::pair<unsigned, std::chrono::seconds>> cases{
      {0, 5s}, {1, 5s}, {30, 30s}, {100, 100s}, {4'000'000, 100s}};
  for (const auto& [ttl, believed] : cases) {
    server_.of("a.example.com", kA) = {{address("192.0.2.1")}, ttl};
    want({});
    want({"a.example.com"});
    settle(0);
    const unsigned asked = server_.asked();
    now_ += believed - 1ms;
    settle(0);
    EXPECT_EQ(server_.asked(), asked) << ttl;
    now_ += 1ms;
    settle(2);
    EXPECT_EQ(server_.asked(), asked + 2) << ttl;
  }
}

TEST_F(ResolverTest, X3_1_TheShortestTtlCounts) {
  server_.of("a.example.com", kA) = {{address("192.0.2.1")}, 300};
  server_.of("a.example.com", kAaaa) = {{address("2001:db8::1")}, 20};
  want({"a.example.com"});
  settle(0);
  now_ += 20s;
  settle(2);
  EXPECT_EQ(server_.asked(), 4u);
}

TEST_F(ResolverTest, X3_1_TheLastGoodAnswerIsKeptWhenTheServerFails) {
  server_.of("a.example.com", kA).addresses = {address("192.0.2.1")};
  server_.of("a.example.com", kAaaa).addresses = {address("2001:db8::1")};
  want({"a.example.com"});
  settle(0);
  const auto before = known("a.example.com");
  for (const Code code : {kServerFailure, kNoSuchName}) {
    server_.of("a.example.com", kA) = {{}, 0, code};
    server_.of("a.example.com", kAaaa) = {{}, 0, code};
    now_ += 60s;
    settle(2);
    EXPECT_EQ(known("a.example.com"), before);
    EXPECT_EQ(resolver_->counts().failing, 1u);
    EXPECT_GT(resolver_->counts().failures, 0u);
  }
  // Asked again soon, and back when the server is.
  server_.of("a.example.com", kA) = {{address("192.0.2.9")}};
  server_.of("a.example.com", kAaaa) = {{}, 0, kServerFailure};
  now_ += 5s;
  settle(2);
  EXPECT_THAT(known("a.example.com"), ElementsAre(address("192.0.2.9"), address("2001:db8::1")));
  EXPECT_EQ(resolver_->counts().failing, 0u);
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(ResolverTest, X3_1_AFamilyWithoutDataIsGoneAndNothingAtAllIsNotBelieved) {
  server_.of("a.example.com", kA).addresses = {address("192.0.2.1")};
  server_.of("a.example.com", kAaaa).addresses = {address("2001:db8::1")};
  want({"a.example.com"});
  settle(0);
  server_.of("a.example.com", kA).addresses.clear();
  now_ += 60s;
  settle(2);
  EXPECT_THAT(known("a.example.com"), ElementsAre(address("2001:db8::1")));
  server_.of("a.example.com", kAaaa).addresses.clear();
  now_ += 60s;
  settle(2);
  EXPECT_THAT(known("a.example.com"), ElementsAre(address("2001:db8::1")));
}

TEST_F(ResolverTest, OnlyChangesAreTold) {
  server_.of("a.example.com", kA).addresses = {address("192.0.2.1"), address("192.0.2.2")};
  want({"a.example.com"});
  settle(0);
  server_.of("a.example.com", kA).addresses = {address("192.0.2.2"), address("192.0.2.1")};
  now_ += 60s;
  settle(2);
  EXPECT_EQ(told_.size(), 1u);
  server_.of("a.example.com", kA).addresses = {address("192.0.2.2")};
  now_ += 60s;
  settle(2);
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_THAT(told_[1].second, ElementsAre(address("192.0.2.2")));
}

TEST_F(ResolverTest, NamesThatNobodyWantsAreForgotten) {
  server_.of("a.example.com", kA).addresses = {address("192.0.2.1")};
  want({"a.example.com"});
  settle(0);
  want({});
  EXPECT_EQ(resolver_->addressesOf("a.example.com"), nullptr);
  const unsigned asked = server_.asked();
  now_ += 1h;
  settle(0);
  EXPECT_EQ(server_.asked(), asked);
}

TEST_F(ResolverTest, ANameDoesNotLeadToTheNodeItself) {
  server_.of("a.example.com", kA).addresses = {address("127.0.0.1"), address("0.0.0.0"),
                                               address("224.0.0.1"), address("192.0.2.1")};
  server_.of("a.example.com", kAaaa).addresses = {address("::1"), address("ff02::1")};
  want({"a.example.com"});
  settle(0);
  EXPECT_THAT(known("a.example.com"), ElementsAre(address("192.0.2.1")));
}

TEST_F(ResolverTest, OtherServersAreAskedAtOnce) {
  settings_.nameServers = {address("127.0.0.2")};
  want({"a.example.com"});
  settings_.nameServers = {address("127.0.0.1")};
  server_.of("a.example.com", kA).addresses = {address("192.0.2.1")};
  want({"a.example.com"});
  settle(0);
  EXPECT_THAT(known("a.example.com"), ElementsAre(address("192.0.2.1")));
}

}  // namespace
}  // namespace weir::proxy
