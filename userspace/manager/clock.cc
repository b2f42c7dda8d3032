// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/clock.h"

#include <time.h>

namespace weir::manager {

Time now() noexcept {
  timespec value{};
  ::clock_gettime(CLOCK_BOOTTIME, &value);
  return Time(std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(value.tv_sec) +
                                                          std::chrono::nanoseconds(value.tv_nsec)));
}

}  // namespace weir::manager
