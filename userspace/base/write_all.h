// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace weir {

// All of the bytes, however many calls that takes. False: errno says why.
bool writeAll(int fd, std::string_view bytes);

}  // namespace weir
