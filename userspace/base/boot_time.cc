// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/boot_time.h"

#include <time.h>

#include <fstream>

namespace weir {

Time bootTime() noexcept {
  timespec value{};
  ::clock_gettime(CLOCK_BOOTTIME, &value);
  return Time(std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(value.tv_sec) +
                                                          std::chrono::nanoseconds(value.tv_nsec)));
}

BootId bootId() {
  BootId id{};
  std::ifstream("/proc/sys/kernel/random/boot_id").get(id.data(), id.size());
  return id;
}

}  // namespace weir
