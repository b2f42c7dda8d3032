// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/table_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/boot_time.h"

namespace weir::engine {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::array<char, 8> kMagic{'w', 'e', 'i', 'r', 't', 'b', 'l', '\n'};

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t layout = kSlotLayoutVersion;
  std::uint32_t reserved = 0;
  std::uint64_t ipv4Entries = 0;
  std::uint64_t ipv6Entries = 0;
  std::uint64_t slotBytes = 0;
  std::uint64_t seed = 0;
  BootId boot{};  // the clock that entries are stamped with begins anew at boot
};
static_assert(sizeof(Header) <= kPage);

Error failed(std::string_view what, const std::string& path) {
  return Error{fmt::format("cannot {} {}: {}", what, path, std::strerror(errno))};
}

// Empty when the header fits `wanted` (its seed aside), else the difference in words.
std::string difference(const Header& found, std::uint64_t fileBytes, const Header& wanted) {
  if (found.magic != wanted.magic) return "it is not a tracking table";
  if (found.layout != wanted.layout)
    return fmt::format("its layout is version {}, not {}", found.layout, wanted.layout);
  if (found.ipv4Entries != wanted.ipv4Entries || found.ipv6Entries != wanted.ipv6Entries ||
      found.slotBytes != wanted.slotBytes)
    return fmt::format("it has room for {} IPv4 and {} IPv6 entries, not for {} and {}",
                       found.ipv4Entries, found.ipv6Entries, wanted.ipv4Entries,
                       wanted.ipv6Entries);
  if (fileBytes != kPage + wanted.slotBytes) return "it was cut";
  if (found.boot != wanted.boot) return "it is from before the last boot";
  return {};
}

Result<Fd> openLocked(const std::string& path, int flags) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  if (!fd) return failed("open", path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno == EWOULDBLOCK) return Error{fmt::format("{} is in use by another process", path)};
  return failed("lock", path);
}

// The new file gets its final name only when it is complete: a crash leaves no half of one.
Result<Fd> create(const std::string& path, Header& header) {
  if (::getrandom(&header.seed, sizeof header.seed, 0) != sizeof header.seed)
    return failed("get a random seed for", path);
  const std::string unfinished = path + ".new";
  auto fd = openLocked(unfinished, O_CREAT | O_TRUNC);
  if (!fd) return fd;
  // Reserving all of it now means that no write to the mapping can ever lack memory (SIGBUS).
  const auto size = static_cast<off_t>(kPage + header.slotBytes);
  if (const int error = ::posix_fallocate(fd->get(), 0, size); error != 0) {
    errno = error;
    const Error reason = failed(fmt::format("reserve {} MiB for", size >> 20), unfinished);
    ::unlink(unfinished.c_str());
    return reason;
  }
  if (::pwrite(fd->get(), &header, sizeof header, 0) != sizeof header)
    return failed("write", unfinished);
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return failed("rename", unfinished);
  return fd;
}

}  // namespace

Result<TableFile> TableFile::open(const std::filesystem::path& file, TrackingTableOptions options) {
  const std::string path = file.string();
  Header header;
  header.ipv4Entries = options.ipv4Entries;
  header.ipv6Entries = options.ipv6Entries;
  header.slotBytes = TrackingTable::slotBytes(options);
  header.boot = bootId();

  Fd fd;
  std::string other;
  if (std::filesystem::exists(file)) {
    auto existing = openLocked(path, 0);
    if (!existing) return existing.error();
    Header found;
    struct stat info {};
    if (::fstat(existing->get(), &info) != 0) return failed("stat", path);
    if (::pread(existing->get(), &found, sizeof found, 0) != sizeof found) found.magic = {};
    other = difference(found, static_cast<std::uint64_t>(info.st_size), header);
    if (other.empty()) {
      header.seed = found.seed;
      fd = std::move(*existing);
    }
  }
  if (!fd) {
    auto created = create(path, header);
    if (!created) return created.error();
    fd = std::move(*created);
  }

  const std::size_t length = kPage + header.slotBytes;
  void* memory =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (memory == MAP_FAILED) return failed("map", path);
  options.seed = header.seed;
  return TableFile(std::move(fd), {static_cast<std::byte*>(memory), length}, options,
                   std::move(other));
}

TableFile::TableFile(TableFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      mapping_(std::exchange(other.mapping_, {})),
      options_(other.options_),
      foundOther_(std::move(other.foundOther_)) {}

TableFile::~TableFile() {
  if (!mapping_.empty()) ::munmap(mapping_.data(), mapping_.size());
}

std::span<std::byte> TableFile::slots() const noexcept { return mapping_.subspan(kPage); }

}  // namespace weir::engine
