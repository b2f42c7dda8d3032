// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "config/load.h"
#include "weir/result.h"

namespace weir::config {

// The whole of a file of at most `most` bytes. Never waits: pipes, devices and files of the kernel
// (/proc, /sys) are errors, as are directories. The error is fit to stand after the
// file's name ("is not a regular file").
Result<std::string> readWholeFile(const std::filesystem::path& path,
                                  std::size_t most = kMaxFileBytes);

}  // namespace weir::config
