// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/sysctl_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "base/fd.h"
#include "base/log.h"
#include "manager/kernel/netlink.h"

namespace weir::manager {
namespace {

constexpr std::string_view kIpv6Forwarding = "net/ipv6/conf/all/forwarding";
// Values that a kernel combines with conf/all's: the higher one counts.
constexpr std::array<std::string_view, 2> kCombined{"rp_filter", "send_redirects"};

// conf/all before conf/default before the interfaces': a write to `all` changes the others.
int rank(const std::string& path) {
  if (path.find("/conf/all/") != path.npos) return 0;
  return path.find("/conf/default/") != path.npos ? 1 : 2;
}

// Where the name of the interface stands in "net/ipv4/conf/eth0/rp_filter"; it has no slashes.
std::pair<std::size_t, std::size_t> interfaceIn(const std::string& path) {
  const std::size_t end = path.rfind('/');
  return {path.rfind('/', end - 1) + 1, end};
}

}  // namespace

SysctlReader readSysctls(std::filesystem::path root) {
  return [root = std::move(root)](const std::string& path) -> std::optional<std::string> {
    std::ifstream file(root / path);
    std::string value;
    if (!std::getline(file, value)) return std::nullopt;
    return value;
  };
}

SysctlKeeper::SysctlKeeper(std::filesystem::path root) : root_(root), read_(readSysctls(root)) {}

void SysctlKeeper::remember(KernelState::Sysctls former,
                            std::function<void(const KernelState::Sysctls&)> save) {
  former_ = std::move(former);
  save_ = std::move(save);
}

Status SysctlKeeper::write(const std::string& path, const std::string& value) const {
  const Fd fd(::open((root_ / path).c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  const std::string line = value + "\n";
  if (fd && ::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()))
    return success();
  return Error{fmt::format("cannot set {} to {}: {}", path, value, std::strerror(errno))};
}

std::vector<SysctlKeeper::Change> SysctlKeeper::changesFor(const std::vector<SysctlNeed>& needs,
                                                           const Links& links) const {
  std::set<std::string> named;
  for (const SysctlNeed& need : needs) named.insert(need.path);
  std::vector<Change> changes;
  for (const SysctlNeed& need : needs) {
    const auto combined = std::ranges::find_if(kCombined, [&](std::string_view name) {
      return need.path == interfaceSysctl("ipv4", "all", name);
    });
    if (combined != kCombined.end()) {
      std::vector<std::string> others{"default"};
      for (const auto& [index, link] : links)
        if (!link.loopback) others.push_back(link.name);
      for (const std::string& name : others) {
        const std::string path = interfaceSysctl("ipv4", name, *combined);
        const auto own = read_(path);
        const bool lower = own && std::atoi(own->c_str()) < std::atoi(need.current.c_str());
        // One that already has the value that weir needs got it for that reason.
        if (lower && !named.contains(path) && !former_.contains(path))
          changes.push_back({path, need.current});
      }
    }
    changes.push_back({need.path, need.wanted});
  }
  return changes;
}

void SysctlKeeper::follow(const Links& links) {
  std::map<std::string, std::string> renamed;
  std::map<unsigned, std::string> names;
  for (const auto& [index, link] : links) {
    names.emplace(index, link.name);
    const auto before = names_.find(index);
    if (before != names_.end() && before->second != link.name)
      renamed.emplace(before->second, link.name);
  }
  names_ = std::move(names);
  if (renamed.empty()) return;
  KernelState::Sysctls moved;
  for (const auto& [path, value] : former_) {
    const auto [begin, end] = interfaceIn(path);
    const auto name = renamed.find(path.substr(begin, end - begin));
    moved.emplace(
        name == renamed.end() ? path : path.substr(0, begin) + name->second + path.substr(end),
        value);
  }
  if (moved == former_) return;
  former_ = std::move(moved);
  if (save_) save_(former_);
}

void SysctlKeeper::forgetGone() {
  const auto gone = std::erase_if(
      former_, [&](const auto& setting) { return !read_(setting.first).has_value(); });
  if (gone != 0 && save_) save_(former_);
}

Status SysctlKeeper::set(const std::vector<SysctlNeed>& needs, const Links& links) {
  forgetGone();
  if (needs.empty()) return success();
  const std::vector<Change> changes = changesFor(needs, links);
  KernelState::Sysctls former = former_;
  const auto keep = [&](const std::string& path) {
    if (const auto value = read_(path)) former.try_emplace(path, *value);
  };
  for (const Change& change : changes) {
    keep(change.path);
    if (change.path != kIpv6Forwarding) continue;
    keep(interfaceSysctl("ipv6", "default", "forwarding"));
    for (const auto& [index, link] : links) keep(interfaceSysctl("ipv6", link.name, "forwarding"));
  }
  if (former != former_) {
    former_ = std::move(former);
    if (save_) save_(former_);
  }
  Status status = success();
  for (const Change& change : changes) {
    const Status written = write(change.path, change.value);
    keepFirst(status, written);
    if (written)
      log::info("changed a setting of the host, until weir stops",
                {{"SYSCTL", change.path},
                 {"VALUE", change.value},
                 {"FORMER", former_.contains(change.path) ? former_.at(change.path) : ""}});
  }
  return status;
}

Status SysctlKeeper::restore() {
  if (former_.empty()) return success();
  forgetGone();
  std::vector<std::pair<std::string, std::string>> settings(former_.begin(), former_.end());
  std::ranges::stable_sort(settings, {}, [](const auto& s) { return rank(s.first); });
  Status status = success();
  for (const auto& [path, value] : settings) {
    if (read_(path) == value) continue;
    keepFirst(status, write(path, value));
  }
  former_.clear();
  if (save_) save_(former_);
  return status;
}

}  // namespace weir::manager
