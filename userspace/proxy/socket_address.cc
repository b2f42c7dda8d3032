// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

namespace weir::proxy {

namespace {

constexpr std::chrono::seconds kKeepaliveIdle{60};
constexpr std::chrono::seconds kKeepaliveInterval{10};
constexpr int kKeepaliveProbes = 6;
constexpr std::chrono::milliseconds kUserTimeout{120'000};

template <class T>
void set(const Fd& fd, int level, int option, T value) noexcept {
  ::setsockopt(fd.get(), level, option, &value, sizeof value);
}

}  // namespace

KernelAddress toKernel(const SocketAddress& address) noexcept {
  KernelAddress kernel;
  const auto bytes = address.address.bytes();
  if (address.address.isIpv4()) {
    auto* const in = reinterpret_cast<sockaddr_in*>(&kernel.storage);
    in->sin_family = AF_INET;
    in->sin_port = htons(address.port);
    std::memcpy(&in->sin_addr, bytes.data() + 12, 4);
    kernel.size = sizeof *in;
  } else {
    auto* const in = reinterpret_cast<sockaddr_in6*>(&kernel.storage);
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(address.port);
    std::memcpy(&in->sin6_addr, bytes.data(), 16);
    kernel.size = sizeof *in;
  }
  return kernel;
}

SocketAddress fromKernel(const sockaddr_storage& storage) noexcept {
  if (storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
    return {Address::ipv4(ntohl(in.sin_addr.s_addr)), ntohs(in.sin_port)};
  }
  const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
  const auto word = [&](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) value = value << 8 | in.sin6_addr.s6_addr[at + i];
    return value;
  };
  return {Address::ipv6(word(0), word(8)), ntohs(in.sin6_port)};
}

void setConnectionOptions(const Fd& fd) noexcept {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(kKeepaliveIdle.count()));
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(kKeepaliveInterval.count()));
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<unsigned>(kUserTimeout.count()));
}

int socketError(const Fd& fd) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

Connecting connectTo(const SocketAddress& to, std::span<const Address> sources, std::size_t turn) {
  const KernelAddress address = toKernel(to);
  Fd fd(::socket(address.get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return {{}, errno};
  setConnectionOptions(fd);
  std::vector<Address> fitting;
  std::ranges::copy_if(sources, std::back_inserter(fitting),
                       [&](Address source) { return source.family() == to.address.family(); });
  if (!fitting.empty()) {
    // The port is chosen at connect(), by the whole 4-tuple: 28,000 for each backend, not in all.
    set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    const KernelAddress source = toKernel({fitting[turn % fitting.size()], 0});
    if (::bind(fd.get(), source.get(), source.size) != 0) return {{}, errno};
  }
  if (::connect(fd.get(), address.get(), address.size) != 0 && errno != EINPROGRESS)
    return {{}, errno};
  return {std::move(fd), 0};
}

bool isShortage(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS ||
         error == EADDRNOTAVAIL;
}

}  // namespace weir::proxy
