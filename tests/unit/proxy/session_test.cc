// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/session.h"

#include <future>
#include <random>

#include "support/client_hello_builder.h"
#include "unit/proxy/proxy_fixture.h"

namespace weir::proxy {
namespace {

using namespace test;

class SessionTest : public ProxyTest {};

std::string randomBytes(std::size_t size, unsigned seed) {
  std::minstd_rand random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST_F(SessionTest, X1_2_BytesGoBothWays) {
  Server server;
  service("shop", {server.address()});
  start();
  Stream a = client();
  Stream b = server.accept();
  a.say("hello");
  EXPECT_EQ(b.hear(5), "hello");
  b.say("good day");
  EXPECT_EQ(a.hear(8), "good day");
  a.close();
  b.close();
  EXPECT_TRUE(nothingIsOpen());
  EXPECT_EQ(closed(CloseReason::none), 1u);
  EXPECT_EQ(thread_->counters().bytesUp.value(), 5u);
  EXPECT_EQ(thread_->counters().bytesDown.value(), 8u);
}

TEST_F(SessionTest, X1_2_MuchGoesBothWaysAtOnceUnchanged) {
  Server server;
  service("shop", {server.address()});
  start();
  Stream a = client();
  Stream b = server.accept();
  const std::string up = randomBytes(9'000'001, 1), down = randomBytes(7'000'003, 2);
  const auto exchange = [](Stream& stream, const std::string& out, unsigned seed) {
    auto sender = std::async(std::launch::async, [&stream, &out, seed] {
      std::minstd_rand random(seed);
      for (std::size_t at = 0; at < out.size();) {
        const std::size_t size = std::min<std::size_t>(1 + random() % 300'000, out.size() - at);
        stream.say(std::string_view(out).substr(at, size));
        at += size;
        if (random() % 8 == 0) std::this_thread::sleep_for(1ms);
      }
      stream.finish();
    });
    return stream.hearAll();
  };
  auto heardDown = std::async(std::launch::async, [&] { return exchange(a, up, 3); });
  const std::string heardUp = exchange(b, down, 4);
  EXPECT_TRUE(heardUp == up);
  EXPECT_TRUE(heardDown.get() == down);
  EXPECT_TRUE(nothingIsOpen());
  EXPECT_EQ(closed(CloseReason::none), 1u);
}

// While the receiver is slow the sender's socket is not listened to.
TEST_F(SessionTest, X1_2_UrgentBytesStayInTheirPlaceAlsoWhereTheReceiverIsSlow) {
  Server server;
  service("shop", {server.address()});
  start();
  Stream a = client();
  Stream b = server.accept();
  const std::string before = randomBytes(8'000'000, 8), after = randomBytes(1'000'000, 9);
  auto sender = std::async(std::launch::async, [&] {
    b.say(before);
    EXPECT_EQ(::send(b.fd().get(), "!", 1, MSG_OOB), 1);
    b.say(after);
    b.finish();
  });
  std::this_thread::sleep_for(200ms);
  EXPECT_TRUE(a.hearAll() == before + "!" + after);
  EXPECT_TRUE(a.ended());
}

TEST_F(SessionTest, X5_2_TheAnswerComesAfterTheClientsEnd) {
  Server server;
  service("shop", {server.address()});
  start();
  Stream a = client();
  a.say("question");
  a.finish();
  Stream b = server.accept();
  EXPECT_EQ(b.hearAll(), "question");
  EXPECT_TRUE(b.ended());
  b.say("answer");
  b.finish();
  EXPECT_EQ(a.hearAll(), "answer");
  EXPECT_TRUE(a.ended());
}

TEST_F(SessionTest, X5_2_TheClientGoesOnAfterTheServersEnd) {
  Server server;
  service("shop", {server.address()});
  start();
  Stream a = client();
  Stream b = server.accept();
  b.say("banner");
  b.finish();
  EXPECT_EQ(a.hearAll(), "banner");
  a.say("late");
  EXPECT_EQ(b.hear(4), "late");
  a.finish();
  EXPECT_EQ(b.hearAll(), "");
  EXPECT_TRUE(b.ended());
}

TEST_F(SessionTest, X5_2_AClientsResetComesAfterItsBytes) {
  Server server;
  service("shop", {server.address()});
  start();
  Stream a = client();
  Stream b = server.accept();
  a.say("last words");
  EXPECT_EQ(b.hear(10), "last words");
  a.reset();
  EXPECT_EQ(b.hear(1), "");
  EXPECT_TRUE(b.wasReset());
  EXPECT_TRUE(nothingIsOpen());
  EXPECT_EQ(closed(CloseReason::connectionTerminated), 1u);
}

TEST_F(SessionTest, X5_2_ABackendsResetComesAfterItsBytes) {
  Server server;
  service("shop", {server.address()});
  start();
  Stream a = client();
  Stream b = server.accept();
  const std::string much = randomBytes(300'000, 5);
  b.say(much);
  // A close with unread bytes is a reset after what was said.
  a.say("never read");
  std::this_thread::sleep_for(50ms);
  b.close();
  EXPECT_TRUE(a.hear(much.size()) == much);
  EXPECT_EQ(a.hear(1), "");
  EXPECT_TRUE(a.wasReset());
}

TEST_F(SessionTest, X3_3_AnotherBackendIsTriedAndNothingIsLost) {
  Server alive, dead1, dead2;
  service("shop", {dead1.address(), dead2.address(), alive.address()});
  dead1.close();
  dead2.close();
  start();
  for (int i = 0; i < 6; ++i) {
    Stream a = client();
    a.say("said at once");
    Stream b = alive.accept();
    EXPECT_EQ(b.hear(12), "said at once");
  }
  EXPECT_GT(thread_->counters().retries.value(), 0u);
}

TEST_F(SessionTest, X3_3_ThreeBackendsAreTriedThenTheClientIsClosed) {
  std::vector<SocketAddress> addresses;
  for (int i = 0; i < 5; ++i) addresses.push_back(Server().address());  // nobody is there any more
  service("shop", addresses);
  start();
  Stream a = client();
  EXPECT_EQ(a.hearAll(), "");
  EXPECT_EQ(closed(CloseReason::destinationUnavailable), 1u);
  EXPECT_EQ(thread_->counters().connects.value(), 3u);
}

TEST_F(SessionTest, X3_2_AllUnhealthyClosesTheClient) {
  Server server;
  service("shop", {server.address()},
          [](auto& service) { service.groups[0].endpoints[0].healthy = false; });
  start();
  Stream a = client();
  EXPECT_EQ(a.hearAll(), "");
  EXPECT_EQ(closed(CloseReason::destinationUnavailable), 1u);
  EXPECT_FALSE(server.isCalled(50ms));
}

TEST_F(SessionTest, X5_1_IdleConnectionsAreClosedOnBothSides) {
  Server server;
  startShop(server, 1s);
  Stream a = client();
  Stream b = server.accept();
  for (int i = 0; i < 4; ++i) {  // not idle: bytes keep it open
    std::this_thread::sleep_for(400ms);
    b.say("x");
    EXPECT_EQ(a.hear(1), "x");
  }
  EXPECT_EQ(a.hear(1), "");
  EXPECT_EQ(b.hear(1), "");
  EXPECT_EQ(closed(CloseReason::connectionTimeout), 1u);
}

TEST_F(SessionTest, X5_3_ASlowReaderSlowsItsWriterAndNobodyElse) {
  Server server;
  service("shop", {server.address()});
  start();
  Stream slow = client();
  Stream writer = server.accept();
  const timeval patience{0, 300'000};
  ::setsockopt(writer.fd().get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::size_t written = 0;
  const std::string block(1 << 20, 'x');
  while (written < (std::size_t{200} << 20)) {
    const ssize_t sent = ::send(writer.fd().get(), block.data(), block.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    written += static_cast<std::size_t>(sent);
  }
  EXPECT_LT(written, std::size_t{60} << 20) << "what is in flight is bounded";
  Stream other = client();
  Stream answering = server.accept();
  other.say("still there?");
  EXPECT_EQ(answering.hear(12), "still there?");
  // Read at last, everything comes.
  writer.finish();
  std::size_t heard = 0;
  for (;;) {
    const std::string part = slow.hear(1 << 20);
    heard += part.size();
    if (part.empty()) break;
  }
  EXPECT_EQ(heard, written);
}

TEST_F(SessionTest, X5_4_WhatIsLeftAfterADrainIsClosed) {
  Server server;
  service("shop", {server.address()});
  start();
  Stream a = client();
  Stream b = server.accept();
  a.say("x");
  EXPECT_EQ(b.hear(1), "x");
  services_["shop"].groups[0].endpoints[0].drainDeadline = bootTime() - 1s;
  publish();
  for (const auto& backends : directory_.all())
    thread_->closeExpired(backends, backends->expired(bootTime()));
  EXPECT_EQ(a.hear(1), "");
  EXPECT_TRUE(nothingIsOpen());
}

// --- PROXY header ---

TEST_F(SessionTest, X2_2_TheHeaderComesBeforeTheFirstByte) {
  Server server;
  snapshot_.targetProxies[0].proxyHeader = TargetTcpProxy::ProxyHeader::proxyV1;
  service("shop", {server.address()});
  start();
  Stream a = client();
  a.say("body");
  const std::string expected = writeProxyV1({localAddress(a.fd()), front_}) + "body";
  EXPECT_EQ(server.accept().hear(expected.size()), expected);
}

TEST_F(SessionTest, X2_3_AnAnnouncedClientIsTheClient) {
  Server server;
  const ProxyHeader::Ends ends = startBetweenProxies(server);
  Stream a = client();
  for (const char byte : writeProxyV2(ends, "") + "body") a.say({&byte, 1});
  const std::string expected = writeProxyV1({ends.client, front_}) + "body";
  EXPECT_EQ(server.accept().hear(expected.size()), expected);

  Stream liar = client();
  liar.say("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(liar.hearAll(), "");
  EXPECT_FALSE(server.isCalled(50ms));
}

// --- TLS routes ---

class TlsSessionTest : public SessionTest {
 protected:
  void SetUp() override {
    snapshot_.targetProxies[0].service.clear();
    TlsRoute route{"r", {"front"}, {}};
    for (const char* name : {"a", "b"}) {
      TlsRule rule;
      rule.matches.push_back({{std::string(name) + ".example.com"}, {}});
      rule.destinations.push_back({name, 1});
      route.rules.push_back(rule);
    }
    snapshot_.tlsRoutes.push_back(route);
    service("a", {a_.address()});
    service("b", {b_.address()});
  }
  static std::string hello(std::string_view name, std::size_t padding = 0) {
    using namespace weir::test;
    const Bytes bytes = records(clientHello({helloPadding(padding), serverName(name)}));
    return std::string(bytes.begin(), bytes.end());
  }
  Server a_, b_;
};

TEST_F(TlsSessionTest, X6_1_TheHelloReachesItsBackendByteForByte) {
  start();
  for (const std::size_t padding : {0u, 40'000u}) {
    Stream one = client();
    const std::string first = hello("a.example.com", padding);
    one.say(first);
    Stream server = a_.accept();
    EXPECT_EQ(server.hear(first.size()), first);
    server.say("server hello");
    EXPECT_EQ(one.hear(12), "server hello");
  }
  Stream two = client();
  const std::string bytes = hello("B.example.com.") + "and early data";
  for (const char byte : bytes) two.say({&byte, 1});
  EXPECT_EQ(b_.accept().hear(bytes.size()), bytes);
}

TEST_F(TlsSessionTest, X6_2_ClosedWithoutAByteAndWithoutABackend) {
  start();
  for (const std::string& said :
       {hello("c.example.com"), hello("192.0.2.1"), std::string("GET / HTTP/1.1\r\n\r\n")}) {
    Stream one = client();
    one.say(said);
    EXPECT_EQ(one.hearAll(), "");
  }
  Stream half = client();
  half.say(hello("a.example.com").substr(0, 50));
  half.finish();
  EXPECT_EQ(half.hearAll(), "");
  EXPECT_FALSE(a_.isCalled(20ms));
  EXPECT_FALSE(b_.isCalled(20ms));
  EXPECT_EQ(closed(CloseReason::tlsProtocolError), 3u);
  EXPECT_EQ(closed(CloseReason::destinationUnavailable), 1u);
}

TEST_F(TlsSessionTest, X6_4_SilenceIsClosedWithinTheTimeLimit) {
  snapshot_.settings.clientHelloTimeout = 1s;
  start();
  Stream silent = client(), slow = client();
  const auto begun = std::chrono::steady_clock::now();
  // An absolute limit: bytes do not prolong it.
  for (int i = 0; i < 12 && std::chrono::steady_clock::now() - begun < 1500ms; ++i) {
    const char byte = "\x16\x03\x01\x01"[i % 4];
    if (::send(slow.fd().get(), &byte, i < 4 ? 1 : 0, MSG_NOSIGNAL) < 0) break;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_EQ(silent.hearAll(), "");
  EXPECT_EQ(slow.hearAll(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 4s);
  EXPECT_EQ(closed(CloseReason::connectionTimeout), 2u);
}

// --- many small dialogues ---

TEST_F(SessionTest, X5_2_RandomDialoguesEndWholeOrReset) {
  Server server;
  service("shop", {server.address()});
  start();
  std::minstd_rand random(7);
  for (unsigned i = 0; i < 150; ++i) {
    const std::string up = randomBytes(random() % 200'000, i),
                      down = randomBytes(random() % 200'000, i + 1);
    const bool resets = random() % 4 == 0;
    Stream a = client();
    a.say(up.substr(0, 1));
    Stream b = server.accept();
    auto serverSide = std::async(std::launch::async, [&] {
      std::string heard = b.hear(up.size());
      b.say(down);
      b.finish();
      return heard;
    });
    if (!up.empty()) a.say(std::string_view(up).substr(1));
    if (resets) {
      const std::string part = a.hear(down.size() / 2);
      EXPECT_TRUE(part == down.substr(0, down.size() / 2));
      serverSide.wait();
      a.reset();
    } else {
      a.finish();
      EXPECT_TRUE(a.hearAll() == down);
      EXPECT_TRUE(a.ended());
    }
    EXPECT_TRUE(serverSide.get() == up);
  }
  EXPECT_TRUE(nothingIsOpen());
}

}  // namespace
}  // namespace weir::proxy
