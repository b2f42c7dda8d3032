// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

namespace weir::log {

namespace {

struct Settings {
  std::string program = "weir";
  Level level = Level::info;
  Format format = Format::text;
  bool journal = false;
};

Settings& settings() {
  static Settings instance;
  return instance;
}

std::string_view name(Level level) {
  switch (level) {
    case Level::error:
      return "error";
    case Level::warning:
      return "warning";
    case Level::info:
      return "info";
    case Level::debug:
      return "debug";
  }
  return "";
}

// syslog(3) priorities, as sd-daemon(3) prefixes them.
int priority(Level level) {
  switch (level) {
    case Level::error:
      return 3;
    case Level::warning:
      return 4;
    case Level::info:
      return 6;
    case Level::debug:
      return 7;
  }
  return 6;
}

// UTC, RFC 3339 with milliseconds.
std::string timestamp() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  const auto sinceEpoch = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
  const std::time_t seconds = sinceEpoch.count() / 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     sinceEpoch.count() % 1000);
}

bool isPlain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > ' ' && c != '"' && c != '\\' && c != 0x7f;
  });
}

// Control characters never reach the line as they are: a field cannot forge a second line.
void appendEscaped(std::string& line, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte == 0x7f)
      line += fmt::format("\\x{:02x}", byte);
    else
      line += c;
  }
}

void appendQuoted(std::string& line, std::string_view text) {
  line += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') line += '\\';
    appendEscaped(line, std::string_view(&c, 1));
  }
  line += '"';
}

std::string textLine(Level level, std::string_view message, std::initializer_list<Field> fields) {
  const Settings& s = settings();
  std::string line = s.journal ? fmt::format("<{}>", priority(level))
                               : fmt::format("{} {} {}: ", timestamp(), s.program, name(level));
  appendEscaped(line, message);
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    if (isPlain(value))
      line += value;
    else
      appendQuoted(line, value);
  }
  line += '\n';
  return line;
}

std::string jsonLine(Level level, std::string_view message, std::initializer_list<Field> fields) {
  const Settings& s = settings();
  nlohmann::ordered_json object{
      {"time", timestamp()}, {"level", name(level)}, {"program", s.program}, {"message", message}};
  for (const auto& [key, value] : fields) object[std::string(key)] = value;
  std::string line = s.journal ? fmt::format("<{}>", priority(level)) : std::string();
  line += object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  line += '\n';
  return line;
}

}  // namespace

std::optional<Level> parseLevel(std::string_view text) noexcept {
  for (const Level level : {Level::error, Level::warning, Level::info, Level::debug})
    if (text == name(level)) return level;
  return std::nullopt;
}

std::optional<Format> parseFormat(std::string_view text) noexcept {
  if (text == "text") return Format::text;
  if (text == "json") return Format::json;
  return std::nullopt;
}

void setup(std::string_view program, Level level, Format format) {
  settings() = {std::string(program), level, format, std::getenv("JOURNAL_STREAM") != nullptr};
}

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  if (level > settings().level) return;
  const std::string line = settings().format == Format::json ? jsonLine(level, message, fields)
                                                             : textLine(level, message, fields);
  // One call per line, so that lines of several threads do not mix. Nobody to tell if it fails.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace weir::log
