// SPDX-License-Identifier: GPL-2.0-or-later
//
// One request and its answer over HTTP/2, by nghttp2 (which does the frames, HPACK, and the rules
// of RFC 9113). No sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::manager {

class Http2Stream {
 public:
  // Header fields of all of the answer, trailers included; more ends the exchange.
  static constexpr std::size_t kLongestHeaders = 65'536;

  using Field = std::pair<std::string_view, std::string>;  // names are literals

  // What happens to the stream, during receive().
  class Listener {
   public:
    virtual ~Listener() = default;
    // A header of the final answer, or a trailer. Not called for interim answers.
    virtual void field(std::string_view name, std::string_view value) = 0;
    virtual void headersEnd(int status) = 0;
    virtual void data(std::string_view) = 0;
  };
  struct Request {
    std::vector<Field> fields;        // pseudo-header fields first
    std::optional<std::string> body;  // nullopt: the request has none
  };

  // `listener` outlives the stream.
  Http2Stream(Request, Listener& listener);
  ~Http2Stream();
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  std::string takeOutput();
  // Why the exchange cannot go on, in words; empty: it goes on, or the stream is complete.
  std::string receive(std::string_view bytes);
  // The answer has ended well, with everything that belongs to it.
  bool isComplete() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::manager
