// SPDX-License-Identifier: GPL-2.0-or-later
//
// ClientHellos for tests, from named parts; what a test wants to be wrong it writes into the parts
// or overwrites in the resulting bytes.
//
//   records(clientHello({serverName("a.example.com"), protocols({"h2"})}))
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/packet_builder.h"

namespace weir::test {

struct HelloExtension {
  std::uint16_t type = 0;
  Bytes body;
};

inline Bytes bytesOf(std::string_view text) { return Bytes(text.begin(), text.end()); }

// Preceded by its length of `size` bytes.
inline Bytes counted(std::size_t size, const Bytes& body) {
  Bytes bytes;
  for (std::size_t i = size; i-- > 0;)
    bytes.push_back(static_cast<std::uint8_t>(body.size() >> (8 * i)));
  append(bytes, body);
  return bytes;
}

// One entry of a server_name list.
inline Bytes nameEntry(std::string_view name, std::uint8_t type = 0) {
  Bytes entry{type};
  append(entry, counted(2, bytesOf(name)));
  return entry;
}
inline HelloExtension serverNameList(const Bytes& entries) { return {0, counted(2, entries)}; }
inline HelloExtension serverName(std::string_view name) { return serverNameList(nameEntry(name)); }

inline HelloExtension protocols(const std::vector<std::string>& names) {
  Bytes list;
  for (const auto& name : names) append(list, counted(1, bytesOf(name)));
  return {16, counted(2, list)};
}
inline HelloExtension helloPadding(std::size_t size) { return {21, Bytes(size, 0)}; }
inline HelloExtension grease() { return {0x3a3a, {0}}; }

struct HelloParts {
  std::vector<HelloExtension> extensions{};
  std::size_t sessionId = 32;
  std::size_t cipherSuites = 17;
  bool hasExtensions = true;
  std::uint8_t type = 1;
};

// The handshake message with its header.
inline Bytes clientHello(const HelloParts& parts) {
  Bytes body{3, 3};
  body.insert(body.end(), 32, 0x5a);
  append(body, counted(1, Bytes(parts.sessionId, 0x11)));
  append(body, counted(2, Bytes(2 * parts.cipherSuites, 0x13)));
  append(body, counted(1, {0}));
  if (parts.hasExtensions) {
    Bytes extensions;
    for (const auto& extension : parts.extensions) {
      put16(extensions, extension.type);
      append(extensions, counted(2, extension.body));
    }
    append(body, counted(2, extensions));
  }
  Bytes message{parts.type};
  append(message, counted(3, body));
  return message;
}
inline Bytes clientHello(std::vector<HelloExtension> extensions) {
  return clientHello(HelloParts{.extensions = std::move(extensions)});
}

inline Bytes record(const Bytes& payload, std::uint8_t type = 22) {
  Bytes bytes{type, 3, 1};
  append(bytes, counted(2, payload));
  return bytes;
}
// A message cut into records of at most `size` bytes each.
inline Bytes records(const Bytes& message, std::size_t size = 16'384) {
  Bytes bytes;
  for (std::size_t at = 0; at < message.size(); at += size) {
    const std::size_t end = std::min(at + size, message.size());
    append(bytes, record({message.begin() + static_cast<std::ptrdiff_t>(at),
                          message.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  return bytes;
}

}  // namespace weir::test
