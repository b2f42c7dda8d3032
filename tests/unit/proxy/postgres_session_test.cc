// SPDX-License-Identifier: GPL-2.0-or-later
//
// Clients of PostgreSQL at a front with TLS routes: they ask in the clear first.
#include "support/client_hello_builder.h"
#include "unit/proxy/proxy_fixture.h"
#include "weir/postgres_request.h"

namespace weir::proxy {
namespace {

using namespace test;

class PostgresTest : public ProxyTest {
 protected:
  void begin(const std::vector<SocketAddress>& servers) {
    snapshot_.targetProxies[0].service.clear();
    TlsRule rule;
    rule.matches.push_back({{"db.example.com"}, {}});
    rule.destinations.push_back({"db", 1});
    snapshot_.tlsRoutes.push_back({"r", {"front"}, {rule}});
    service("db", servers,
            [](ProxyServiceSnapshot& made) { made.connectTimeout = std::chrono::seconds(1); });
    start();
  }
  static std::string hello(std::string_view name) {
    using namespace weir::test;
    const Bytes bytes = records(clientHello({serverName(name)}));
    return std::string(bytes.begin(), bytes.end());
  }
  static std::string request() { return std::string(kPostgresTlsRequest); }
};

TEST_F(PostgresTest, X6_TheBackendGetsTheRequestAndTheHelloAndTheClientOneAnswer) {
  Server server;
  snapshot_.targetProxies[0].proxyHeader = TargetTcpProxy::ProxyHeader::proxyV1;
  begin({server.address()});
  Stream one = client();
  for (const char byte : request()) one.say({&byte, 1});
  EXPECT_EQ(one.hear(1), "S");
  EXPECT_FALSE(server.isCalled(20ms));  // X6.2: not before it is known who it is for
  one.say(hello("db.example.com"));
  Stream backend = server.accept();
  const std::string first = writeProxyV1({localAddress(one.fd()), front_}) + request();
  EXPECT_EQ(backend.hear(first.size()), first);
  backend.say("S");
  EXPECT_EQ(backend.hear(hello("db.example.com").size()), hello("db.example.com"));
  backend.say("server hello");
  EXPECT_EQ(one.hear(12), "server hello");
  one.say("and on");
  EXPECT_EQ(backend.hear(6), "and on");
}

TEST_F(PostgresTest, KerberosIsDeclinedAndTlsCanFollow) {
  Server server;
  begin({server.address()});
  Stream one = client();
  one.say(kPostgresKerberosRequest);
  EXPECT_EQ(one.hear(1), "N");
  one.say(request());
  EXPECT_EQ(one.hear(1), "S");
  one.say(hello("db.example.com"));
  Stream backend = server.accept();
  EXPECT_EQ(backend.hear(8), request());
}

TEST_F(PostgresTest, X3_3_ABackendWithoutTlsIsPassedOver) {
  Server without, silent, with;
  begin({without.address(), silent.address(), with.address()});
  Stream one = client();
  one.say(request());
  EXPECT_EQ(one.hear(1), "S");
  one.say(hello("db.example.com"));
  // Whichever comes first, the third of three is reached.
  std::thread declines([&] {
    if (!without.isCalled(2500ms)) return;
    Stream backend = without.accept();
    backend.hear(8);
    backend.say("N");
    backend.hear(1);
  });
  Stream backend = with.accept();
  EXPECT_EQ(backend.hear(8), request());
  backend.say("S");
  EXPECT_EQ(backend.hear(hello("db.example.com").size()), hello("db.example.com"));
  declines.join();
}

TEST_F(PostgresTest, WhoDoesNotWaitForTheAnswerIsClosed) {
  Server server;
  begin({server.address()});
  Stream hasty = client();
  hasty.say(request() + hello("db.example.com"));
  EXPECT_EQ(hasty.hearAll(), "");
  Stream twice = client();
  twice.say(request());
  EXPECT_EQ(twice.hear(1), "S");
  twice.say(request());
  EXPECT_EQ(twice.hearAll(), "");
  EXPECT_TRUE(soon([&] { return closed(CloseReason::tlsProtocolError) == 2; }));
  EXPECT_FALSE(server.isCalled(20ms));
}

}  // namespace
}  // namespace weir::proxy
