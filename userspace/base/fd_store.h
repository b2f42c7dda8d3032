// SPDX-License-Identifier: GPL-2.0-or-later
//
// systemd's file descriptor store (FileDescriptorStoreMax= in systemd.service(5)): it keeps copies
// of descriptors while a program is restarted or has crashed, and gives them to the next one.
// Without systemd nothing is kept and nothing comes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace weir::fd_store {

// Copies of the descriptors under a name, which may be any text; what is there already stays.
void store(std::string_view name, std::span<const int> descriptors);
// All of that name.
void remove(std::string_view name);

// Those that this process was started with; once, before other threads.
std::vector<Fd> takeStored();

}  // namespace weir::fd_store
