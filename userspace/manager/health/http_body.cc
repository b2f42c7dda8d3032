// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/http_body.h"

#include <algorithm>

namespace weir::manager {

namespace {

constexpr unsigned kMostSizeDigits = 15;  // more cannot be meant, and would overflow

int hexDigit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

HttpBody::State HttpBody::feed(std::string_view bytes, std::string& out) {
  switch (framing_) {
    case Framing::close:
      out.append(bytes);
      return State::more;
    case Framing::length: {
      const auto taken = std::min<std::uint64_t>(left_, bytes.size());
      out.append(bytes.substr(0, taken));
      left_ -= taken;
      return left_ == 0 ? State::complete : State::more;
    }
    case Framing::chunks:
      return feedChunks(bytes, out);
  }
  return State::malformed;
}

bool HttpBody::sizeDigit(char c) noexcept {
  const int digit = hexDigit(c);
  if (digit < 0 || ++digits_ > kMostSizeDigits) return false;
  left_ = left_ * 16 + static_cast<unsigned>(digit);
  return true;
}

HttpBody::State HttpBody::feedChunks(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (at_ == At::data) {
      const auto taken = std::min<std::uint64_t>(left_, bytes.size());
      out.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      left_ -= taken;
      if (left_ == 0) at_ = At::afterData;
      continue;
    }
    const char c = bytes.front();
    bytes.remove_prefix(1);
    switch (at_) {
      case At::size:
        if (sizeDigit(c)) break;
        if (digits_ == 0 || digits_ > kMostSizeDigits) return State::malformed;
        if (c != '\r' && c != '\n' && c != ';' && c != ' ' && c != '\t') return State::malformed;
        at_ = At::extension;
        [[fallthrough]];
      case At::extension:
        if (c != '\n') break;
        // Trailers after the last chunk are of no interest.
        if (left_ == 0) return State::complete;
        at_ = At::data;
        digits_ = 0;
        break;
      case At::afterData:
        if (c == '\r') break;
        if (c != '\n') return State::malformed;
        at_ = At::size;
        break;
      case At::data:
        break;
    }
  }
  return State::more;
}

}  // namespace weir::manager
