// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/given_marks.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "base/boot_time.h"
#include "base/replace_file.h"

namespace weir {

Status writeGivenMarks(const std::filesystem::path& path, Time now) {
  return replaceFile(path, fmt::format("{} {}\n", bootId().data(), now.time_since_epoch().count()));
}

Result<std::optional<Time>> readGivenMarks(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream in(path);
  if (!in && errno == ENOENT) return std::optional<Time>();
  std::string boot;
  Time::rep milliseconds = 0;
  if (!in || !(in >> boot >> milliseconds))
    return Error{fmt::format("cannot read {}: {}", path.string(),
                             errno == 0 ? "it is damaged" : std::strerror(errno))};
  if (boot != bootId().data()) return std::optional<Time>();
  return std::optional(Time(Time::duration(milliseconds)));
}

}  // namespace weir
