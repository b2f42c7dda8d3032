// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/boot_time.h"

#include <time.h>

namespace weir {

Time bootTime() noexcept {
  timespec value{};
  ::clock_gettime(CLOCK_BOOTTIME, &value);
  return Time(std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(value.tv_sec) +
                                                          std::chrono::nanoseconds(value.tv_nsec)));
}

}  // namespace weir
