// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/handover.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "proxy/socket_address.h"

namespace weir::proxy {

namespace {

constexpr std::size_t kMostInAMessage = 64;  // the kernel takes 253
constexpr std::size_t kMessageBytes = 512;
constexpr timeval kPatience{5, 0};

union Control {
  cmsghdr header;
  std::array<char, CMSG_SPACE(kMostInAMessage * sizeof(int))> bytes;
};

Error systemError(const char* what) {
  return Error{fmt::format("{}: {}", what, std::strerror(errno))};
}

Result<sockaddr_un> addressOf(const std::filesystem::path& runDir) {
  const std::string path = (runDir / "proxy-handover.sock").string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{fmt::format("the socket's path is too long: {}", path)};
  path.copy(address.sun_path, path.size());
  return address;
}

// The sockets of one front; without sockets: the end.
Status sendMessage(const Fd& to, const std::string& text, const std::vector<int>& sockets) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!sockets.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(sockets.size() * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sockets.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), sockets.data(), sockets.size() * sizeof(int));
  }
  if (::sendmsg(to.get(), &message, MSG_NOSIGNAL) < 0)
    return systemError("cannot hand listening sockets over");
  return success();
}

struct Received {
  std::string text;
  std::vector<std::shared_ptr<const Fd>> sockets;
};

Result<Received> receiveMessage(const Fd& from) {
  std::array<char, kMessageBytes> text{};
  iovec part{text.data(), text.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t size = ::recvmsg(from.get(), &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return systemError("cannot take listening sockets over");
  Received received;
  received.text.assign(text.data(), static_cast<std::size_t>(size));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      received.sockets.push_back(std::make_shared<const Fd>(fd));
    }
  }
  return received;
}

}  // namespace

Result<std::optional<ListeningSockets>> takeOver(const std::filesystem::path& runDir) {
  const auto address = addressOf(runDir);
  if (!address.ok()) return address.error();
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return systemError("cannot make a socket");
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return std::optional<ListeningSockets>();
    return systemError("cannot reach the proxy that runs now");
  }
  ListeningSockets taken;
  for (;;) {
    auto received = receiveMessage(fd);
    if (!received.ok()) return received.error();
    if (received->sockets.empty()) return std::optional(std::move(taken));
    const auto front = nlohmann::json::parse(received->text, nullptr, false);
    const auto parsed =
        front.is_object() ? Address::parse(front.value("address", "")) : std::nullopt;
    if (!parsed) return Error{"the proxy that runs now speaks another language; stop it first"};
    auto& sockets = taken[{*parsed, front.value("port", std::uint16_t{0})}];
    std::ranges::move(received->sockets, std::back_inserter(sockets));
  }
}

ListeningSockets fromStore(std::vector<Fd> stored) {
  ListeningSockets sockets;
  for (Fd& fd : stored) {
    int listens = 0;
    socklen_t size = sizeof listens;
    sockaddr_storage at{};
    socklen_t atSize = sizeof at;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &atSize) != 0 ||
        (at.ss_family != AF_INET && at.ss_family != AF_INET6))
      continue;
    sockets[fromKernel(at)].push_back(std::make_shared<const Fd>(std::move(fd)));
  }
  return sockets;
}

std::string storeName(const SocketAddress& front) {
  return fmt::format("{} {}", front.address.toString(), front.port);
}

Result<HandoverServer> HandoverServer::listen(const std::filesystem::path& runDir) {
  const auto address = addressOf(runDir);
  if (!address.ok()) return address.error();
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return systemError("cannot make a socket");
  ::unlink(address->sun_path);
  const mode_t before = ::umask(0077);
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  ::umask(before);
  if (bound != 0 || ::listen(fd.get(), 1) != 0) return systemError("cannot wait for a successor");
  return HandoverServer(std::move(fd));
}

Status HandoverServer::give(const ListeningSockets& sockets) {
  Fd successor(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!successor) return systemError("cannot accept the successor");
  ::setsockopt(successor.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  for (const auto& [front, shared] : sockets) {
    const std::string text =
        nlohmann::json{{"address", front.address.toString()}, {"port", front.port}}.dump();
    for (std::size_t at = 0; at < shared.size(); at += kMostInAMessage) {
      std::vector<int> some;
      for (std::size_t i = at; i < std::min(at + kMostInAMessage, shared.size()); ++i)
        some.push_back(shared[i]->get());
      if (Status sent = sendMessage(successor, text, some); !sent.ok()) return sent;
    }
  }
  return sendMessage(successor, "end", {});
}

}  // namespace weir::proxy
