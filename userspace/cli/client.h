// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "weir/result.h"

namespace weir::cli {

// Talks HTTP with the manager over api.sock.
class Client {
 public:
  explicit Client(const std::filesystem::path& runDir) : socket_(runDir / "api.sock") {}

  struct Answer {
    long status = 0;
    std::string body;
  };
  // An error: the manager does not answer, in one line that says what to do.
  using Path = std::vector<std::string>;  // segments; encoded as needed
  using Query = std::map<std::string, std::string>;
  Result<Answer> get(const Path&, const Query& = {}) const;
  Result<Answer> post(const Path&, const std::string& body) const;

 private:
  Result<Answer> exchange(const Path&, const Query&, const std::string* body) const;
  std::filesystem::path socket_;
};

}  // namespace weir::cli
