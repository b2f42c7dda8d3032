// SPDX-License-Identifier: GPL-2.0-or-later
//
// A TCP server on loopback whose every connection is served by a function with blocking calls, and
// the other little things that tests of the manager share.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "support/temporary_directory.h"

namespace weir::manager {

class LittleServer {
 public:
  explicit LittleServer(std::function<void(int fd)> serve) : serve_(std::move(serve)) {
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    socklen_t length = sizeof address;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { acceptAll(); });
  }
  ~LittleServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::uint16_t port() const { return port_; }
  int connections() const { return connections_; }
  // A connection in the backlog dies with the listener; this waits until it was accepted.
  void awaitConnection() const {
    for (int i = 0; i < 2000 && connections_ == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  void acceptAll() {
    while (true) {
      Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      ++connections_;
      // A client that is done, or a server that hangs, holds up the test for no longer than this.
      const timeval limit{.tv_sec = 2, .tv_usec = 0};
      ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      serve_(client.get());
    }
  }

  std::function<void(int)> serve_;
  Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::thread thread_;
};

inline void sendText(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Until `end` has come, or the peer has closed or waits too long.
inline std::string receiveUntil(int fd, std::string_view end) {
  std::string text;
  char buffer[4096];
  while (text.find(end) == std::string::npos) {
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

inline std::string receiveAll(int fd) { return receiveUntil(fd, std::string("\0\0never", 7)); }

inline Fd connectLocal(const std::filesystem::path& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0)
      << path.string();
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return fd;
}

using weir::test::TemporaryDirectory;

// Runs the loop until `done`; fails the test after `limit`.
inline void runUntil(boost::asio::io_context& io, const std::function<bool()>& done,
                     std::chrono::milliseconds limit = std::chrono::seconds(5)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing happened in time";
    io.restart();
    io.run_one_for(std::chrono::milliseconds(20));
  }
}

// Runs the loop for a while, for what must not happen.
inline void runFor(boost::asio::io_context& io, std::chrono::milliseconds time) {
  io.restart();
  io.run_for(time);
}

}  // namespace weir::manager
