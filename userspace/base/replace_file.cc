// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/replace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/fd.h"
#include "base/log.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

Error failure(const fs::path& path, std::string_view what) {
  return Error{fmt::format("cannot {} {}: {}; nothing was changed", what, path.string(),
                           std::strerror(errno))};
}

Status writeAll(int fd, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failure(path, "write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return success();
}

// The new content beside the file that it is to replace, on the disk.
Status writeBeside(const fs::path& temporary, const struct stat* old, std::string_view text) {
  constexpr mode_t kNewFile = 0644;
  // A file that a crash left there is nobody's any more; a link would lead elsewhere.
  ::unlink(temporary.c_str());
  const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     S_IRUSR | S_IWUSR));
  if (!fd) return failure(temporary, "create");
  if (old != nullptr && ::fchown(fd.get(), old->st_uid, old->st_gid) != 0)
    return failure(temporary, "give the owner to");
  const mode_t mode = old != nullptr ? old->st_mode & 07777 : kNewFile;
  if (::fchmod(fd.get(), mode) != 0) return failure(temporary, "set the mode of");
  if (Status written = writeAll(fd.get(), text, temporary); !written) return written;
  if (::fsync(fd.get()) != 0) return failure(temporary, "write");
  return success();
}

// The name in the directory is the new file's already; all that can be missing is that this
// outlives a crash of the machine.
void syncDirectory(const fs::path& directory) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0)
    log::warning("a crash of this machine could undo a change",
                 {{"PATH", directory.string()}, {"REASON", std::strerror(errno)}});
}

}  // namespace

Status replaceFile(const fs::path& path, std::string_view content) {
  const fs::path directory = path.parent_path();
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return failure(directory, "create");
  // A link is kept, what it leads to is replaced.
  std::error_code error;
  fs::path file = path;
  if (fs::is_symlink(file, error)) {
    file = fs::canonical(file, error);
    if (error)
      return Error{fmt::format("cannot follow the link {}: {}; nothing was changed", path.string(),
                               error.message())};
  }
  struct stat old {};
  const bool isThere = ::stat(file.c_str(), &old) == 0;
  if (!isThere && errno != ENOENT) return failure(file, "read");
  // Hidden, so that no reader takes it for a file of the configuration.
  const fs::path temporary = file.parent_path() / ("." + file.filename().string() + ".new");
  if (Status written = writeBeside(temporary, isThere ? &old : nullptr, content); !written) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (::rename(temporary.c_str(), file.c_str()) != 0) {
    const Error refused = failure(file, "replace");
    ::unlink(temporary.c_str());
    return refused;
  }
  syncDirectory(file.parent_path());
  return success();
}

}  // namespace weir
