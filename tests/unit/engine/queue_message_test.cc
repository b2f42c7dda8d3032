// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/queue_message.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace weir::engine {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <class T>
void append(Bytes& bytes, const T& value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void attribute(Bytes& bytes, std::uint16_t type, const Bytes& value) {
  append(bytes, nlattr{static_cast<std::uint16_t>(sizeof(nlattr) + value.size()), type});
  bytes.insert(bytes.end(), value.begin(), value.end());
  bytes.resize((bytes.size() + 3) / 4 * 4);
}

Bytes big32(std::uint32_t value) {
  Bytes bytes;
  append(bytes, htonl(value));
  return bytes;
}

void finish(Bytes& bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &length, sizeof length);
}

Bytes header(std::uint16_t type) {
  Bytes bytes;
  append(bytes, nlmsghdr{0, type, 0, 77, 0});
  return bytes;
}

// As the kernel writes them, in its order.
Bytes packetMessage(std::uint32_t id, std::uint32_t mark, std::uint32_t captured,
                    const Bytes& payload) {
  Bytes bytes = header((NFNL_SUBSYS_QUEUE << 8) | NFQNL_MSG_PACKET);
  append(bytes, nfgenmsg{AF_INET, NFNETLINK_V0, htons(8100)});
  Bytes packetHeader = big32(id);
  packetHeader.resize(7);  // protocol and hook
  attribute(bytes, NFQA_PACKET_HDR, packetHeader);
  attribute(bytes, NFQA_IFINDEX_INDEV, big32(3));
  if (mark != 0) attribute(bytes, NFQA_MARK, big32(mark));
  attribute(bytes, NFQA_HWADDR, Bytes(12));
  if (captured != 0) attribute(bytes, NFQA_CAP_LEN, big32(captured));
  attribute(bytes, NFQA_PAYLOAD, payload);
  finish(bytes);
  return bytes;
}

// The bytes at the very end of an allocation of their own, so that sanitizers see each read beyond.
QueueMessage parseCopy(const Bytes& bytes) {
  const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  QueueMessage message = parseQueueMessage({copy.get(), bytes.size()});
  if (message.kind == MessageKind::packet && !message.packet.bytes.empty()) {
    EXPECT_GE(message.packet.bytes.data(), copy.get());
    EXPECT_LE(message.packet.bytes.data() + message.packet.bytes.size(), copy.get() + bytes.size());
    EXPECT_GE(message.packet.trueLength, message.packet.bytes.size());
  }
  return message;
}

TEST(QueueMessage, ReadsAPacket) {
  const Bytes payload{0x45, 1, 2, 3, 4};
  const Bytes bytes = packetMessage(0x01020304, 0xabcd0005, 1500, payload);
  const QueueMessage message = parseQueueMessage(bytes);
  ASSERT_EQ(message.kind, MessageKind::packet);
  EXPECT_EQ(message.packet.id, 0x01020304u);
  EXPECT_EQ(message.packet.mark, 0xabcd0005u);
  EXPECT_EQ(message.packet.trueLength, 1500u);
  EXPECT_EQ(Bytes(message.packet.bytes.begin(), message.packet.bytes.end()), payload);
}

TEST(QueueMessage, WithoutCapturedLengthThePayloadIsWhole) {
  const QueueMessage message = parseCopy(packetMessage(1, 0, 0, Bytes(60)));
  EXPECT_EQ(message.packet.trueLength, 60u);
  EXPECT_EQ(message.packet.mark, 0u);
}

TEST(QueueMessage, ReadsAcksAndErrors) {
  Bytes bytes = header(NLMSG_ERROR);
  append(bytes, -ENOENT);
  append(bytes, nlmsghdr{});
  finish(bytes);
  QueueMessage message = parseCopy(bytes);
  EXPECT_EQ(message.kind, MessageKind::error);
  EXPECT_EQ(message.error, ENOENT);
  EXPECT_EQ(message.sequence, 77u);
  std::memset(bytes.data() + sizeof(nlmsghdr), 0, sizeof(int));
  EXPECT_EQ(parseCopy(bytes).kind, MessageKind::ack);
}

TEST(QueueMessage, OtherMessagesAreToldApart) {
  Bytes bytes = header(NLMSG_NOOP);
  finish(bytes);
  EXPECT_EQ(parseCopy(bytes).kind, MessageKind::other);
}

TEST(QueueMessage, PacketWithoutIdIsMalformed) {
  Bytes bytes = header((NFNL_SUBSYS_QUEUE << 8) | NFQNL_MSG_PACKET);
  append(bytes, nfgenmsg{});
  attribute(bytes, NFQA_PAYLOAD, Bytes(20));
  finish(bytes);
  EXPECT_EQ(parseCopy(bytes).kind, MessageKind::malformed);
}

TEST(QueueMessage, EveryCutIsMalformed) {
  const Bytes whole = packetMessage(1, 2, 3000, Bytes(100));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(
        parseCopy(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))).kind,
        MessageKind::malformed);
}

TEST(QueueMessage, AttributeLengthsThatLieAreMalformed) {
  const Bytes whole = packetMessage(1, 2, 0, Bytes(40));
  const std::size_t firstAttribute = sizeof(nlmsghdr) + sizeof(nfgenmsg);
  for (const unsigned lie : {0u, 1u, 3u, 4u, 7u, 2000u, 0xffffu}) {
    const auto length = static_cast<std::uint16_t>(lie);
    Bytes bytes = whole;
    std::memcpy(bytes.data() + firstAttribute, &length, sizeof length);
    EXPECT_EQ(parseCopy(bytes).kind, MessageKind::malformed) << length;
  }
}

TEST(QueueMessage, HostileBytesAreReadWithinTheirBounds) {
  std::mt19937 random(4);
  const Bytes whole = packetMessage(1, 2, 3000, Bytes(100));
  for (int round = 0; round < 50000; ++round) {
    Bytes bytes = whole;
    bytes.resize(random() % (whole.size() + 1));
    for (auto flips = 1 + random() % 6; flips > 0 && !bytes.empty(); --flips)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    if (random() % 2 == 0 && bytes.size() >= sizeof(nlmsghdr)) finish(bytes);
    parseCopy(bytes);
  }
}

}  // namespace
}  // namespace weir::engine
