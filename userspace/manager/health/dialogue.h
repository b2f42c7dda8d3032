// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a type of health check says and hears over a connection that is up: bytes in, bytes out, a
// verdict at the end. No sockets, no time. Everything that comes from the peer is untrusted; a
// dialogue keeps no more of it than it states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "manager/health/outcome.h"

namespace weir::manager {

class Dialogue {
 public:
  // How the peer ended the connection before there was a verdict.
  enum class End : std::uint8_t { closed, reset };

  virtual ~Dialogue() = default;
  // What is to be sent now, each byte once; empty when there is nothing.
  virtual std::string takeOutput() = 0;
  // All output so far is sent.
  virtual std::optional<Outcome> sent() { return std::nullopt; }
  // What came. nullopt: more is needed. Not called again after a verdict.
  virtual std::optional<Outcome> receive(std::string_view bytes) = 0;
  virtual Outcome ended(End) = 0;
};

inline std::string_view toString(Dialogue::End end) noexcept {
  return end == Dialogue::End::closed ? "connection closed" : "connection reset";
}

}  // namespace weir::manager
