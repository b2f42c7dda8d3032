// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/proxy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace weir {

namespace {

constexpr std::array<std::uint8_t, 12> kSignature{0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d,
                                                  0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};
constexpr std::string_view kVersion1 = "PROXY ";
constexpr std::size_t kLongestVersion1 = 107;  // with its CRLF
constexpr std::size_t kFixedVersion2 = 16;     // signature, command, family, length
constexpr std::string_view kMappedPrefix = "::ffff:";
constexpr std::size_t kMaxAuthority = 255;

enum Command : std::uint8_t { kLocal = 0x20, kProxy = 0x21 };
enum Family2 : std::uint8_t { kUnspecified = 0, kInet = 1, kInet6 = 2, kUnix = 3 };
constexpr std::uint8_t kLastTransport = 2;  // unspecified, stream, datagram
enum Extra : std::uint8_t { kAuthority = 0x02, kCrc32c = 0x03 };

std::string_view textOf(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

unsigned number16(std::span<const std::uint8_t> bytes) {
  return static_cast<unsigned>(bytes[0]) << 8 | bytes[1];
}

// Castagnoli's CRC (RFC 3720, B.4), a byte at a time: headers are short.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = ~0u;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

std::optional<Address> addressIn(std::string_view text, Family family) {
  // A mapped address is the client's IPv4 address in the words of a dual-stack socket.
  if (family == Family::ipv6 && text.starts_with(kMappedPrefix)) {
    const auto mapped = Address::parse(text.substr(kMappedPrefix.size()));
    return mapped && mapped->isIpv4() ? mapped : std::nullopt;
  }
  const auto address = Address::parse(text);
  return address && address->family() == family ? address : std::nullopt;
}

std::optional<std::uint16_t> portIn(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc{} || rest != end || (text.size() > 1 && text[0] == '0'))
    return std::nullopt;
  return port;
}

Address addressAt(std::span<const std::uint8_t> bytes, Family family) {
  const auto word = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes[at + i];
    return value;
  };
  if (family == Family::ipv4) return Address::ipv4(static_cast<std::uint32_t>(word(0, 4)));
  return Address::ipv6(word(0, 8), word(8, 8));
}

void append16(std::string& out, std::size_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value);
}

bool bothIpv4(const ProxyHeader::Ends& ends) {
  return ends.client.address.isIpv4() && ends.server.address.isIpv4();
}

std::string asIpv6(Address address) {
  return address.isIpv4() ? std::string(kMappedPrefix) + address.toString() : address.toString();
}

}  // namespace

void ProxyHeaderParser::refuse(std::string_view problem) noexcept {
  progress_ = Progress::refused;
  problem_ = problem;
}

std::size_t ProxyHeaderParser::feed(std::span<const std::uint8_t> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && progress_ == Progress::needsMore) take(bytes[taken++]);
  return taken;
}

void ProxyHeaderParser::take(std::uint8_t byte) {
  bytes_.push_back(byte);
  const std::size_t size = bytes_.size();
  if (bytes_[0] == kSignature[0]) {
    if (size <= kSignature.size() && byte != kSignature[size - 1])
      return refuse("no PROXY header: the signature of version 2 is wrong");
    if (size == kFixedVersion2)
      length_ = kFixedVersion2 + number16(std::span(bytes_).subspan(kFixedVersion2 - 2));
    if (size >= kFixedVersion2 && size == length_) readVersion2();
    return;
  }
  if (size <= kVersion1.size() && byte != static_cast<std::uint8_t>(kVersion1[size - 1]))
    return refuse("no PROXY header at the beginning of the connection");
  if (byte == '\n') return readVersion1();
  if (size == kLongestVersion1) return refuse("a line of version 1 without an end");
}

// "PROXY TCP4 192.0.2.1 198.51.100.1 40000 443\r\n"; nothing is read of an UNKNOWN line.
void ProxyHeaderParser::readVersion1() {
  std::string_view line = textOf(bytes_);
  if (!line.ends_with("\r\n")) return refuse("a line of version 1 that does not end with CRLF");
  line.remove_suffix(2);
  line.remove_prefix(kVersion1.size());
  if (line == "UNKNOWN" || line.starts_with("UNKNOWN ")) {
    progress_ = Progress::complete;
    return;
  }
  std::array<std::string_view, 5> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t end = i + 1 < words.size() ? line.find(' ') : line.size();
    if (end == std::string_view::npos) return refuse("a line of version 1 with too few words");
    words[i] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  if (words[0] != "TCP4" && words[0] != "TCP6")
    return refuse("a family of version 1 that is not TCP4, TCP6 or UNKNOWN");
  const Family family = words[0] == "TCP4" ? Family::ipv4 : Family::ipv6;
  const auto client = addressIn(words[1], family), server = addressIn(words[2], family);
  if (!client || !server) return refuse("an address of version 1 that is none of its family");
  const auto clientPort = portIn(words[3]), serverPort = portIn(words[4]);
  if (!clientPort || !serverPort) return refuse("a port of version 1 that is none");
  header_.ends = {{*client, *clientPort}, {*server, *serverPort}};
  progress_ = Progress::complete;
}

