// SPDX-License-Identifier: GPL-2.0-or-later
//
// Characters of UTF-8, and text that is safe on a terminal and in JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::config {

constexpr bool isContinuation(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// One character (RFC 3629): its length in bytes and code point; length 0: this is no UTF-8.
struct Character {
  std::size_t length = 0;
  std::uint32_t codePoint = 0;
};
// The first character of a text that is not empty.
Character firstCharacter(std::string_view text) noexcept;

// C0 except tab and line end, DEL, C1.
constexpr bool isControl(std::uint32_t codePoint) noexcept {
  return (codePoint < 0x20 && codePoint != '\t' && codePoint != '\n') ||
         (codePoint >= 0x7f && codePoint < 0xa0);
}

// What a terminal does not show, or what turns the text around it so that it reads as another
// (bidirectional controls, zero width, line and paragraph separators).
constexpr bool isInvisible(std::uint32_t codePoint) noexcept {
  return codePoint == 0xad || codePoint == 0x61c || codePoint == 0x180e || codePoint == 0xfeff ||
         (codePoint >= 0x200b && codePoint <= 0x200f) ||
         (codePoint >= 0x2028 && codePoint <= 0x202e) ||
         (codePoint >= 0x2060 && codePoint <= 0x206f) ||
         (codePoint >= 0xfff9 && codePoint <= 0xfffb) ||
         (codePoint >= 0xe0000 && codePoint <= 0xe007f);
}

// The beginning of a text as it may be shown: its first character, or that as "\x1b" or "\u202e"
// when it is a control character, invisible, a line end, or a byte that is no UTF-8. A tab stays.
struct Shown {
  std::string text;
  std::size_t taken = 0;  // bytes of the original
};
Shown showFirst(std::string_view text);
// All of it.
std::string escaped(std::string_view text);

}  // namespace weir::config
