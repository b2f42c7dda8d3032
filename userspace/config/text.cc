// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/utf8.h"

namespace weir::config {
namespace {

constexpr std::size_t kLongestShownLine = 400;

}  // namespace

Text::Text(const Source& source) : name_(source.name) {
  std::string_view text = source.text;
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  bytes_.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    bytes_.push_back(text[i]);
    if (static_cast<unsigned char>(text[i]) >= 0x80) ascii_ = false;
  }
  lineStarts_.push_back(0);
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    if (bytes_[i] == '\n') lineStarts_.push_back(i + 1);
  // What follows the last line end is a line only if there is something in it.
  if (lineStarts_.size() > 1 && lineStarts_.back() == bytes_.size()) lineStarts_.pop_back();
}

std::string_view Text::line(unsigned index) const noexcept {
  const std::size_t start = lineStarts_[index];
  std::size_t end = index + 1 < lineStarts_.size() ? lineStarts_[index + 1] : bytes_.size();
  if (end > start && bytes_[end - 1] == '\n') --end;
  return std::string_view(bytes_).substr(start, end - start);
}

Mark Text::clamp(Mark mark) const noexcept {
  const auto last = static_cast<unsigned>(lineStarts_.size() - 1);
  if (mark.line > last) return {last, static_cast<unsigned>(line(last).size())};
  return {mark.line, std::min(mark.byte, static_cast<unsigned>(line(mark.line).size()))};
}

unsigned Text::lineOf(Mark mark) const noexcept { return clamp(mark).line + 1; }

unsigned Text::columnOf(Mark mark) const noexcept {
  const Mark place = clamp(mark);
  if (ascii_) return place.byte + 1;
  const std::string_view before = line(place.line).substr(0, place.byte);
  const auto characters =
      std::count_if(before.begin(), before.end(), [](char c) { return !isContinuation(c); });
  return static_cast<unsigned>(characters) + 1;
}

std::string Text::lineAt(Mark mark) const {
  const std::string_view text = line(clamp(mark).line);
  return text.size() > kLongestShownLine ? std::string() : std::string(text);
}

char Text::byteAt(Mark mark) const noexcept {
  if (mark.line >= lineStarts_.size()) return '\0';
  const std::string_view text = line(mark.line);
  return mark.byte < text.size() ? text[mark.byte] : '\0';
}

Mark Text::markOf(std::size_t offset) const noexcept {
  const auto after = std::upper_bound(lineStarts_.begin(), lineStarts_.end(), offset);
  const auto index = static_cast<std::size_t>(after - lineStarts_.begin()) - 1;
  return {static_cast<unsigned>(index), static_cast<unsigned>(offset - lineStarts_[index])};
}

std::optional<Text::Fault> Text::firstFault() const {
  for (std::size_t i = 0; i < bytes_.size();) {
    const Character character = firstCharacter(std::string_view(bytes_).substr(i, 4));
    if (character.length == 0)
      return Fault{markOf(i), fmt::format("byte 0x{:02x} is not UTF-8; configuration files are "
                                          "UTF-8 text",
                                          static_cast<unsigned char>(bytes_[i]))};
    if (isControl(character.codePoint))
      return Fault{markOf(i), fmt::format("control character U+{:04X} is not allowed in a "
                                          "configuration file",
                                          character.codePoint)};
    i += character.length;
  }
  return std::nullopt;
}

}  // namespace weir::config
