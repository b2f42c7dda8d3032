// SPDX-License-Identifier: GPL-2.0-or-later
//
// Ends and resets: what is there when the proxy first looks, and what slow readers get (X5.1,
// X5.2).
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "proxy/session.h"
#include "support/client_hello_builder.h"
#include "unit/proxy/proxy_fixture.h"

namespace weir::proxy {
namespace {

using namespace test;

std::string numbered(std::size_t size) {
  std::string bytes;
  while (bytes.size() < size) bytes += std::to_string(bytes.size()) + ' ';
  bytes.resize(size);
  return bytes;
}

class SessionEndTest : public ProxyTest {
 protected:
  // A client that has done all of this before the proxy accepts it.
  Stream early(const std::function<void(Stream&)>& act) {
    thread_->stopListening(front_);
    Stream made = client();
    act(made);
    std::this_thread::sleep_for(20ms);  // until it has arrived
    thread_->listen(front_, socket_);
    return made;
  }
  // The client says this and ends, the backend hears that and its end, and answers at length.
  void expectAnswered(Server& server, const std::string& said, const std::string& heard) {
    Stream a = early([&](Stream& stream) {
      stream.say(said);
      stream.finish();
    });
    expectAnswer(a, server, heard);
  }
  void expectAnswer(Stream& a, Server& server, const std::string& heard) {
    Stream b = server.accept();
    EXPECT_EQ(b.hearAll(), heard);
    EXPECT_TRUE(b.ended());
    const std::string answer = numbered(300'000);
    b.say(answer);
    b.finish();
    EXPECT_TRUE(a.hearAll() == answer);
    EXPECT_TRUE(a.ended());
  }
  // Of a client with little room for what it does not read.
  Stream slowClient() {
    Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
    const int room = 32'768;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    const KernelAddress kernel = toKernel(front_);
    EXPECT_EQ(::connect(fd.get(), kernel.get(), kernel.size), 0);
    return Stream(std::move(fd));
  }
  // Of a backend that answered this and reset, while the client had not read yet.
  Stream clientOfReset(Server& server, const std::string& answer) {
    Stream a = slowClient();
    Stream b = server.accept();
    b.say(answer);
    EXPECT_TRUE(hasArrived(b));
    b.reset();
    return a;
  }
  static bool hasArrived(const Stream& sender) {
    return soon([&] {
      int left = -1;
      return ::ioctl(sender.fd().get(), SIOCOUTQ, &left) == 0 && left == 0;
    });
  }
};

TEST_F(SessionEndTest, X5_2_AnEndThatComesWithTheConnectionIsPassedOnAndAnswered) {
  Server server;
  service("shop", {server.address()});
  start();
  expectAnswered(server, "", "");
  expectAnswered(server, "few", "few");
  EXPECT_TRUE(nothingIsOpen());
  EXPECT_EQ(closed(CloseReason::none), 2u);
}

TEST_F(SessionEndTest, X5_2_AnEndThatComesWithTheConnectionFollowsThePROXYHeader) {
  Server server;
  const ProxyHeader::Ends ends = startBetweenProxies(server);
  const std::string header = writeProxyV1({ends.client, front_});
  expectAnswered(server, writeProxyV2(ends, ""), header);
  expectAnswered(server, writeProxyV2(ends, "") + "few", header + "few");

  // Without the header that it must send.
  Stream silent = early([](Stream& stream) { stream.finish(); });
  EXPECT_EQ(silent.hearAll(), "");
  EXPECT_FALSE(server.isCalled(50ms));
}

TEST_F(SessionEndTest, X5_2_AnEndThatComesWithTheHelloIsPassedOnAndAnswered) {
  using namespace weir::test;
  Server server;
  snapshot_.targetProxies[0].service.clear();
  TlsRule rule;
  rule.matches.push_back({{"a.example.com"}, {}});
  rule.destinations.push_back({"a", 1});
  snapshot_.tlsRoutes.push_back({"r", {"front"}, {rule}});
  service("a", {server.address()});
  start();
  const Bytes bytes = records(clientHello({serverName("a.example.com")}));
  const std::string hello(bytes.begin(), bytes.end());
  expectAnswered(server, hello, hello);
  expectAnswered(server, hello + "early data", hello + "early data");

  Stream silent = early([](Stream& stream) { stream.finish(); });
  EXPECT_EQ(silent.hearAll(), "");
  EXPECT_FALSE(server.isCalled(50ms));
}

TEST_F(SessionEndTest, WhoConnectsAndResetsCostsNoBackendAConnection) {
  Server server;
  service("shop", {server.address()});
  start();
  early([](Stream& stream) { stream.reset(); });
  EXPECT_FALSE(server.isCalled(100ms));
  EXPECT_TRUE(nothingIsOpen());
}

TEST_F(SessionEndTest, X5_2_AResetWaitsForAReaderThatIsSlow) {
  Server server;
  service("shop", {server.address()});
  start();
  const std::string answer = numbered(300'000);
  Stream a = clientOfReset(server, answer);
  std::this_thread::sleep_for(2500ms);
  EXPECT_TRUE(a.hear(answer.size()) == answer);
  EXPECT_EQ(a.hear(1), "");
  EXPECT_TRUE(a.wasReset());
  EXPECT_TRUE(nothingIsOpen());
}

TEST_F(SessionEndTest, X5_1_AResetDoesNotWaitForWhoReadsNothingFor_timeoutSec) {
  Server server;
  startShop(server, 1s);
  Stream a = clientOfReset(server, numbered(300'000));
  EXPECT_TRUE(nothingIsOpen());
  EXPECT_EQ(closed(CloseReason::connectionTerminated), 1u);
  a.hearAll();
  EXPECT_TRUE(a.wasReset());
}

TEST_F(SessionEndTest, X5_2_WhoResetsWhileTheOthersBytesAreOnTheirWayEndsItAtOnce) {
  Server server;
  startShop(server, 600s);
  Stream a = clientOfReset(server, numbered(300'000));
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(thread_->counters().open.load(), 1u);
  a.reset();
  EXPECT_TRUE(nothingIsOpen());
}

TEST_F(SessionEndTest, X5_1_WhatTheIdleTimeoutCutsOffLooksLikeNoOrderlyEnd) {
  Server server;
  startShop(server, 1s);
  Stream a = slowClient();
  Stream b = server.accept();
  // More than fits on the way to a client that does not read.
  const timeval patience{0, 300'000};
  ::setsockopt(b.fd().get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const std::string block(1 << 20, 'x');
  for (std::size_t written = 0; written < (std::size_t{200} << 20);) {
    const ssize_t sent = ::send(b.fd().get(), block.data(), block.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    written += static_cast<std::size_t>(sent);
  }
  EXPECT_TRUE(nothingIsOpen());
  EXPECT_EQ(closed(CloseReason::connectionTimeout), 1u);
  a.hearAll();
  EXPECT_FALSE(a.ended());
  EXPECT_TRUE(a.wasReset());
}

// All of it has been given to the kernel, so that nothing but its acknowledgements tells that the
// client still reads.
TEST_F(SessionEndTest, X5_1_AClientThatReadsSlowlyWhatItWasSentIsNotIdle) {
  Server server;
  startShop(server, 1s);
  Stream a = slowClient();
  Stream b = server.accept();
  const std::string answer = numbered(400'000);
  b.say(answer);
  EXPECT_TRUE(hasArrived(b));
  std::string heard;
  while (heard.size() < answer.size()) {
    std::this_thread::sleep_for(200ms);
    const std::string part = a.hear(std::min<std::size_t>(24'000, answer.size() - heard.size()));
    if (part.empty()) break;
    EXPECT_EQ(thread_->counters().open.load(), 1u) << heard.size();
    heard += part;
  }
  EXPECT_TRUE(heard == answer) << heard.size();
  EXPECT_TRUE(nothingIsOpen());  // now it is idle
  EXPECT_EQ(closed(CloseReason::connectionTimeout), 1u);
}

TEST_F(SessionEndTest, X5_1_WhatIsHalfClosedHasTheSameIdleTimeout) {
  Server server;
  startShop(server, 1s);
  Stream a = client();
  Stream b = server.accept();
  a.finish();
  EXPECT_EQ(b.hear(1), "");
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(400ms);
    b.say("x");
    EXPECT_EQ(a.hear(1), "x");
  }
  EXPECT_EQ(a.hear(1), "");
  EXPECT_EQ(closed(CloseReason::connectionTimeout), 1u);
}

}  // namespace
}  // namespace weir::proxy
