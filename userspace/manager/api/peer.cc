// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace weir::manager {

namespace {

// The supplementary groups (since Linux 4.13).
std::optional<std::vector<gid_t>> supplementaryGroups(int socket) {
  std::vector<gid_t> groups(64);
  while (true) {
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) {
      groups.resize(size / sizeof(gid_t));
      return groups;
    }
    // Too many for the room; the kernel says how many there are.
    if (errno != ERANGE || size <= groups.size() * sizeof(gid_t)) return std::nullopt;
    groups.resize(size / sizeof(gid_t));
  }
}

}  // namespace

std::optional<Peer> peerOf(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  auto groups = supplementaryGroups(socket);
  if (!groups) return std::nullopt;
  groups->push_back(credentials.gid);
  return Peer{credentials.uid, *std::move(groups)};
}

Access accessOf(const Peer& peer, const SocketGroups& groups) {
  const auto isIn = [&](const std::optional<gid_t>& group) {
    return group && std::find(peer.groups.begin(), peer.groups.end(), *group) != peer.groups.end();
  };
  if (peer.user == 0 || peer.user == ::geteuid() || isIn(groups.owner)) return Access::full;
  return isIn(groups.viewers) ? Access::view : Access::none;
}

}  // namespace weir::manager
