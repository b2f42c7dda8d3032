// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "manager/kernel/kernel_state.h"
#include "weir/types.h"

namespace weir::manager {

// Writes down when a mark was last given to a backend that did not have it (base/given_marks.h). A
// new manager does not know what the one before it gave, so that it begins with all of them.
class MarkRecord {
 public:
  explicit MarkRecord(std::filesystem::path path) : path_(std::move(path)) {}
  // Before anybody is told of the wish.
  void note(const KernelWish&, Time now);

 private:
  using Addresses = std::pair<std::optional<Address>, std::optional<Address>>;
  std::filesystem::path path_;
  bool begun_ = false;
  std::map<Mark, Addresses> given_;  // ever, by this manager
};

}  // namespace weir::manager
