// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/background_log.h"
#include "base/journal.h"
#include "base/log_limiter.h"

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

using Fields = std::vector<Field>;

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

std::string sentence(std::string_view message, const Fields& fields) {
  std::string line;
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
  return line;
}

// The prefix that tells the journal the priority of a line on standard error.
std::string journalPrefix(Level level) {
  return settings().journal ? fmt::format("<{}>", priority(level)) : std::string();
}

std::string textLine(Level level, std::string_view message, const Fields& fields) {
  const Settings& s = settings();
  return fmt::format("{} {} {}: {}\n", timestamp(std::chrono::system_clock::now()), s.program,
                     name(level), sentence(message, fields));
}

std::string jsonLine(Level level, std::string_view message, const Fields& fields) {
  const Settings& s = settings();
  nlohmann::ordered_json object{{"time", timestamp(std::chrono::system_clock::now())},
                                {"level", name(level)},
                                {"program", s.program},
                                {"message", message}};
  for (const auto& [key, value] : fields) object[std::string(key)] = value;
  std::string line = journalPrefix(level);
  line += object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  line += '\n';
  return line;
}

// Whom a line is about; other fields (a reason, a duration) differ from time to time.
bool saysWhom(std::string_view key) {
  return key == "SERVICE" || key == "GROUP" || key == "BACKEND" || key == "TARGET" ||
         key == "PROGRAM" || key == "QUEUE";
}

LogLimiter::Answer admit(std::string_view message, const Fields& fields) {
  static std::mutex mutex;
  static LogLimiter limiter;
  std::string kind(message);
  for (const auto& [key, value] : fields)
    if (saysWhom(key)) kind += fmt::format("\n{}={}", key, value);
  const std::lock_guard lock(mutex);
  return limiter.admit(kind, LogLimiter::Clock::now());
}

void writeLine(const std::string& line) {
  // One call per line, so that lines of several threads do not mix. Nobody to tell if it fails.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void emit(Level level, std::string_view message, Fields fields) {
  const Settings& s = settings();
  if (s.format == Format::json)
    return deliver([line = jsonLine(level, message, fields)] { writeLine(line); });
  if (!s.journal) return deliver([line = textLine(level, message, fields)] { writeLine(line); });
  deliver([level, text = sentence(message, fields), fields = std::move(fields)] {
    if (!sendToJournal(priority(level), settings().program, text, fields))
      writeLine(journalPrefix(level) + text + '\n');
  });
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

std::string timestamp(std::chrono::system_clock::time_point time) {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  const auto sinceEpoch = duration_cast<milliseconds>(time.time_since_epoch());
  const std::time_t seconds = sinceEpoch.count() / 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     sinceEpoch.count() % 1000);
}

void setup(std::string_view program, Level level, Format format) {
  settings() = {std::string(program), level, format, stderrIsJournal()};
}

void write(Level level, std::string_view message, std::initializer_list<Field> given) {
  const Settings& s = settings();
  if (level > s.level) return;
  Fields fields(given);
  const auto answer = admit(message, fields);
  if (!answer.write) return;
  if (answer.suppressed != 0)
    fields.emplace_back("LEFT_OUT", fmt::format("{} lines like this before", answer.suppressed));
  if (answer.last)
    fields.emplace_back("LIMIT", fmt::format("more lines like this are left out for up to {} s",
                                             LogLimiter::kWindow.count()));
  emit(level, message, std::move(fields));
}

void record(std::string_view message, const std::vector<Field>& fields) {
  if (Level::info <= settings().level) emit(Level::info, message, fields);
}

}  // namespace weir::log
