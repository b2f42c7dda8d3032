// SPDX-License-Identifier: GPL-2.0-or-later
//
// How many connections the API keeps for whom, so that nobody locks others out: neither those who
// may only look those who act, nor one user the rest, nor anybody root.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "manager/api/http.h"

namespace weir::manager {

// Whose connection it is. Peers over TCP have no user.
struct Client {
  std::optional<uid_t> user;
  Access access = Access::view;
  bool isRoot() const noexcept { return user == uid_t{0}; }
};

class ConnectionLimit {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kReservedForRoot = 16;
  // Beyond what those who may only look can have together; TCP knows no others, and has all.
  static constexpr std::size_t kReservedForFull = 64;
  static constexpr std::size_t kMostOfViewer = 32;
  static constexpr std::size_t kMostOfUser = 128;  // with full access

  // Why there is no room for one more, in words; empty: there is.
  std::string refusal(const Client&) const;
  void add(const Client&);
  void remove(const Client&) noexcept;

 private:
  std::map<std::optional<uid_t>, std::size_t> ofUser_;
  std::size_t all_ = 0, viewers_ = 0;
};

}  // namespace weir::manager
