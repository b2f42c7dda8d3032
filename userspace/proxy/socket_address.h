// SPDX-License-Identifier: GPL-2.0-or-later
//
// Sockets of the proxy: addresses between weir and the kernel, and the options that every
// connection has.
#pragma once

#include <sys/socket.h>

#include <cstddef>

#include "base/fd.h"
#include "weir/address.h"
#include "weir/proxy_header.h"
#include "weir/proxy_model.h"

namespace weir::proxy {

struct KernelAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};
KernelAddress toKernel(const SocketAddress&) noexcept;
// IPv4-mapped addresses become IPv4 ones.
SocketAddress fromKernel(const sockaddr_storage&) noexcept;

// No delay, urgent bytes in their place among the others, and a peer that is dead without a word is
// noticed as the settings say. The connections that a listening socket accepts have its options.
void setConnectionOptions(const Fd&, const ProxySettings&) noexcept;

// The pending error of a socket, 0 for none; taken from it by the call.
int socketError(const Fd&) noexcept;

// What is to happen as soon as a connection is up. Where something is sent at once, the handshake's
// last acknowledgement goes with it.
enum class WhenUp { listens, speaks };

// A non-blocking connection that is under way, from one of the settings' source addresses of the
// same family (the `turn`-th, going around) if there is any. Urgent bytes stay in their place; the
// other connection options are yet to be set.
struct Connecting {
  Fd fd;
  int error = 0;  // errno; then there is no fd
};
Connecting connectTo(const SocketAddress&, const ProxySettings&, std::size_t turn, WhenUp);

// Is this errno about weir's own host: descriptors, memory? Ports are short towards one address
// only.
bool isShortage(int error) noexcept;

}  // namespace weir::proxy
