// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/handover.h"

#include <thread>

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
