// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/utf8.h"

#include <fmt/format.h>

namespace weir::config {
namespace {

constexpr unsigned char byte(char c) noexcept { return static_cast<unsigned char>(c); }

}  // namespace

Character firstCharacter(std::string_view text) noexcept {
  const unsigned char first = byte(text[0]);
  if (first < 0x80) return {1, first};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  std::uint32_t codePoint = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!isContinuation(text[i])) return {};
    codePoint = (codePoint << 6) | (byte(text[i]) & 0x3fu);
  }
  const bool overlong = (length == 3 && codePoint < 0x800) || (length == 4 && codePoint < 0x10000);
  const bool surrogate = codePoint >= 0xd800 && codePoint < 0xe000;
  if (overlong || surrogate || codePoint > 0x10ffff) return {};
  return {length, codePoint};
}

Shown showFirst(std::string_view text) {
  const Character character = firstCharacter(text);
  if (character.length == 0) return {fmt::format("\\x{:02x}", byte(text[0])), 1};
  if (character.codePoint == '\n') return {"\\n", 1};
  if (isControl(character.codePoint))
    return {fmt::format("\\x{:02x}", character.codePoint), character.length};
  if (isInvisible(character.codePoint))
    return {fmt::format("\\u{:04x}", character.codePoint), character.length};
  return {std::string(text.substr(0, character.length)), character.length};
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Shown shown = showFirst(text);
    out += shown.text;
    text.remove_prefix(shown.taken);
  }
  return out;
}

}  // namespace weir::config
