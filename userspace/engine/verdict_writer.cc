// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/verdict_writer.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>

#include <cstring>

namespace weir::engine {

namespace {

// A verdict message, and the mark that may follow it. Every part is a multiple of four bytes long,
// so the structures have no padding and are what netlink expects.
struct VerdictMessage {
  nlmsghdr header;
  nfgenmsg generic;
  nlattr verdictAttribute;
  nfqnl_msg_verdict_hdr verdict;
};
struct MarkAttribute {
  nlattr attribute;
  std::uint32_t mark;
};
static_assert(sizeof(VerdictMessage) == 32 && sizeof(MarkAttribute) == 8);

constexpr std::size_t kMaxMessage = sizeof(VerdictMessage) + sizeof(MarkAttribute);

}  // namespace

VerdictWriter::VerdictWriter(std::uint16_t queue, std::size_t maxPackets)
    : buffer_(maxPackets * kMaxMessage), queue_(queue) {}

void VerdictWriter::write(std::uint16_t type, std::uint32_t id, const Verdict& verdict) noexcept {
  const std::size_t length =
      sizeof(VerdictMessage) + (verdict.setsMark ? sizeof(MarkAttribute) : 0);
  VerdictMessage message{};
  message.header.nlmsg_len = static_cast<std::uint32_t>(length);
  message.header.nlmsg_type = static_cast<std::uint16_t>((NFNL_SUBSYS_QUEUE << 8) | type);
  message.header.nlmsg_flags = NLM_F_REQUEST;
  message.generic.version = NFNETLINK_V0;
  message.generic.res_id = htons(queue_);
  message.verdictAttribute.nla_len = sizeof(nlattr) + sizeof(nfqnl_msg_verdict_hdr);
  message.verdictAttribute.nla_type = NFQA_VERDICT_HDR;
  message.verdict.verdict = htonl(verdict.accept ? NF_ACCEPT : NF_DROP);
  message.verdict.id = htonl(id);
  std::memcpy(buffer_.data() + used_, &message, sizeof message);
  if (verdict.setsMark) {
    const MarkAttribute mark{{sizeof(MarkAttribute), NFQA_MARK}, htonl(verdict.mark)};
    std::memcpy(buffer_.data() + used_ + sizeof message, &mark, sizeof mark);
  }
  used_ += length;
}

void VerdictWriter::closeRun() noexcept {
  if (run_ == 0) return;
  write(run_ == 1 ? NFQNL_MSG_VERDICT : NFQNL_MSG_VERDICT_BATCH, last_, verdict_);
  run_ = 0;
}

void VerdictWriter::dropUpTo(std::uint32_t id) noexcept {
  closeRun();
  write(NFQNL_MSG_VERDICT_BATCH, id, Verdict{});
}

std::span<const std::uint8_t> VerdictWriter::finish() noexcept {
  closeRun();
  return {buffer_.data(), used_};
}

void VerdictWriter::clear() noexcept {
  used_ = 0;
  run_ = 0;
}

}  // namespace weir::engine
