// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a data plane was told last, in a file on tmpfs, so that its successor can go on when there
// is no manager to ask. A header and then the messages as they came, each with a checksum that is
// chained to the one before; a change costs as much as the messages that it consists of. Begun
// anew, under another name that becomes the file's when it is whole, with every full
// synchronisation and when what was appended outgrows the rest.
//
//   header   magic, layout version, boot, when the manager was last heard (boot time, ms)
//   message  u32 length, u32 its complement, u64 checksum, encode() of a SnapshotMessage
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "weir/result.h"
#include "weir/types.h"

namespace weir {

class SnapshotFile {
 public:
  using Payload = std::span<const std::uint8_t>;
  using Payloads = std::vector<std::vector<std::uint8_t>>;
  // Nothing is opened yet.
  explicit SnapshotFile(std::filesystem::path path) : path_(std::move(path)) {}

  // What an earlier process has left; nullopt: nothing. The last message is left out if its writer
  // was ended in the midst of it. The error says why the file cannot be used.
  struct Found {
    Payloads messages;
    Time heard;  // when the manager was last there
  };
  Result<std::optional<Found>> read() const;

  // The whole, in a new file of mode 0600. After an error what was there is still there.
  Status write(const Payloads&, Time heard);
  // Further messages, after a write() by this object. After an error only write() may follow.
  Status append(std::span<const Payload>, Time heard);
  // Has this object written the file, and is it worth going on with?
  bool takesMore() const noexcept { return fd_ && bytes_ <= 2 * wholeBytes_ + kSlack; }
  // The manager is there.
  void stamp(Time heard) noexcept;
  // The file belongs to a successor from now on.
  void leave() noexcept { fd_.reset(); }
  // Nobody is to go on with it.
  void remove() noexcept;

 private:
  static constexpr std::uint64_t kSlack = 1u << 20;

  std::filesystem::path path_;
  Fd fd_;
  std::uint64_t chain_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t wholeBytes_ = 0;  // when write() was done
};

}  // namespace weir
