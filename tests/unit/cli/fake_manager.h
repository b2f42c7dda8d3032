// SPDX-License-Identifier: GPL-2.0-or-later
//
// A manager that notes what it is asked and answers what the test wants.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace weir::cli {

class FakeManager {
 public:
  struct Asked {
    std::string method, target, contentType, body;
    std::string line() const { return method + " " + target; }
    nlohmann::json json() const { return nlohmann::json::parse(body); }
  };
  struct Said {
    int status = 200;
    std::string body = "{}";
  };

  explicit FakeManager(const std::filesystem::path& runDir) {
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (runDir / "api.sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeManager() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  FakeManager(const FakeManager&) = delete;
  FakeManager& operator=(const FakeManager&) = delete;

  // The answer to "GET /v1/status"; several: one after the other, the last one for ever. Whatever
  // has no answer gets {}.
  void say(const std::string& line, int status, std::string body) {
    const std::lock_guard lock(mutex_);
    says_[line].push_back({status, std::move(body)});
  }
  // Connections are taken but never answered, as by a process that is stopped.
  void fallSilent() { silent_ = true; }

  std::vector<Asked> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  Asked last() const {
    const auto all = asked();
    return all.empty() ? Asked{} : all.back();
  }

 private:
  void serve() {
    while (true) {
      Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      if (silent_) {
        kept_.push_back(std::move(client));
        continue;
      }
      const timeval limit{.tv_sec = 10, .tv_usec = 0};
      ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      answer(client.get());
    }
  }

  void answer(int fd) {
    std::string text;
    std::size_t headers = std::string::npos;
    while ((headers = text.find("\r\n\r\n")) == std::string::npos)
      if (!receive(fd, text)) return;
    Asked asked;
    asked.method = text.substr(0, text.find(' '));
    const std::size_t target = asked.method.size() + 1;
    asked.target = text.substr(target, text.find(' ', target) - target);
    asked.contentType = header(text.substr(0, headers), "Content-Type");
    const std::string length = header(text.substr(0, headers), "Content-Length");
    asked.body = text.substr(headers + 4);
    while (!length.empty() && asked.body.size() < std::stoul(length))
      if (!receive(fd, asked.body)) return;
    const Said said = record(asked);
    const std::string reply = "HTTP/1.1 " + std::to_string(said.status) +
                              " x\r\nContent-Type: application/json\r\nConnection: close\r\n"
                              "Content-Length: " +
                              std::to_string(said.body.size()) + "\r\n\r\n" + said.body;
    for (std::string_view rest = reply; !rest.empty();) {
      const ssize_t n = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  Said record(const Asked& asked) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(asked);
    auto& says = says_[asked.line()];
    if (says.empty()) return {};
    const Said said = says.front();
    if (says.size() > 1) says.pop_front();
    return said;
  }

  static bool receive(int fd, std::string& text) {
    char buffer[4096];
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  static std::string header(const std::string& headers, const std::string& name) {
    const std::size_t at = headers.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 4;
    return headers.substr(begin, headers.find("\r\n", begin) - begin);
  }

  Fd listener_;
  std::atomic<bool> silent_ = false;
  std::vector<Fd> kept_;
  mutable std::mutex mutex_;
  std::vector<Asked> asked_;
  std::map<std::string, std::deque<Said>> says_;
  std::thread thread_;
};

}  // namespace weir::cli
