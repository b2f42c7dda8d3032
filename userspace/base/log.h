// SPDX-License-Identifier: GPL-2.0-or-later
//
// One line per event on standard error, with fields. Under systemd the journal gets the entry with
// its fields as fields, or, in the JSON format, lines with priority prefixes (sd-daemon "<N>").
// Of lines that say the same about the same (LogLimiter), the first 20 in 10 s are written, the
// next one after that tells how many were left out. Levels:
//   error    something weir promised does not hold until someone acts
//   warning  something weir promised is at risk, or an input was refused
//   info     a state change an operator may look for later (start, reload, transitions)
//   debug    for developers; off unless asked for
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::log {

enum class Level { error, warning, info, debug };
enum class Format { text, json };
// From the words of the command line: "error", "warning", "info", "debug"; "text", "json".
std::optional<Level> parseLevel(std::string_view) noexcept;
std::optional<Format> parseFormat(std::string_view) noexcept;

// A field: upper-case key (SERVICE, BACKEND, REASON, ...) and value.
using Field = std::pair<std::string_view, std::string>;

// Once, at the start of a program, before other threads.
void setup(std::string_view program, Level level, Format format);

void write(Level, std::string_view message, std::initializer_list<Field> fields = {});
inline void error(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::error, m, f);
}
inline void warning(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::warning, m, f);
}
inline void info(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::info, m, f);
}
inline void debug(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::debug, m, f);
}

// A line that is data, such as a connection in an access log: never left out, level info.
void record(std::string_view message, const std::vector<Field>& fields);

// UTC, RFC 3339 with milliseconds.
std::string timestamp(std::chrono::system_clock::time_point);

}  // namespace weir::log