void ProxyHeaderParser::readVersion2() {
  const std::span<const std::uint8_t> all(bytes_);
  const std::uint8_t command = all[12];
  const std::uint8_t family = all[13] >> 4, transport = all[13] & 0x0f;
  if (command != kLocal && command != kProxy)
    return refuse("a version or command that is not of version 2");
  if (family > kUnix || transport > kLastTransport)
    return refuse("a family or transport that version 2 does not have");
  constexpr std::array<std::size_t, 4> kAddresses{0, 12, 36, 216};
  const auto rest = all.subspan(kFixedVersion2);
  const std::size_t size = kAddresses[family];
  // LOCAL: whatever the family, nothing of it counts, and it may be missing.
  const bool counts = command == kProxy;
  if (rest.size() < size && counts) return refuse("addresses of version 2 that are cut off");
  if (rest.size() >= size && !readExtras(rest.subspan(size))) return;
  if (counts && (family == kInet || family == kInet6)) {
    const Family ip = family == kInet ? Family::ipv4 : Family::ipv6;
    const std::size_t each = family == kInet ? 4 : 16;
    header_.ends = {
        {addressAt(rest, ip), static_cast<std::uint16_t>(number16(rest.subspan(2 * each)))},
        {addressAt(rest.subspan(each), ip),
         static_cast<std::uint16_t>(number16(rest.subspan(2 * each + 2)))}};
  }
  progress_ = Progress::complete;
}

bool ProxyHeaderParser::readExtras(std::span<const std::uint8_t> extras) {
  while (!extras.empty()) {
    if (extras.size() < 3 || extras.size() - 3 < number16(extras.subspan(1))) {
      refuse("an extra field of version 2 that is cut off");
      return false;
    }
    const std::uint8_t type = extras[0];
    const auto value = extras.subspan(3, number16(extras.subspan(1)));
    extras = extras.subspan(3 + value.size());
    if (type == kAuthority) {
      if (value.size() > kMaxAuthority) {
        refuse("an authority of more than 255 bytes");
        return false;
      }
      header_.authority = std::string(textOf(value));
    }
    if (type == kCrc32c) {
      // The checksum is that of the header with zeros in its place.
      std::vector<std::uint8_t> zeroed = bytes_;
      const auto at = static_cast<std::size_t>(value.data() - bytes_.data());
      std::fill_n(zeroed.begin() + static_cast<std::ptrdiff_t>(at), value.size(), std::uint8_t{0});
      const std::uint32_t sum = crc32c(zeroed);
      if (value.size() != 4 || (number16(value) << 16 | number16(value.subspan(2))) != sum) {
        refuse("a checksum that is wrong");
        return false;
      }
    }
  }
  return true;
}

std::string writeProxyV1(const ProxyHeader::Ends& ends) {
  const bool ipv4 = bothIpv4(ends);
  const auto text = [&](Address address) { return ipv4 ? address.toString() : asIpv6(address); };
  return fmt::format("PROXY {} {} {} {} {}\r\n", ipv4 ? "TCP4" : "TCP6", text(ends.client.address),
                     text(ends.server.address), ends.client.port, ends.server.port);
}

std::string writeProxyV2(const ProxyHeader::Ends& ends, std::string_view authority) {
  const bool ipv4 = bothIpv4(ends);
  std::string body;
  for (const Address address : {ends.client.address, ends.server.address}) {
    const auto bytes = address.bytes();  // an IPv4 address is in the last four
    body.append(bytes.begin() + (ipv4 ? 12 : 0), bytes.end());
  }
  append16(body, ends.client.port);
  append16(body, ends.server.port);
  authority = authority.substr(0, kMaxAuthority);
  if (!authority.empty()) {
    body += static_cast<char>(kAuthority);
    append16(body, authority.size());
    body += authority;
  }
  std::string header(kSignature.begin(), kSignature.end());
  header += static_cast<char>(kProxy);
  header += static_cast<char>((ipv4 ? kInet : kInet6) << 4 | 1);
  append16(header, body.size());
  return header + body;
}

}  // namespace weir
