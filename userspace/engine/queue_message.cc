// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/queue_message.h"

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>

#include <cstring>

namespace weir::engine {

namespace {

constexpr std::uint16_t kPacketType =
    static_cast<std::uint16_t>((NFNL_SUBSYS_QUEUE << 8) | NFQNL_MSG_PACKET);
constexpr std::size_t kAttributeAlignment = 4;

template <class T>
T load(const std::uint8_t* p) noexcept {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// `attributes` is what follows the nfgenmsg header; those that a queue has no use for are passed
// over.
bool readPacket(std::span<const std::uint8_t> attributes, QueuedPacket& packet) noexcept {
  bool hasId = false;
  std::size_t captured = 0;
  const std::uint8_t* p = attributes.data();
  std::size_t left = attributes.size();
  while (left >= sizeof(nlattr)) {
    const auto header = load<nlattr>(p);
    if (header.nla_len < sizeof(nlattr) || header.nla_len > left) return false;
    const std::uint8_t* value = p + sizeof(nlattr);
    const std::size_t length = header.nla_len - sizeof(nlattr);
    switch (header.nla_type & NLA_TYPE_MASK) {
      case NFQA_PACKET_HDR:
        if (length < sizeof(nfqnl_msg_packet_hdr)) return false;
        packet.id = ntohl(load<std::uint32_t>(value));
        hasId = true;
        break;
      case NFQA_MARK:
        if (length < sizeof(std::uint32_t)) return false;
        packet.mark = ntohl(load<std::uint32_t>(value));
        break;
      case NFQA_CAP_LEN:
        if (length < sizeof(std::uint32_t)) return false;
        captured = ntohl(load<std::uint32_t>(value));
        break;
      case NFQA_PAYLOAD:
        packet.bytes = {value, length};
        break;
    }
    const std::size_t step =
        (header.nla_len + kAttributeAlignment - 1) & ~(kAttributeAlignment - 1);
    if (step >= left) break;
    p += step;
    left -= step;
  }
  // The kernel gives the captured length only where it cut the packet.
  packet.trueLength = captured > packet.bytes.size() ? captured : packet.bytes.size();
  return hasId;
}

}  // namespace

QueueMessage parseQueueMessage(std::span<const std::uint8_t> datagram) noexcept {
  QueueMessage message;
  if (datagram.size() < sizeof(nlmsghdr)) return message;
  const auto header = load<nlmsghdr>(datagram.data());
  if (header.nlmsg_len < sizeof(nlmsghdr) || header.nlmsg_len > datagram.size()) return message;
  const auto body = datagram.subspan(sizeof(nlmsghdr), header.nlmsg_len - sizeof(nlmsghdr));

  if (header.nlmsg_type == kPacketType) [[likely]] {
    if (body.size() >= sizeof(nfgenmsg) &&
        readPacket(body.subspan(sizeof(nfgenmsg)), message.packet))
      message.kind = MessageKind::packet;
    return message;
  }
  if (header.nlmsg_type == NLMSG_ERROR) {
    if (body.size() < sizeof(int)) return message;
    message.error = -load<int>(body.data());
    message.sequence = header.nlmsg_seq;
    message.kind = message.error == 0 ? MessageKind::ack : MessageKind::error;
    return message;
  }
  message.kind = MessageKind::other;
  return message;
}

}  // namespace weir::engine
