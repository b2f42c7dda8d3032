// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

namespace weir {

// Takes as many file descriptors as this process may have (its hard limit), for programs that hold
// thousands of sockets: the usual soft limit of 1,024 is there for select().
void raiseFileLimit() noexcept;

}  // namespace weir
