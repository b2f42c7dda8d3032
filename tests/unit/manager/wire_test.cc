// SPDX-License-Identifier: GPL-2.0-or-later
//
// A peer that sends without end must not keep the event loop.
#include "manager/health/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/io_context.hpp>

#include "little_server.h"
#include "manager/health/conversation.h"
#include "manager/health/probe.h"
#include "tls_server.h"

namespace weir::manager {
namespace {

using State = Wire::State;

struct SocketPair {
  SocketPair() {
    std::array<int, 2> both{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()), 0);
    ours = Fd(both[0]);
    theirs = Fd(both[1]);
    EXPECT_EQ(::fcntl(ours.get(), F_SETFL, O_NONBLOCK), 0);
  }
  Fd ours, theirs;
};

// Reads until there is nothing more to do at once.
State readAll(Wire& wire, std::size_t& bytes) {
  std::array<char, 5000> buffer;
  while (true) {
    const Wire::Step step = wire.read(buffer);
    if (step.state != State::done) return step.state;
    bytes += step.bytes;
  }
}

TEST(Wire, H12_OneTurnTakesNoMoreThanItsShare) {
  SocketPair pair;
  sendText(pair.theirs.get(), std::string(3 * Wire::kTurn - 100, 'x'));
  Wire wire(pair.ours.get());
  std::size_t bytes = 0;
  EXPECT_EQ(readAll(wire, bytes), State::turnOver);
  EXPECT_EQ(bytes, Wire::kTurn);
  EXPECT_EQ(readAll(wire, bytes), State::turnOver);
  wire.beginTurn();
  EXPECT_EQ(readAll(wire, bytes), State::turnOver);
  wire.beginTurn();
  EXPECT_EQ(readAll(wire, bytes), State::wantRead);
  EXPECT_EQ(bytes, 3 * Wire::kTurn - 100);
  EXPECT_EQ(wire.received(), bytes);
}

TEST(Wire, H12_ATurnOfTlsTakesNoMoreThanItsShareEither) {
  SocketPair pair;
  const std::string text(3 * Wire::kTurn, 'x');
  const TlsServer server;
  std::thread peer([&] {
    TlsServer::Connection connection(server, pair.theirs.get());
    connection.write(text);
    sendText(pair.theirs.get(), connection.takeSent());
    pair.theirs = Fd();
  });
  Wire wire(pair.ours.get());
  const TlsContext tls;
  wire.startTls(tls.newSession(Alpn::none, ""));
  std::size_t bytes = 0, seen = 0;
  bool isUp = false;
  State state = State::wantRead;
  for (int i = 0; i < 5000 && state != State::closed && state != State::failed; ++i) {
    if (state == State::wantRead) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    wire.beginTurn();
    if (!isUp) {
      state = wire.handshake().state;
      isUp = state == State::done;
    } else {
      state = readAll(wire, bytes);
    }
    EXPECT_LE(wire.received() - seen, Wire::kTurn);
    seen = wire.received();
  }
  peer.join();
  EXPECT_EQ(state, State::closed);
  EXPECT_EQ(bytes, text.size());
}

class Flooded : public testing::Test {
 protected:
  // The reason of a check that waits for an answer from a server that sends these records instead.
  std::string probe(const std::function<void(TlsServer::Connection&)>& say) {
    LittleServer server([&](int fd) {
      TlsServer::Connection connection(tlsServer_, fd);
      if (!connection.isUp()) return;
      say(connection);
      sendText(fd, connection.takeSent());
      receiveAll(fd);
    });
    HealthCheck check;
    check.type = HealthCheck::Type::ssl;
    check.response = "never";
    ProbeTarget target;
    target.check = std::make_shared<const HealthCheck>(check);
    target.address = Address::ipv4(0x7f000001);
    target.port = server.port();
    boost::asio::io_context io;
    const TlsContext tls;
    std::optional<Outcome> result;
    auto running = startProbe({io, tls}, target, [&](Outcome outcome) { result = outcome; });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!result && std::chrono::steady_clock::now() < deadline)
      io.run_one_for(std::chrono::milliseconds(10));
    running.reset();
    io.restart();
    io.poll();
    return result ? result->reason : "no outcome";
  }

  TlsServer tlsServer_;
};

TEST_F(Flooded, H12_KeyUpdatesWithoutEndEndTheProbe) {
  EXPECT_EQ(probe([](auto& connection) {
              for (int i = 0; i < 2000; ++i) connection.updateKey();
            }),
            "TLS: more than 100 handshake messages, tickets and key updates without an answer");
}

TEST_F(Flooded, H12_AFewKeyUpdatesAreFine) {
  EXPECT_EQ(probe([](auto& connection) {
              for (int i = 0; i < 20; ++i) connection.updateKey();
              connection.write("never");
            }),
            "");
}

// Where the server's group decides what a handshake costs.
TEST_F(Flooded, H12_AHugeGroupIsRefused) {
  tlsServer_ = TlsServer::withGroup("ffdhe8192");
  EXPECT_EQ(probe([](auto&) {}), "TLS: the server's Diffie-Hellman group has more than 4096 bits");
  tlsServer_ = TlsServer::withGroup("ffdhe2048");
  EXPECT_EQ(probe([](auto& connection) { connection.write("never"); }), "");
}

}  // namespace
}  // namespace weir::manager
