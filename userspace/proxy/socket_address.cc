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

void setConnectionOptions(const Fd& fd, const ProxySettings& settings) noexcept {
  const auto seconds = [](std::chrono::seconds time) { return static_cast<int>(time.count()); };
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_OOBINLINE, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, settings.keepaliveIdle.count() != 0 ? 1 : 0);
  if (settings.keepaliveIdle.count() != 0) {
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds(settings.keepaliveIdle));
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds(settings.keepaliveInterval));
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, static_cast<int>(settings.keepaliveProbes));
  }
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
      static_cast<unsigned>(std::chrono::milliseconds(settings.userTimeout).count()));
}

int socketError(const Fd& fd) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

Connecting connectTo(const SocketAddress& to, const ProxySettings& settings, std::size_t turn,
                     WhenUp whenUp) {
  const KernelAddress address = toKernel(to);
  Fd fd(::socket(address.get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return {{}, errno};
  set(fd, SOL_SOCKET, SO_OOBINLINE, 1);
  if (whenUp == WhenUp::speaks) set(fd, IPPROTO_TCP, TCP_QUICKACK, 0);
  std::vector<Address> fitting;
  std::ranges::copy_if(settings.sourceAddresses, std::back_inserter(fitting),
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
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

}  // namespace weir::proxy
