// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the kernel says on a queue's socket, read by hand: the hot path looks at four attributes of
// a packet message and steps over the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::engine {

// A packet that waits in the kernel for its verdict.
struct QueuedPacket {
  std::uint32_t id = 0;
  std::uint32_t mark = 0;      // the packet's own, 0: none
  std::size_t trueLength = 0;  // of the packet; at least bytes.size()
  std::span<const std::uint8_t>
      bytes;  // its beginning, from the IP header; points into the message
};

enum class MessageKind : std::uint8_t {
  packet,
  ack,        // a configuration message was carried out
  error,      // the kernel refused one of ours; `error` is its errno
  other,      // a message that a queue has no use for
  malformed,  // not a netlink message, or one whose lengths contradict each other
};

struct QueueMessage {
  MessageKind kind = MessageKind::malformed;
  int error = 0;
  std::uint32_t sequence = 0;  // of the message that an ack or error answers
  QueuedPacket packet;
};

// Reads the one message of a datagram. Every length is checked against the datagram; no byte
// outside it is read.
QueueMessage parseQueueMessage(std::span<const std::uint8_t> datagram) noexcept;

}  // namespace weir::engine
