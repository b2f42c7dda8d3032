// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/netlink_events.h"

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace weir::manager {
namespace {

// A burst (a full routing table that comes or goes) should fit; what does not is noticed.
constexpr int kSocketBuffer = 8 << 20;
constexpr std::size_t kReceiveBuffer = 64 << 10;
// Then others have their turn; what waits keeps the descriptor readable.
constexpr int kReadsAtOnce = 2000;

}  // namespace

NetlinkEvents::NetlinkEvents(Fd fd) : fd_(std::move(fd)), buffer_(kReceiveBuffer) {}

Result<NetlinkEvents> NetlinkEvents::open(int protocol, std::initializer_list<unsigned> groups) {
  const auto failure = [] {
    return Error{fmt::format("netlink: cannot listen to changes: {}", std::strerror(errno))};
  };
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  if (!fd) return failure();
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBuffer, sizeof kSocketBuffer);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failure();
  for (const unsigned group : groups)
    if (::setsockopt(fd.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0)
      return failure();
  return NetlinkEvents(std::move(fd));
}

bool NetlinkEvents::take(const std::function<void(const nlmsghdr&)>& visit) {
  bool complete = true;
  for (int reads = 0; reads < kReadsAtOnce; ++reads) {
    const ssize_t length = ::recv(fd_.get(), buffer_.data(), buffer_.size(), MSG_TRUNC);
    if (length < 0) {
      if (errno == EINTR) continue;
      // ENOBUFS: the kernel had no room for some, and says so once.
      if (errno != ENOBUFS) return complete;
      complete = false;
      continue;
    }
    if (static_cast<std::size_t>(length) > buffer_.size()) {
      complete = false;
      continue;
    }
    int rest = static_cast<int>(length);
    const auto* message = reinterpret_cast<const nlmsghdr*>(buffer_.data());
    for (; mnl_nlmsg_ok(message, rest); message = mnl_nlmsg_next(message, &rest)) visit(*message);
  }
  return complete;
}

}  // namespace weir::manager
