// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::manager {

// The body of an HTTP/1 answer out of its framing (RFC 9112, 6 and 7.1). It keeps nothing but where
// it stands.
class HttpBody {
 public:
  static HttpBody untilClose() { return HttpBody(Framing::close, 0); }
  static HttpBody ofLength(std::uint64_t bytes) { return HttpBody(Framing::length, bytes); }
  static HttpBody chunked() { return HttpBody(Framing::chunks, 0); }

  enum class State : std::uint8_t { more, complete, malformed };
  // Appends the body's bytes to `out`.
  State feed(std::string_view bytes, std::string& out);
  // Is a body complete that ends now, with the connection?
  bool endsWithConnection() const noexcept { return framing_ == Framing::close; }

 private:
  enum class Framing : std::uint8_t { close, length, chunks };
  enum class At : std::uint8_t { size, extension, data, afterData };
  HttpBody(Framing framing, std::uint64_t left) : framing_(framing), left_(left) {}
  State feedChunks(std::string_view bytes, std::string& out);
  bool sizeDigit(char c) noexcept;

  Framing framing_;
  std::uint64_t left_;  // of the body, or of the chunk
  At at_ = At::size;
  unsigned digits_ = 0;  // of the chunk's size so far
};

}  // namespace weir::manager
