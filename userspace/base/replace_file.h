// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <filesystem>
#include <string_view>

#include "weir/result.h"

namespace weir {

// Replaces a file as a whole, or makes it (mode 0644), with the directory above (0755) where that
// is missing: afterwards it holds `content`, also after a crash of the machine, or it is as it was
// and the error says why. Mode and owner of the old file are kept. A symbolic link stays, the file
// that it leads to is replaced. Writes through ".NAME.new" beside it; not for two writers at once.
Status replaceFile(const std::filesystem::path& path, std::string_view content);

}  // namespace weir
