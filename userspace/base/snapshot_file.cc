// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/snapshot_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/boot_time.h"
#include "base/write_all.h"
#include "core/hash.h"

namespace weir {

namespace {

constexpr std::array<char, 8> kMagic{'w', 'e', 'i', 'r', 's', 'n', 'p', '\n'};
constexpr std::uint32_t kLayout = 2;
// More than any configuration makes; a file is read as a whole.
constexpr std::uint64_t kMostBytes = 1u << 30;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t layout = kLayout;
  std::uint32_t reserved = 0;
  std::int64_t heardMs = 0;
  BootId boot{};
};
static_assert(sizeof(Header) == 64);

struct MessageHeader {
  std::uint32_t length = 0;
  std::uint32_t complement = 0;  // tells a damaged length from the end of a cut file
  std::uint64_t checksum = 0;
};
static_assert(sizeof(MessageHeader) == 16);

std::uint64_t checksum(std::span<const std::uint8_t> payload, std::uint64_t chain) noexcept {
  return hashText({reinterpret_cast<const char*>(payload.data()), payload.size()}, chain);
}

template <class Value>
void put(std::string& bytes, const Value& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void putMessage(std::string& bytes, std::span<const std::uint8_t> payload, std::uint64_t& chain) {
  chain = checksum(payload, chain);
  const auto length = static_cast<std::uint32_t>(payload.size());
  put(bytes, MessageHeader{length, ~length, chain});
  bytes.append(reinterpret_cast<const char*>(payload.data()), payload.size());
}

Error failed(std::string_view what, const std::filesystem::path& path) {
  return Error{fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno))};
}

Result<std::string> contentOf(int fd, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return failed("read", path);
  // Only what nobody else could have made is believed.
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0)
    return Error{fmt::format("{} is not a file of this program's own", path.string())};
  if (static_cast<std::uint64_t>(info.st_size) > kMostBytes)
    return Error{fmt::format("{} is too large", path.string())};
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

Result<std::optional<SnapshotFile::Found>> SnapshotFile::read() const {
  const Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ENOENT) return std::optional<Found>();
  if (!fd) return failed("open", path_);
  const auto content = contentOf(fd.get(), path_);
  if (!content) return content.error();
  std::string_view rest = *content;

  const auto unusable = [this](std::string_view why) {
    return Error{fmt::format("{}: {}", path_.string(), why)};
  };
  Header header;
  if (rest.size() < sizeof header) return unusable("it was cut");
  std::memcpy(&header, rest.data(), sizeof header);
  rest.remove_prefix(sizeof header);
  if (header.magic != kMagic) return unusable("it holds no snapshot");
  if (header.layout != kLayout)
    return unusable(fmt::format("its layout is version {}, not {}", header.layout, kLayout));
  if (header.boot != bootId()) return unusable("it is from before the last boot");

  Found found{{}, Time(Time::duration(header.heardMs))};
  std::uint64_t chain = 0;
  while (rest.size() >= sizeof(MessageHeader)) {
    MessageHeader message;
    std::memcpy(&message, rest.data(), sizeof message);
    rest.remove_prefix(sizeof message);
    if (message.complement != ~message.length)
      return unusable("it is damaged: a length does not fit");
    // Its writer was ended before it was whole, and had told nobody that it was accepted.
    if (message.length > rest.size()) break;
    const Payload payload(reinterpret_cast<const std::uint8_t*>(rest.data()), message.length);
    chain = checksum(payload, chain);
    if (message.checksum != chain) return unusable("it is damaged: a checksum does not fit");
    found.messages.emplace_back(payload.begin(), payload.end());
    rest.remove_prefix(message.length);
  }
  return std::optional(std::move(found));
}

Status SnapshotFile::write(const Payloads& messages, Time heard) {
  fd_.reset();
  Header header;
  header.heardMs = heard.time_since_epoch().count();
  header.boot = bootId();
  std::string bytes;
  put(bytes, header);
  chain_ = 0;
  for (const auto& payload : messages) putMessage(bytes, payload, chain_);

  const std::filesystem::path unfinished = path_.string() + ".new";
  // What a crash has left there, or somebody put there, is not written to.
  ::unlink(unfinished.c_str());
  Fd fd(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return failed("create", unfinished);
  if (!writeAll(fd.get(), bytes) || ::rename(unfinished.c_str(), path_.c_str()) != 0) {
    const Error error = failed("write", path_);
    ::unlink(unfinished.c_str());
    return error;
  }
  fd_ = std::move(fd);
  bytes_ = wholeBytes_ = bytes.size();
  return success();
}

Status SnapshotFile::append(std::span<const Payload> messages, Time heard) {
  std::string bytes;
  for (const Payload payload : messages) putMessage(bytes, payload, chain_);
  if (!writeAll(fd_.get(), bytes)) {
    const Error error = failed("write", path_);
    fd_.reset();
    return error;
  }
  bytes_ += bytes.size();
  stamp(heard);
  return success();
}

void SnapshotFile::stamp(Time heard) noexcept {
  const std::int64_t heardMs = heard.time_since_epoch().count();
  // A stamp that is not renewed makes the snapshot look older than it is, and nothing else.
  if (fd_ && ::pwrite(fd_.get(), &heardMs, sizeof heardMs, offsetof(Header, heardMs)) < 0) return;
}

void SnapshotFile::remove() noexcept {
  fd_.reset();
  ::unlink(path_.c_str());
}

}  // namespace weir
