// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/given_marks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "base/boot_time.h"
#include "base/replace_file.h"
#include "core/hash.h"

namespace weir {

namespace {

// Boot, time, and a check on both: a number that a damaged byte has changed is still a number.
std::string lineOf(std::string_view boot, Time::rep milliseconds) {
  const std::string text = fmt::format("{} {}", boot, milliseconds);
  return fmt::format("{} {:016x}\n", text, hashText(text, 0));
}

}  // namespace

Status writeGivenMarks(const std::filesystem::path& path, Time now) {
  Status written = replaceFile(path, lineOf(bootId().data(), now.time_since_epoch().count()));
  // None is taken for unknown; the former one would be believed.
  if (!written) ::unlink(path.c_str());
  return written;
}

Result<Time> readGivenMarks(const std::filesystem::path& path) {
  const auto unreadable = [&path](std::string_view why) {
    return Error{fmt::format("cannot read {}: {}", path.string(), why)};
  };
  errno = 0;
  std::ifstream in(path);
  std::string line;
  if (!in || !std::getline(in, line))
    return unreadable(errno == 0 ? "it is damaged" : std::strerror(errno));
  std::istringstream words(line);
  std::string boot;
  Time::rep milliseconds = 0;
  if (!(words >> boot >> milliseconds) || line + '\n' != lineOf(boot, milliseconds))
    return unreadable("it is damaged");
  if (boot != bootId().data()) return unreadable("it is from before the last boot");
  return Time(Time::duration(milliseconds));
}

}  // namespace weir
