// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <filesystem>
#include <string_view>

#include "weir/result.h"

namespace weir {

// Replaces a regular file as a whole, or makes it (mode 0644): afterwards it holds `content`, also
// after a crash of the machine, or it is as it was and the error says why. Mode and owner of the
// old file are kept. A symbolic link stays, the file that it leads to is replaced. Passes through
// ".NAME.new" beside it; not for two writers at once. A signal that ends the process leaves no such
// file behind.
Status replaceFile(const std::filesystem::path& path, std::string_view content);

// The same for output that a user wants to have somewhere: what is there and is no regular file (a
// device, a pipe, /dev/stdout) is written to and stays what it is; a new file has the mode that the
// umask leaves of 0666.
Status writeOutput(const std::filesystem::path& path, std::string_view content);

}  // namespace weir
