// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which handshakes of a target's probes are resumed, and that those tell no lies.
#include "manager/health/resumption.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "little_server.h"
#include "manager/health/probe.h"
#include "run_probe.h"
#include "tls_server.h"

namespace weir::manager {
namespace {

class Resuming : public testing::TestWithParam<int> {  // a version of TLS
 protected:
  void SetUp() override {
    if (GetParam() != 0) SSL_CTX_set_max_proto_version(tlsServer_.context(), GetParam());
    check_.type = HealthCheck::Type::ssl;
    check_.response = "fine";
    check_.checkInterval = std::chrono::seconds(1);
  }

  // The reason of one probe, empty for a success. Returns when its connections have ended.
  std::string probe(std::chrono::milliseconds limit = std::chrono::seconds(5)) {
    const auto result = runProbe(io_, {io_, tls_, resumption_}, check_, server_.port(), limit);
    io_.restart();
    io_.run_for(std::chrono::seconds(5));  // what lingers
    runUntil(io_, [this] { return server_.connections() == ended_; });
    return result ? result->reason : "no outcome";
  }

  // "F": a full handshake, "R": a resumed one, "-": one that failed.
  std::string handshakes(int probes) {
    seen_.clear();
    for (int i = 0; i < probes; ++i) EXPECT_EQ(probe(), "") << "probe " << i;
    return seen_;
  }

  void askEvery(std::chrono::seconds interval, std::size_t spread = 0) {
    resumption_ = std::make_shared<Resumption>(interval, spread);
  }

  // What the server does with resumed sessions, apart from `resumedSays_`.
  enum class Whim : std::uint8_t {
    none,
    resets,
    hangs,
    // It answers when the next connection has come, which it leaves without an answer.
    waitsForTheNext,
  };

