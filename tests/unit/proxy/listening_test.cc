// SPDX-License-Identifier: GPL-2.0-or-later
//
// What keeps the proxy from listening is tried again, and told once.
#include <gmock/gmock.h>

#include <atomic>

#include "proxy/fronts.h"
#include "proxy/listener.h"
#include "unit/proxy/proxy_fixture.h"

namespace weir::proxy {
namespace {

using namespace test;

struct Bystander final : EventLoop::Handler {
  void onEvents(std::uint32_t) override {}
};

class ListeningTest : public ProxyTest {};

TEST_F(ListeningTest, X5_6_AListenerThatCannotBeWatchedIsTriedAgain) {
  auto loop = EventLoop::open();
  ASSERT_TRUE(loop.ok());
  auto socket = std::make_shared<const Fd>(std::move(*listenAt({kLoopback, 0})));
  // As if the kernel were out of watches: each of a descriptor is there once.
  Bystander bystander;
  ASSERT_TRUE((*loop)->watch(socket->get(), EPOLLIN | EPOLLET, bystander).ok());
  ThreadCounters counters;
  std::atomic<int> accepted = 0;
  testing::internal::CaptureStderr();
  Listener listener(**loop, counters, admission_, socket,
                    [&](Fd, const SocketAddress&) { ++accepted; });
  listener.start();
  std::thread thread([&] { (*loop)->run(); });
  const Stream waiting = Stream::to(localAddress(*socket));
  std::this_thread::sleep_for(350ms);
  EXPECT_EQ(accepted, 0);
  (*loop)->post([&] { (*loop)->unwatch(socket->get()); });
  EXPECT_TRUE(soon([&] { return accepted == 1; }));
  (*loop)->stop();
  thread.join();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, testing::HasSubstr("cannot watch a descriptor"));
  EXPECT_THAT(told, testing::HasSubstr("there is room for new connections again"));
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
}

TEST_F(ListeningTest, X1_4_AFrontThatSomebodyElseHasIsOpenedWhenItIsFree) {
  Server server, somebody;
  service("shop", {server.address()});
  snapshot_.fronts.push_back({"rule", kLoopback, somebody.address().port, "front"});
  publish();
  Fronts::Threads threads;
  threads.push_back(std::move(*ProxyThread::start(0, published_, directory_, admission_)));
  threads.push_back(std::move(*ProxyThread::start(1, published_, directory_, admission_)));
  Fronts fronts({});
  testing::internal::CaptureStderr();
  EXPECT_FALSE(fronts.update(*world(), threads));
  EXPECT_FALSE(fronts.update(*world(), threads));
  EXPECT_EQ(fronts.open(), 0u);
  ASSERT_TRUE(fronts.failing().contains(somebody.address()));
  EXPECT_THAT(fronts.failing().at(somebody.address()), testing::HasSubstr("in use"));
  somebody.close();
  EXPECT_TRUE(fronts.update(*world(), threads));
  EXPECT_TRUE(fronts.update(*world(), threads));
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(fronts.open(), 1u);
  EXPECT_EQ(fronts.sockets(), 2u);
  EXPECT_TRUE(fronts.failing().empty());
  EXPECT_THAT(told, testing::HasSubstr("cannot listen"));
  EXPECT_THAT(told, testing::HasSubstr("listening"));
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
  Stream a = Stream::to(somebody.address());
  Stream b = server.accept();
  a.say("open");
  EXPECT_EQ(b.hear(4), "open");

  // A front that is taken away is closed, and no worry any more.
  snapshot_.fronts.clear();
  EXPECT_TRUE(fronts.update(*world(), threads));
  EXPECT_EQ(fronts.open(), 0u);
}

}  // namespace
}  // namespace weir::proxy
