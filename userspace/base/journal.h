// SPDX-License-Identifier: GPL-2.0-or-later
//
// The journal's own protocol: fields arrive as fields (journalctl SERVICE=web -o json), not as
// text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::log {

// Is standard error connected to the journal? As sd-daemon(3) says: $JOURNAL_STREAM names the
// device and inode of the stream.
bool stderrIsJournal() noexcept;

// Sends one entry; keys are upper case. False: nobody listens, or it did not fit.
bool sendToJournal(int priority, std::string_view program, std::string_view message,
                   const std::vector<std::pair<std::string_view, std::string>>& fields);

}  // namespace weir::log
