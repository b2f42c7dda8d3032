// SPDX-License-Identifier: GPL-2.0-or-later
//
// Things of one kind that weir owns in the kernel: what is missing of the wanted ones, what is
// there besides, and what of both somebody else has done.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "manager/kernel/change_log.h"
#include "manager/kernel/kernel_state.h"

namespace weir::manager {

// T is ordered and has toString().
template <class T>
class OwnedThings {
 public:
  // In the singular: "proxy neighbour".
  explicit OwnedThings(std::string noun) : noun_(std::move(noun)) {}

  // `found`: all that the kernel has of ours.
  void compare(const std::set<T>& found, std::set<T> wanted, ChangeLog& log) {
    missing_.clear();
    others_.clear();
    for (const T& thing : wanted) {
      if (found.contains(thing)) continue;
      missing_.push_back(thing);
      if (made_.contains(thing)) log.note(KernelChange::Kind::restored, noun_, thing.toString());
    }
    for (const T& thing : found) {
      if (wanted.contains(thing)) continue;
      others_.push_back(thing);
      if (!made_.contains(thing))
        log.note(compared_ ? KernelChange::Kind::removed : KernelChange::Kind::cleaned, noun_,
                 thing.toString());
    }
    compared_ = true;
    made_ = std::move(wanted);
    made_.insert(others_.begin(), others_.end());
  }
  const std::vector<T>& missing() const noexcept { return missing_; }
  const std::vector<T>& others() const noexcept { return others_; }
  // The others have been removed.
  void removed() {
    for (const T& thing : others_) made_.erase(thing);
    others_.clear();
  }
  const std::set<T>& made() const noexcept { return made_; }
  // One of the missing could not be made.
  void refused(const T& thing) { made_.erase(thing); }
  void forget() {
    made_.clear();
    missing_.clear();
    others_.clear();
  }

 private:
  std::string noun_;
  std::set<T> made_;  // what the last comparison left there
  std::vector<T> missing_;
  std::vector<T> others_;
  bool compared_ = false;
};

}  // namespace weir::manager
