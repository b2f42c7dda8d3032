// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/fd.h"
#include "weir/result.h"
#include "weir/tracking_table.h"

namespace weir::engine {

// The memory behind the tracking table: a file on tmpfs that outlives the process. Its first page
// is a header (magic, layout, sizes, seed, boot); the slots follow. The file is locked while it is
// open; two processes never share it.
class TableFile {
 public:
  // Opens `path` for a table of these sizes and maps it. `options.seed` is not looked at: the
  // file's own is used, a new random one if the file is new. A file of another layout, size or
  // boot, or one that is no table at all, is replaced by an empty one; foundOther() then says why.
  // Errors: the file is in use, or memory for it is short.
  static Result<TableFile> open(const std::filesystem::path& path, TrackingTableOptions options);

  TableFile(TableFile&& other) noexcept;
  TableFile& operator=(TableFile&&) = delete;
  ~TableFile();

  // With the seed that belongs to the slots.
  const TrackingTableOptions& options() const noexcept { return options_; }
  std::span<std::byte> slots() const noexcept;
  // Why an existing file was not used; empty: it was, or there was none.
  const std::string& foundOther() const noexcept { return foundOther_; }

 private:
  TableFile(Fd fd, std::span<std::byte> mapping, TrackingTableOptions options, std::string other)
      : fd_(std::move(fd)), mapping_(mapping), options_(options), foundOther_(std::move(other)) {}

  Fd fd_;
  std::span<std::byte> mapping_;  // header page and slots
  TrackingTableOptions options_;
  std::string foundOther_;
};

}  // namespace weir::engine
