// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::test {

// Sets $JOURNAL_STREAM as systemd does when it connects standard error to the journal.
inline void pretendStderrIsJournal() {
  struct stat status {};
  ::fstat(STDERR_FILENO, &status);
  ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, status.st_ino).c_str(), 1);
}

}  // namespace weir::test
