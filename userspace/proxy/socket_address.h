// SPDX-License-Identifier: GPL-2.0-or-later
//
// Sockets of the proxy: addresses between weir and the kernel, and the options that every
// connection has.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <span>

#include "base/fd.h"
#include "weir/address.h"
#include "weir/proxy_header.h"

namespace weir::proxy {

struct KernelAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};
KernelAddress toKernel(const SocketAddress&) noexcept;
// IPv4-mapped addresses become IPv4 ones.
SocketAddress fromKernel(const sockaddr_storage&) noexcept;

// No delay, and a peer that is dead without a word is noticed: probes after a minute of silence,
// given up when nothing has been acknowledged for two.
void setConnectionOptions(const Fd&) noexcept;

// The pending error of a socket, 0 for none; taken from it by the call.
int socketError(const Fd&) noexcept;

// A non-blocking connection that is under way, from one of `sources` of the same family (the
// `turn`-th, going around) if there is any.
struct Connecting {
  Fd fd;
  int error = 0;  // errno; then there is no fd
};
Connecting connectTo(const SocketAddress&, std::span<const Address> sources, std::size_t turn);

// Is this errno about weir's own host: descriptors, memory, ports?
bool isShortage(int error) noexcept;

}  // namespace weir::proxy
