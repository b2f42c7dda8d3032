// SPDX-License-Identifier: GPL-2.0-or-later
//
// Sets what the host's settings lack (manageSysctls) and gives them back. A former value is handed
// to the caller, to be kept, before the setting is changed.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "manager/kernel/kernel_state.h"
#include "manager/kernel/sysctl_needs.h"
#include "weir/result.h"

namespace weir::manager {

// Reads below `root`.
SysctlReader readSysctls(std::filesystem::path root = "/proc/sys");

class SysctlKeeper {
 public:
  explicit SysctlKeeper(std::filesystem::path root = "/proc/sys");

  void remember(KernelState::Sysctls former, std::function<void(const KernelState::Sysctls&)> save);

  // Interfaces may have got other names since the last call, and their settings with them.
  void follow(const Links&);
  // Sets them in this order. Where conf/all is lowered, which every interface's value is combined
  // with, interfaces that no need names get the value that they had through it.
  Status set(const std::vector<SysctlNeed>&, const Links&);
  // Every changed setting gets its former value; those of interfaces that have gone are forgotten.
  Status restore();
  bool changed() const noexcept { return !former_.empty(); }

 private:
  struct Change {
    std::string path;
    std::string value;
  };
  std::vector<Change> changesFor(const std::vector<SysctlNeed>&, const Links&) const;
  void forgetGone();
  Status write(const std::string& path, const std::string& value) const;

  std::filesystem::path root_;
  SysctlReader read_;
  KernelState::Sysctls former_;
  std::map<unsigned, std::string> names_;  // of the links, when last seen
  std::function<void(const KernelState::Sysctls&)> save_;
};

}  // namespace weir::manager
