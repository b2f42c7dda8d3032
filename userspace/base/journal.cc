// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/journal.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>

// Where in weir's source a line comes from says nothing to its readers.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

namespace weir::log {

bool stderrIsJournal() noexcept {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
  return fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

bool sendToJournal(int priority, std::string_view program, std::string_view message,
                   const std::vector<std::pair<std::string_view, std::string>>& fields) {
  std::vector<std::string> entry;
  entry.reserve(fields.size() + 3);
  entry.push_back(fmt::format("MESSAGE={}", message));
  entry.push_back(fmt::format("PRIORITY={}", priority));
  entry.push_back(fmt::format("SYSLOG_IDENTIFIER={}", program));
  for (const auto& [key, value] : fields) entry.push_back(fmt::format("{}={}", key, value));
  std::vector<iovec> parts;
  parts.reserve(entry.size());
  for (auto& part : entry) parts.push_back({part.data(), part.size()});
  return ::sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
}

}  // namespace weir::log
