// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/replace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/log.h"
#include "base/write_all.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

Error failure(const fs::path& path, std::string_view what) {
  return Error{fmt::format("cannot {} {}: {}; nothing was changed", what, path.string(),
                           std::strerror(errno))};
}

fs::path directoryOf(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// Does the path end in a link of /proc, which stands for an open file (/dev/stdout)? Replacing what
// that is would take it away from those who hold it open.
bool isOpenFile(fs::path path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    const fs::path directory = fs::canonical(directoryOf(path), error);
    if (error) return false;
    if (std::distance(directory.begin(), directory.end()) > 1 && *++directory.begin() == "proc")
      return true;
    path = directory / fs::read_symlink(path, error);  // an absolute target stays as it is
    if (error) return false;
  }
  return false;
}

Status writeInPlace(const fs::path& path, std::string_view content) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd || !writeAll(fd.get(), content))
    return Error{fmt::format("cannot write {}: {}", path.string(), std::strerror(errno))};
  return success();
}

// No signal ends the process meanwhile (SIGKILL may).
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Owner and mode of the file to be; no mode: what the umask leaves of 0666.
struct Attributes {
  const struct stat* owner = nullptr;
  std::optional<mode_t> mode;
};

// The content in the new file, on the disk.
Status fill(int fd, const fs::path& name, const Attributes& attributes, std::string_view text) {
  if (const auto* owner = attributes.owner;
      owner != nullptr && ::fchown(fd, owner->st_uid, owner->st_gid) != 0)
    return failure(name, "give the owner to");
  if (attributes.mode && ::fchmod(fd, *attributes.mode) != 0)
    return failure(name, "set the mode of");
  if (!writeAll(fd, text) || ::fsync(fd) != 0) return failure(name, "write");
  return success();
}

Status moveTo(const fs::path& temporary, const fs::path& file) {
  if (::rename(temporary.c_str(), file.c_str()) == 0) return success();
  const Error refused = failure(file, "replace");
  ::unlink(temporary.c_str());
  return refused;
}

// A file without a name until it is complete: whatever ends the process before, nothing is left.
Status replaceByNameless(int fd, const fs::path& temporary, const fs::path& file,
                         const Attributes& attributes, std::string_view text) {
  if (Status filled = fill(fd, temporary, attributes, text); !filled) return filled;
  const SignalsBlocked quiet;
  ::unlink(temporary.c_str());
  const std::string nameless = fmt::format("/proc/self/fd/{}", fd);
  if (::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return failure(temporary, "create");
  return moveTo(temporary, file);
}

Status replaceByNamed(const fs::path& temporary, const fs::path& file, mode_t createdWith,
                      const Attributes& attributes, std::string_view text) {
  const SignalsBlocked quiet;
  // A file that a crash left there is nobody's any more; a link would lead elsewhere.
  ::unlink(temporary.c_str());
  const Fd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, createdWith));
  if (!fd) return failure(temporary, "create");
  if (Status filled = fill(fd.get(), temporary, attributes, text); !filled) {
    ::unlink(temporary.c_str());
    return filled;
  }
  return moveTo(temporary, file);
}

// The name in the directory is the new file's already; all that can be missing is that this
// outlives a crash of the machine.
void syncDirectory(const fs::path& directory) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0)
    log::warning("a crash of this machine could undo a change",
                 {{"PATH", directory.string()}, {"REASON", std::strerror(errno)}});
}

// `newMode`: of a file that is not there yet; nullopt: as the umask says.
Status replace(const fs::path& path, std::string_view content, std::optional<mode_t> newMode) {
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
  if (isThere && !S_ISREG(old.st_mode))
    return Error{fmt::format("{} is not a regular file; nothing was changed", path.string())};
  const Attributes attributes{isThere ? &old : nullptr,
                              isThere ? std::optional<mode_t>(old.st_mode & 07777) : newMode};
  const mode_t createdWith = attributes.mode ? S_IRUSR | S_IWUSR : 0666;
  const fs::path directory = directoryOf(file);
  // Hidden, so that no reader takes it for a file of the configuration.
  const fs::path temporary = directory / ("." + file.filename().string() + ".new");
  const Fd nameless(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, createdWith));
  // Not every file system has files without a name.
  Status replaced = nameless
                        ? replaceByNameless(nameless.get(), temporary, file, attributes, content)
                        : replaceByNamed(temporary, file, createdWith, attributes, content);
  if (replaced) syncDirectory(directory);
  return replaced;
}

}  // namespace

Status replaceFile(const fs::path& path, std::string_view content) {
  constexpr mode_t kNewFile = 0644;
  return replace(path, content, kNewFile);
}

Status writeOutput(const fs::path& path, std::string_view content) {
  struct stat there {};
  const bool stays = ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode);
  return stays || isOpenFile(path) ? writeInPlace(path, content)
                                   : replace(path, content, std::nullopt);
}

}  // namespace weir
