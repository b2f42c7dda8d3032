// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/fd_store.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <algorithm>

namespace weir::fd_store {

namespace {

constexpr std::size_t kMostInAMessage = 200;  // the kernel takes 253

// systemd allows printable ASCII without ':', at most 255 characters.
std::string nameFor(std::string_view name) {
  std::string allowed(name.substr(0, 255));
  for (char& c : allowed)
    if (c <= ' ' || c == ':' || c > '~') c = '_';
  return allowed;
}

}  // namespace

void store(std::string_view name, std::span<const int> descriptors) {
  const std::string message = fmt::format("FDSTORE=1\nFDNAME={}", nameFor(name));
  while (!descriptors.empty()) {
    const auto part = descriptors.first(std::min(descriptors.size(), kMostInAMessage));
    ::sd_pid_notify_with_fds(0, 0, message.c_str(), part.data(),
                             static_cast<unsigned>(part.size()));
    descriptors = descriptors.subspan(part.size());
  }
}

void remove(std::string_view name) {
  ::sd_notify(0, fmt::format("FDSTOREREMOVE=1\nFDNAME={}", nameFor(name)).c_str());
}

std::vector<Fd> takeStored() {
  std::vector<Fd> taken;
  const int count = ::sd_listen_fds(1);
  for (int i = 0; i < count; ++i) taken.emplace_back(SD_LISTEN_FDS_START + i);
  return taken;
}

}  // namespace weir::fd_store
