// SPDX-License-Identifier: GPL-2.0-or-later
//
// The text of one configuration file and the places in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace weir::config {

// A place as the parser tells it: line and byte in the line, from 0. Turned into what a person
// reads only when something is reported there, since that has to count characters.
struct Mark {
  unsigned line = 0;
  unsigned byte = 0;
  friend auto operator<=>(const Mark&, const Mark&) = default;
};

class Text {
 public:
  // Takes off a byte order mark and the CR of CRLF line ends; neither moves any place.
  explicit Text(const Source& source);

  const std::string& name() const noexcept { return name_; }
  const std::string& bytes() const noexcept { return bytes_; }

  // Line and column from 1, the column in characters; places after the end become the end.
  unsigned lineOf(Mark) const noexcept;
  unsigned columnOf(Mark) const noexcept;
  // A line for display, without its end. Empty when it is too long to be shown.
  std::string lineAt(Mark) const;
  // The byte at a place; NUL beyond the text.
  char byteAt(Mark) const noexcept;

  struct Fault {
    Mark mark;
    std::string message;
  };
  // The first thing that cannot be part of a YAML text: broken UTF-8 or a control character.
  std::optional<Fault> firstFault() const;

 private:
  Mark clamp(Mark) const noexcept;
  std::string_view line(unsigned index) const noexcept;
  Mark markOf(std::size_t offset) const noexcept;

  std::string name_;
  std::string bytes_;
  std::vector<std::size_t> lineStarts_;
  bool ascii_ = true;
};

}  // namespace weir::config
