// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/handover.h"

#include <csignal>
#include <thread>

#include "proxy/proxy.h"
#include "support/temporary_directory.h"
#include "unit/proxy/proxy_fixture.h"

namespace weir::proxy {
namespace {

using namespace test;

TEST(Handover, X5_5_AllListeningSocketsGoToTheSuccessor) {
  const weir::test::TemporaryDirectory directory;
  ListeningSockets sockets;
  std::vector<SocketAddress> fronts;
  for (int i = 0; i < 3; ++i) {
    auto first = listenAt({kLoopback, 0});
    ASSERT_TRUE(first.ok());
    fronts.push_back(localAddress(*first));
    auto& of = sockets[fronts.back()];
    of.push_back(std::make_shared<const Fd>(std::move(*first)));
    for (int more = 1; more < 100 * i; ++more)
      of.push_back(std::make_shared<const Fd>(std::move(*listenAt(fronts.back()))));
  }
  auto server = HandoverServer::listen(directory.path());
  ASSERT_TRUE(server.ok()) << server.error().message;
  std::thread predecessor([&] {
    pollfd wait{server->fd(), POLLIN, 0};
    ::poll(&wait, 1, 5000);
    EXPECT_TRUE(server->give(sockets).ok());
    sockets.clear();
  });
  const auto taken = takeOver(directory.path());
  predecessor.join();
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  ASSERT_TRUE(taken->has_value());
  ASSERT_EQ((*taken)->size(), 3u);
  EXPECT_EQ((*taken)->at(fronts[0]).size(), 1u);
  EXPECT_EQ((*taken)->at(fronts[2]).size(), 200u);
  for (const auto& front : fronts) Stream::to(front);  // nobody is refused
}

// A proxy that was started while the manager is away has nothing but what it inherited.
TEST(Handover, X5_5_WhoHasNotHeardTheManagerGivesOnWhatItInherited) {
  const weir::test::TemporaryDirectory directory;
  DaemonOptions options;
  options.runDir = directory.path();
  auto signals = Signals::block({SIGUSR1});
  auto lock = InstanceLock::acquire(options.runDir, "weir-proxy");
  auto server = HandoverServer::listen(options.runDir);
  ASSERT_TRUE(signals.ok() && lock.ok() && server.ok());
  ListeningSockets inherited;
  auto socket = listenAt({kLoopback, 0});
  const SocketAddress front = localAddress(*socket);
  inherited[front].push_back(std::make_shared<const Fd>(std::move(*socket)));
  inherited[front].push_back(std::make_shared<const Fd>(std::move(*listenAt(front))));
  Proxy proxy(options, std::move(*signals), std::move(*lock), std::move(*server),
              std::move(inherited));
  std::thread control([&] { EXPECT_TRUE(proxy.run().ok()); });
  const auto taken = takeOver(options.runDir);
  ::kill(::getpid(), SIGUSR1);  // it stays for a while after a hand-over, unless told
  control.join();
  ASSERT_TRUE(taken.ok() && taken->has_value());
  ASSERT_TRUE((*taken)->contains(front)) << "the socket is lost, and clients are refused";
  EXPECT_EQ((*taken)->at(front).size(), 2u);
}

TEST(Handover, NobodyRuns) {
  const weir::test::TemporaryDirectory directory;
  auto taken = takeOver(directory.path());
  ASSERT_TRUE(taken.ok());
  EXPECT_FALSE(taken->has_value());
  { const auto server = HandoverServer::listen(directory.path()); }  // its file stays behind
  taken = takeOver(directory.path());
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_FALSE(taken->has_value());
}

}  // namespace
}  // namespace weir::proxy
