// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/file_limit.h"

#include <sys/resource.h>

namespace weir {

void raiseFileLimit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace weir
