// SPDX-License-Identifier: GPL-2.0-or-later
//
// A thread of the proxy between clients and servers of the test, all on loopback.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/boot_time.h"
#include "base/fd.h"
#include "proxy/proxy_thread.h"
#include "proxy/socket_address.h"

namespace weir::proxy::test {

using namespace std::chrono_literals;

inline const Address kLoopback = *Address::parse("127.0.0.1");

inline SocketAddress localAddress(const Fd& fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &size);
  return fromKernel(storage);
}

// A blocking socket whose waits end after five seconds.
class Stream {
 public:
  explicit Stream(Fd fd) : fd_(std::move(fd)) {
    const timeval patience{5, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  static Stream to(const SocketAddress& address) {
    Fd fd(::socket(address.address.isIpv4() ? AF_INET : AF_INET6, SOCK_STREAM, 0));
    const KernelAddress kernel = toKernel(address);
    EXPECT_EQ(::connect(fd.get(), kernel.get(), kernel.size), 0) << errno;
    return Stream(std::move(fd));
  }

  void say(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0) << errno;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // `size` bytes, or what came before the end or the patience was over.
  std::string hear(std::size_t size) {
    std::string text(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      const ssize_t length = ::recv(fd_.get(), text.data() + got, size - got, 0);
      if (length <= 0) {
        ended_ = length == 0;
        error_ = length < 0 ? errno : 0;
        break;
      }
      got += static_cast<std::size_t>(length);
    }
    text.resize(got);
    return text;
  }
  std::string hearAll() { return hear(std::size_t{1} << 24); }
  bool ended() const { return ended_; }  // the last hear() met the end
  bool wasReset() const { return error_ == ECONNRESET; }
  void finish() { ::shutdown(fd_.get(), SHUT_WR); }
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    fd_.reset();
  }
  void close() { fd_.reset(); }
  const Fd& fd() const { return fd_; }

 private:
  Fd fd_;
  bool ended_ = false;
  int error_ = 0;
};

// A server that the test accepts for.
class Server {
 public:
  Server() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const KernelAddress any = toKernel({kLoopback, 0});
    EXPECT_EQ(::bind(fd_.get(), any.get(), any.size), 0);
    EXPECT_EQ(::listen(fd_.get(), 64), 0);
    address_ = localAddress(fd_);
  }
  const SocketAddress& address() const { return address_; }
  bool isCalled(std::chrono::milliseconds patience) const {
    pollfd wait{fd_.get(), POLLIN, 0};
    return ::poll(&wait, 1, static_cast<int>(patience.count())) == 1;
  }
  Stream accept() {
    EXPECT_TRUE(isCalled(5s)) << "no connection came";
    return Stream(Fd(::accept(fd_.get(), nullptr, nullptr)));
  }
  void close() { fd_.reset(); }  // from now on: connection refused

 private:
  Fd fd_;
  SocketAddress address_;
};

class ProxyTest : public testing::Test {
 protected:
  ProxyTest() {
    snapshot_.generation = Generation(1);
    snapshot_.targetProxies.push_back({.name = "front", .service = "shop", .acceptProxyFrom = {}});
  }

  // One group of these servers; to be called for every service.
  void service(const std::string& name, const std::vector<SocketAddress>& servers,
               const std::function<void(ProxyServiceSnapshot&)>& change = nullptr) {
    ProxyServiceSnapshot& made = services_[name];
    made.name = name;
    made.generation = Generation(1);
    ProxyGroup& group = made.groups.emplace_back();
    group.name = name + "-group";
    group.capacity.maxConnections = 1000;
    for (const auto& server : servers) {
      ProxyEndpoint& endpoint = group.endpoints.emplace_back();
      endpoint.endpoint = server.address.toString() + ":" + std::to_string(server.port);
      endpoint.ipv4 = server.address;
      endpoint.port = server.port;
      endpoint.healthy = true;
    }
    if (change) change(made);
  }

  // Opens the front and starts the thread.
  void start() {
    auto listening = listenAt({kLoopback, 0});
    ASSERT_TRUE(listening.ok()) << listening.error().message;
    socket_ = std::make_shared<const Fd>(std::move(*listening));
    front_ = localAddress(*socket_);
    snapshot_.fronts.push_back({"rule", front_.address, front_.port, "front"});
    publish();
    auto started = ProxyThread::start(0, published_, directory_, admission_);
    ASSERT_TRUE(started.ok());
    thread_ = std::move(*started);
    thread_->listen(front_, socket_);
  }
  void startShop(const Server& server, std::chrono::seconds idleTimeout) {
    service("shop", {server.address()}, [&](auto& shop) { shop.idleTimeout = idleTimeout; });
    start();
  }
  // Clients announce themselves with a PROXY header, and `server` gets one of version 1. Returns
  // what a client is to announce.
  ProxyHeader::Ends startBetweenProxies(const Server& server) {
    snapshot_.targetProxies[0].proxyHeader = TargetTcpProxy::ProxyHeader::proxyV1;
    snapshot_.targetProxies[0].acceptProxyFrom = {*Prefix::parse("127.0.0.0/8")};
    service("shop", {server.address()});
    start();
    return {{*Address::parse("198.51.100.7"), 1234}, {kLoopback, 1}};
  }
  std::shared_ptr<const ProxyWorld> world() const {
    auto world = std::make_shared<const ProxyWorld>();
    for (const auto& [name, service] : services_) world = world->after(service);
    return world->after(snapshot_);
  }
  void publish() {
    const auto made = world();
    directory_.update(made, bootTime());
    published_.publish(made);
  }

  Stream client() { return Stream::to(front_); }
  std::uint64_t closed(CloseReason reason) const {
    return thread_->counters().closed[static_cast<std::size_t>(reason)].value();
  }
  // Waits for what another thread does.
  static bool soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 500; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  bool nothingIsOpen() const {
    return soon([&] { return thread_->counters().open.load() == 0; });
  }

  ProxySnapshot snapshot_;
  std::map<std::string, ProxyServiceSnapshot> services_;
  Published<ProxyWorld> published_;
  BackendsDirectory directory_;
  Admission admission_;
  std::shared_ptr<const Fd> socket_;
  SocketAddress front_;
  std::unique_ptr<ProxyThread> thread_;
};

}  // namespace weir::proxy::test
