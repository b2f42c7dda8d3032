// SPDX-License-Identifier: GPL-2.0-or-later
//
// The PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt): how a proxy tells the
// next one who the client is (X2.2, X2.3). Reading is incremental and strict; no byte beyond the
// header is taken.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/address.h"

namespace weir {

struct SocketAddress {
  Address address;
  std::uint16_t port = 0;
  friend auto operator<=>(const SocketAddress&, const SocketAddress&) noexcept = default;
};

// What a header announces.
struct ProxyHeader {
  struct Ends {
    SocketAddress client;
    SocketAddress server;  // where the client connected to
    friend bool operator==(const Ends&, const Ends&) = default;
  };
  // nullopt: the connection stands for itself (UNKNOWN, LOCAL, UNSPEC, or no IP addresses).
  std::optional<Ends> ends;
  // PP2_TYPE_AUTHORITY, as it was sent. Data of the peer, never more than 255 bytes.
  std::optional<std::string> authority;
};

class ProxyHeaderParser {
 public:
  enum class Progress : std::uint8_t { needsMore, complete, refused };

  // The next bytes of the connection; returns how many of them belong to the header. Takes nothing
  // after complete or refused.
  std::size_t feed(std::span<const std::uint8_t> bytes);
  Progress progress() const noexcept { return progress_; }
  const ProxyHeader& header() const noexcept { return header_; }  // when complete
  std::string_view problem() const noexcept { return problem_; }  // when refused, in words

 private:
  void refuse(std::string_view problem) noexcept;
  void take(std::uint8_t byte);
  void readVersion1();
  void readVersion2();
  bool readExtras(std::span<const std::uint8_t> extras);

  Progress progress_ = Progress::needsMore;
  std::string_view problem_;
  std::vector<std::uint8_t> bytes_;  // of the header, so far
  std::size_t length_ = 0;           // of all of a version 2 header, once known
  ProxyHeader header_;
};

// The header for a connection, to be sent before its first byte. Version 1 has one family for both
// ends: with an IPv4 and an IPv6 end both are written as IPv6, the IPv4 one in its mapped form.
std::string writeProxyV1(const ProxyHeader::Ends&);
// `authority`: the server name (PP2_TYPE_AUTHORITY); empty: none. At most 255 bytes.
std::string writeProxyV2(const ProxyHeader::Ends&, std::string_view authority);

}  // namespace weir
