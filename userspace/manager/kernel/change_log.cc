// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/change_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace weir::manager {
namespace {

constexpr std::ptrdiff_t kNamesShown = 3;

}  // namespace

std::string_view toString(KernelChange::Kind kind) noexcept {
  switch (kind) {
    case KernelChange::Kind::restored:
      return "restored";
    case KernelChange::Kind::removed:
      return "removed";
    case KernelChange::Kind::followed:
      return "followed";
    case KernelChange::Kind::cleaned:
      return "cleaned";
  }
  return "?";
}

void ChangeLog::note(KernelChange::Kind kind, std::string_view noun, std::string name) {
  noted_[{kind, std::string(noun)}].insert(std::move(name));
}

void ChangeLog::forget(KernelChange::Kind kind) {
  std::erase_if(noted_, [kind](const auto& entry) { return entry.first.first == kind; });
}

std::vector<KernelChange> ChangeLog::take() {
  std::vector<KernelChange> changes;
  for (const auto& [key, names] : std::exchange(noted_, {})) {
    const auto& [kind, noun] = key;
    const std::vector<std::string> shown(
        names.begin(),
        std::next(names.begin(), std::min<std::ptrdiff_t>(std::ssize(names), kNamesShown)));
    changes.push_back({kind, fmt::format("{} {}{} ({}{})", names.size(), noun,
                                         names.size() == 1 ? "" : "s", fmt::join(shown, ", "),
                                         std::ssize(names) > kNamesShown ? ", ..." : "")});
  }
  return changes;
}

}  // namespace weir::manager