  // True: nothing more is to be said over the connection.
  bool indulge(TlsServer::Connection& connection, int fd) {
    if (waiting_) {
      waiting_->connection.write(says_);
      sendText(waiting_->fd.get(), waiting_->connection.takeSent());
      waiting_.reset();
      receiveAll(fd);
      return true;
    }
    if (!connection.isResumed() || whim_ == Whim::none) return false;
    if (whim_ == Whim::resets) {
      const linger now{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      return true;
    }
    Waiting waiting{Fd(::dup(fd)), std::move(connection)};
    if (whim_ == Whim::waitsForTheNext)
      waiting_ = std::move(waiting);
    else
      hanging_.push_back(std::move(waiting.fd));
    return true;
  }

  struct Waiting {
    Fd fd;
    TlsServer::Connection connection;
  };
  Whim whim_ = Whim::none;
  std::optional<Waiting> waiting_;
  std::vector<Fd> hanging_;
  std::string resumedSays_;  // empty: as others
  std::chrono::milliseconds thinks_{0};
  TlsServer tlsServer_;
  HealthCheck check_;
  std::string says_ = "fine";
  std::string seen_;
  std::atomic<int> ended_{0};
  boost::asio::io_context io_;
  const TlsContext tls_;
  std::shared_ptr<Resumption> resumption_ = std::make_shared<Resumption>(std::chrono::seconds(1));
  LittleServer server_{[this](int fd) {
    {
      TlsServer::Connection connection(tlsServer_, fd);
      seen_ += !connection.isUp() ? '-' : connection.isResumed() ? 'R' : 'F';
      if (!connection.isUp() || !indulge(connection, fd)) {
        const bool isOther = connection.isResumed() && !resumedSays_.empty();
        const std::string& answer = isOther ? resumedSays_ : says_;
        std::this_thread::sleep_for(thinks_);
        if (connection.isUp() && !answer.empty()) connection.write(answer);
        sendText(fd, connection.takeSent());
        receiveAll(fd);
      }
    }
    ++ended_;
  }};
};

TEST_P(Resuming, H12_OneOfFiveHandshakesIsAFullOne) { EXPECT_EQ(handshakes(11), "FRRRRFRRRRF"); }

TEST_P(Resuming, H5_AHandshakeAloneLeavesATicketToo) {
  check_.response.clear();
  says_.clear();
  EXPECT_EQ(handshakes(3), "FRR");
}

TEST_P(Resuming, H12_FullOnesAreAtMostFiveSecondsApart) {
  askEvery(std::chrono::seconds(2));
  EXPECT_EQ(handshakes(5), "FRFRF");
  for (const int interval : {3, 4, 5, 6, 300}) {
    askEvery(std::chrono::seconds(interval));
    EXPECT_EQ(handshakes(3), "FFF") << interval;
  }
}

TEST_P(Resuming, H2_FullOnesAreSpread) {
  const std::array<std::string, 6> patterns{"FRRRRFR", "FRRRFRR", "FRRFRRR",
                                            "FRFRRRR", "FFRRRRF", "FRRRRFR"};
  for (std::size_t spread = 0; spread < patterns.size(); ++spread) {
    askEvery(std::chrono::seconds(1), spread);
    EXPECT_EQ(handshakes(7), patterns[spread]) << spread;
  }
}

TEST_P(Resuming, H5_WithoutAnythingRememberedEachIsFull) {
  resumption_ = nullptr;
  EXPECT_EQ(handshakes(3), "FFF");
}

TEST_P(Resuming, H5_ARefusedTicketMakesAFullHandshake) {
  EXPECT_EQ(handshakes(2), "FR");
  tlsServer_.forgetTickets();
  EXPECT_EQ(handshakes(6), "FRRRRF");
}

TEST_P(Resuming, H5_AServerThatGivesNoTicketIsAskedInFull) {
  SSL_CTX_set_num_tickets(tlsServer_.context(), 0);
  SSL_CTX_set_options(tlsServer_.context(), SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(tlsServer_.context(), SSL_SESS_CACHE_OFF);
  EXPECT_EQ(handshakes(3), "FFF");
}

TEST_P(Resuming, H5_ABrokenCertificateIsFoundByTheFifthProbe) {
  EXPECT_EQ(handshakes(1), "F");
  tlsServer_.breakCertificate(true);
  EXPECT_EQ(handshakes(4), "RRRR");
  seen_.clear();
  EXPECT_NE(probe(), "");
  EXPECT_NE(probe(), "");
  EXPECT_EQ(seen_, "--");
  tlsServer_.breakCertificate(false);
  EXPECT_EQ(handshakes(2), "FR");
}

TEST_P(Resuming, H5_AFailureMakesTheNextHandshakeAFullOne) {
  EXPECT_EQ(handshakes(2), "FR");
  says_ = "ill";
  EXPECT_EQ(probe(), "the reply does not begin with the expected response");
  says_ = "fine";
  EXPECT_EQ(handshakes(2), "FR");
}

TEST_P(Resuming, H5_ATimeoutMakesTheNextHandshakeAFullOne) {
  EXPECT_EQ(handshakes(2), "FR");
  says_ = "fi";
  EXPECT_EQ(probe(std::chrono::milliseconds(300)), "no outcome");
  says_ = "fine";
  EXPECT_EQ(handshakes(2), "FR");
}

// One that answers resumed sessions otherwise is healthy if full ones find it so, and is not
// troubled again soon.
TEST_P(Resuming, H4_AMisdirectedRequestIsAskedAgainWithoutTheTicket) {
  check_.type = HealthCheck::Type::https;
  check_.response.clear();
  says_ = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  resumedSays_ = "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n";
  EXPECT_EQ(handshakes(8), "FRFFFFFFF");
}

TEST_P(Resuming, H5_AResetInAResumedSessionIsAskedAgainWithoutTheTicket) {
  whim_ = Whim::resets;
  EXPECT_EQ(handshakes(8), "FRFFFFFFF");
}

TEST_P(Resuming, H5_AFailureInAResumedSessionAndInAFullOneIsTheFullOnes) {
  check_.type = HealthCheck::Type::https;
  check_.response.clear();
  says_ = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  EXPECT_EQ(handshakes(2), "FR");
  says_ = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
  resumedSays_ = "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n";
  seen_.clear();
  EXPECT_NE(probe().find("503"), std::string::npos);
  EXPECT_EQ(seen_, "RF");
}

TEST_P(Resuming, H10_WhatHangsWithATicketIsAskedAgainWithoutAtHalfOfTheTimeout) {
  check_.timeout = std::chrono::seconds(1);
  whim_ = Whim::hangs;
  EXPECT_EQ(handshakes(8), "FRFFFFFFF");
}

// It takes longer than half of the timeout, with a ticket and without.
TEST_P(Resuming, H10_ASlowServerKeepsItsWholeTimeoutAndIsThenAskedInFull) {
  check_.timeout = std::chrono::seconds(1);
  whim_ = Whim::waitsForTheNext;
  EXPECT_EQ(handshakes(8), "FRFFFFFFF");
}

TEST_P(Resuming, H10_AServerThatIsKnownToBeSlowIsAskedInFull) {
  check_.timeout = std::chrono::seconds(1);
  thinks_ = std::chrono::milliseconds(700);
  EXPECT_EQ(handshakes(2), "FF");
  thinks_ = std::chrono::milliseconds(0);
  EXPECT_EQ(handshakes(8), "FFFFFFFF");
}

TEST_P(Resuming, H10_WhatHangsWithATicketAndWithoutHasATimeout) {
  check_.timeout = std::chrono::seconds(1);
  EXPECT_EQ(handshakes(2), "FR");
  whim_ = Whim::hangs;
  says_ = "fi";
  seen_.clear();
  EXPECT_EQ(probe(std::chrono::milliseconds(1500)), "no outcome");
  EXPECT_EQ(seen_, "RF");
  says_ = "fine";
  EXPECT_EQ(handshakes(3), "FFF");
}

TEST_P(Resuming, H5_AServerOfAnotherGroupResumesToo) {
  SSL_CTX_set1_groups_list(tlsServer_.context(), "P-384");
  EXPECT_EQ(handshakes(3), "FRR");
}

// A server that takes another group than the prober's first has to ask for it once.
TEST_P(Resuming, H12_TheServersGroupIsRemembered) {
  SSL_CTX_set1_groups_list(tlsServer_.context(), "P-384:P-256");
  int hellos = 0;
  SSL_CTX_set_client_hello_cb(
      tlsServer_.context(),
      [](SSL*, int*, void* count) {
        ++*static_cast<int*>(count);
        return SSL_CLIENT_HELLO_SUCCESS;
      },
      &hellos);
  askEvery(std::chrono::seconds(5));
  EXPECT_EQ(handshakes(3), "FFF");
  EXPECT_EQ(hellos, GetParam() == TLS1_3_VERSION ? 4 : 3);
  SSL_CTX_set1_groups_list(tlsServer_.context(), "X25519");
  EXPECT_EQ(handshakes(2), "FF");
  EXPECT_EQ(hellos, GetParam() == TLS1_3_VERSION ? 7 : 5);
}

INSTANTIATE_TEST_SUITE_P(OfTls, Resuming, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& version) {
                           return version.param == TLS1_2_VERSION ? "1_2" : "1_3";
                         });

using ResumingOnce = Resuming;

// It is healthy all the same, and is not troubled again soon.
TEST_P(ResumingOnce, H5_AServerThatFailsOverATicketIsAskedAgainWithout) {
  tlsServer_.failOverTickets();
  EXPECT_EQ(handshakes(4), "F-FFF");
}

TEST_P(ResumingOnce, H5_AFailureWithTheTicketAndWithoutIsAFailure) {
  EXPECT_EQ(handshakes(2), "FR");
  tlsServer_.failOverTickets();
  tlsServer_.breakCertificate(true);
  seen_.clear();
  EXPECT_NE(probe(), "");
  EXPECT_EQ(seen_, "--");
}

INSTANTIATE_TEST_SUITE_P(OfTls, ResumingOnce, testing::Values(TLS1_3_VERSION));

}  // namespace
}  // namespace weir::manager
