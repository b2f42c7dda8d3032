// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/queue.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <linux/netfilter/nfnetlink_queue.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "engine/kernel_counters.h"
#include "engine/queue_message.h"

namespace weir::engine {

namespace {

// Enough for every header that the core reads: IPv6 with extension headers, or an ICMPv6 error and
// the packet it quotes.
constexpr std::uint32_t kCopyRange = 192;
// A packet message is the copied bytes and less than 180 bytes of attributes.
constexpr std::size_t kBufferBytes = 512;
// Packets that may wait in the kernel. At full rate a queue of this length is emptied in tens of
// milliseconds; a scheduling hiccup of that order loses nothing.
constexpr std::uint32_t kMaxLength = 16384;
// Room in the socket for as many messages, with the kernel's overhead of about 1,300 bytes each.
constexpr int kReceiveBuffer = 32 << 20;

Error failed(std::uint16_t number, std::string_view what, int error) {
  return Error{fmt::format("cannot {} queue {}: {}", what, number, std::strerror(error))};
}

template <class T>
int setOption(const Fd& fd, int level, int option, const T& value) {
  return ::setsockopt(fd.get(), level, option, &value, sizeof value) == 0 ? 0 : errno;
}

}  // namespace

Queue::Queue(std::uint16_t number, Fd fd)
    : number_(number),
      fd_(std::move(fd)),
      buffers_(kBatch * kBufferBytes),
      parts_(kBatch),
      headers_(kBatch) {
  for (std::size_t i = 0; i < kBatch; ++i) {
    parts_[i] = {buffers_.data() + i * kBufferBytes, kBufferBytes};
    headers_[i].msg_hdr.msg_iov = &parts_[i];
    headers_[i].msg_hdr.msg_iovlen = 1;
  }
}

Queue::~Queue() {
  if (!fd_) return;
  std::array<char, MNL_NLMSG_HDRLEN + 64> buffer{};
  nlmsghdr* message = nfq_nlmsg_put(buffer.data(), NFQNL_MSG_CONFIG, number_);
  nfq_nlmsg_cfg_put_cmd(message, AF_UNSPEC, NFQNL_CFG_CMD_UNBIND);
  // Closing the socket unbinds as well; to do it first drops the waiting packets at once.
  ::send(fd_.get(), message, message->nlmsg_len, 0);
}

Result<Queue> Queue::open(std::uint16_t number, std::chrono::milliseconds wait) {
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
  if (!fd) return failed(number, "open a netlink socket for", errno);
  Queue queue(number, std::move(fd));
  if (Status status = queue.configure(wait); !status) return status.error();
  if (Status status = queue.bind(); !status) return status.error();
  return queue;
}

Status Queue::configure(std::chrono::milliseconds wait) {
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failed(number_, "bind the netlink socket of", errno);
  if (const int error = setOption(fd_, SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer))
    return failed(number_, "set the receive buffer (is CAP_NET_ADMIN there?) of", error);
  // A full socket must not look like an error: what was lost is counted by the kernel, and there
  // is nothing to do about it but to read on.
  if (const int error = setOption(fd_, SOL_NETLINK, NETLINK_NO_ENOBUFS, 1))
    return failed(number_, "set NETLINK_NO_ENOBUFS for", error);
  const timeval timeout{static_cast<time_t>(wait.count() / 1000),
                        static_cast<suseconds_t>(wait.count() % 1000 * 1000)};
  if (const int error = setOption(fd_, SOL_SOCKET, SO_RCVTIMEO, timeout))
    return failed(number_, "set the receive timeout of", error);
  return success();
}

Status Queue::bind() {
  std::array<char, MNL_NLMSG_HDRLEN + 256> buffer{};
  const bool takenBefore = readKernelCounters(number_).has_value();
  nlmsghdr* message = nfq_nlmsg_put(buffer.data(), NFQNL_MSG_CONFIG, number_);
  nfq_nlmsg_cfg_put_cmd(message, AF_UNSPEC, NFQNL_CFG_CMD_BIND);
  if (Status status = transact(message); !status) {
    if (takenBefore)
      return Error{fmt::format(
          "queue {} is bound by another program (see /proc/net/netfilter/nfnetlink_queue); stop it "
          "or set another `queueBase`",
          number_)};
    return Error{fmt::format("cannot bind queue {}: {} (CAP_NET_ADMIN is needed)", number_,
                             status.error().message)};
  }
  // Up to here the queue copies nothing and drops what comes. Copying begins with the message that
  // also sets everything else, so that no packet ever meets a half configured queue.
  message = nfq_nlmsg_put(buffer.data(), NFQNL_MSG_CONFIG, number_);
  nfq_nlmsg_cfg_put_qmaxlen(message, kMaxLength);
  mnl_attr_put_u32(message, NFQA_CFG_FLAGS, htonl(NFQA_CFG_F_GSO));
  mnl_attr_put_u32(message, NFQA_CFG_MASK, htonl(NFQA_CFG_F_GSO));
  nfq_nlmsg_cfg_put_params(message, NFQNL_COPY_PACKET, static_cast<int>(kCopyRange));
  if (Status status = transact(message); !status)
    return Error{fmt::format("cannot configure queue {}: {}", number_, status.error().message)};
  return success();
}

Status Queue::transact(void* raw) {
  auto* message = static_cast<nlmsghdr*>(raw);
  message->nlmsg_flags |= NLM_F_ACK;
  message->nlmsg_seq = ++sequence_;
  if (::send(fd_.get(), message, message->nlmsg_len, 0) < 0) return Error{std::strerror(errno)};
  for (;;) {
    const Received received = receive();
    if (received.error == EINTR) continue;
    if (received.error != 0) return Error{std::strerror(received.error)};
    if (received.datagrams == 0) return Error{"the kernel does not answer"};
    std::optional<int> answer;
    for (std::size_t i = 0; i < received.datagrams; ++i) {
      const QueueMessage reply = parseQueueMessage(datagram(i));
      if (reply.kind == MessageKind::packet)
        missedPackets_ = true;
      else if (reply.sequence == sequence_)
        answer = reply.error;
    }
    if (answer) return *answer == 0 ? success() : Status(Error{std::strerror(*answer)});
  }
}

Queue::Received Queue::receive() noexcept {
  const int count = ::recvmmsg(fd_.get(), headers_.data(), static_cast<unsigned>(kBatch),
                               MSG_WAITFORONE, nullptr);
  if (count >= 0) return {static_cast<std::size_t>(count), 0};
  return {0, errno == EAGAIN ? 0 : errno};
}

std::span<const std::uint8_t> Queue::datagram(std::size_t i) const noexcept {
  if ((headers_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) return {};
  return {buffers_.data() + i * kBufferBytes, headers_[i].msg_len};
}

int Queue::send(std::span<const std::uint8_t> messages) noexcept {
  while (::send(fd_.get(), messages.data(), messages.size(), 0) < 0)
    if (errno != EINTR) return errno;
  return 0;
}

}  // namespace weir::engine
