// SPDX-License-Identifier: GPL-2.0-or-later
//
// Gathers what a comparison with the kernel met, thing by thing, and says it in few words.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "manager/kernel/kernel_state.h"

namespace weir::manager {

class ChangeLog {
 public:
  // `noun` in the singular ("IPv4 routing rule"), `name` of the one thing ("10000"), which counts
  // once however often it is noted.
  void note(KernelChange::Kind, std::string_view noun, std::string name);
  void forget(KernelChange::Kind);
  // One line for each kind and noun, with the names of the first few; empty afterwards.
  std::vector<KernelChange> take();

 private:
  std::map<std::pair<KernelChange::Kind, std::string>, std::set<std::string>> noted_;
};

}  // namespace weir::manager
