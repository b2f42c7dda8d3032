// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weir/result.h"

namespace weir::cli {

// Talks HTTP with the manager over api.sock.
class Client {
 public:
  using Path = std::vector<std::string>;  // segments; encoded as needed
  using Query = std::map<std::string, std::string>;

  struct Request {
    std::string method = "GET";
    Path path;
    Query query = {};
    std::string body = {};
    std::string contentType = "application/json";
  };
  struct Answer {
    long status = 0;
    std::string body;
  };

  // `timeout`: how long connecting and the answer may take together. When it takes longer than
  // kQuiet, `waiting` is called once.
  static constexpr std::chrono::seconds kQuiet{2};
  Client(const std::filesystem::path& runDir, std::chrono::seconds timeout,
         std::function<void()> waiting = nullptr)
      : socket_(runDir / "api.sock"), timeout_(timeout), waiting_(std::move(waiting)) {}

  // An error: the manager does not answer, in one line that says what to do.
  Result<Answer> exchange(const Request&) const;

 private:
  std::filesystem::path socket_;
  std::chrono::seconds timeout_;
  std::function<void()> waiting_;
};

}  // namespace weir::cli
