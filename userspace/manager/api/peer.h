// SPDX-License-Identifier: GPL-2.0-or-later
//
// Who is at the other end of a Unix socket, and what they may do.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "manager/api/http.h"
#include "manager/local_socket.h"

namespace weir::manager {

struct Peer {
  uid_t user = 0;
  std::vector<gid_t> groups;  // all of them
};

// As the kernel noted them when the peer connected: neither a process id that is used again nor a
// change of groups since then can forge them. nullopt: the kernel does not tell.
std::optional<Peer> peerOf(int socket);

// root, the user that this program runs as, and the members of `owner` may do everything; members
// of `viewers` may look.
Access accessOf(const Peer& peer, const SocketGroups& groups);

}  // namespace weir::manager
