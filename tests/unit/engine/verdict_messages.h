// SPDX-License-Identifier: GPL-2.0-or-later
//
// Verdict messages as the kernel reads them, and the queue of the kernel that they act on.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>

#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace weir::test {

struct SentVerdict {
  bool batch = false;
  std::uint16_t queue = 0;
  std::uint32_t id = 0;
  std::uint32_t verdict = 0;
  std::optional<std::uint32_t> mark;
};

template <class T>
T loadAt(std::span<const std::uint8_t> bytes, std::size_t at) {
  T value{};
  EXPECT_LE(at + sizeof value, bytes.size());
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

inline std::vector<SentVerdict> readVerdicts(std::span<const std::uint8_t> bytes) {
  std::vector<SentVerdict> verdicts;
  while (!bytes.empty()) {
    const auto header = loadAt<nlmsghdr>(bytes, 0);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size()) {
      ADD_FAILURE() << "message of length " << header.nlmsg_len << " in " << bytes.size();
      break;
    }
    EXPECT_EQ(header.nlmsg_flags, NLM_F_REQUEST);
    EXPECT_EQ(header.nlmsg_type >> 8, NFNL_SUBSYS_QUEUE);
    const auto message = bytes.first(header.nlmsg_len);
    SentVerdict verdict;
    verdict.batch = (header.nlmsg_type & 0xff) == NFQNL_MSG_VERDICT_BATCH;
    EXPECT_TRUE(verdict.batch || (header.nlmsg_type & 0xff) == NFQNL_MSG_VERDICT);
    verdict.queue = ntohs(loadAt<nfgenmsg>(message, sizeof header).res_id);
    for (std::size_t at = sizeof header + sizeof(nfgenmsg); at < message.size();) {
      const auto attribute = loadAt<nlattr>(message, at);
      if (attribute.nla_type == NFQA_VERDICT_HDR) {
        const auto value = loadAt<nfqnl_msg_verdict_hdr>(message, at + sizeof attribute);
        verdict.verdict = ntohl(value.verdict);
        verdict.id = ntohl(value.id);
      } else if (attribute.nla_type == NFQA_MARK) {
        verdict.mark = ntohl(loadAt<std::uint32_t>(message, at + sizeof attribute));
      } else {
        ADD_FAILURE() << "attribute " << attribute.nla_type;
      }
      if (attribute.nla_len < sizeof attribute) break;
      at += (attribute.nla_len + 3u) & ~3u;
    }
    verdicts.push_back(verdict);
    bytes = bytes.subspan(header.nlmsg_len);
  }
  return verdicts;
}

// What happened to each packet that waited: a verdict answers one, a batch verdict all of no later
// id.
struct Fate {
  std::uint32_t verdict = 0;
  std::optional<std::uint32_t> mark;
  friend bool operator==(const Fate&, const Fate&) = default;
};
inline std::map<std::uint32_t, Fate> carryOut(std::set<std::uint32_t> waiting,
                                              const std::vector<SentVerdict>& verdicts) {
  std::map<std::uint32_t, Fate> fates;
  for (const SentVerdict& v : verdicts) {
    for (auto at = waiting.begin(); at != waiting.end();) {
      const bool hit = v.batch ? static_cast<std::int32_t>(*at - v.id) <= 0 : *at == v.id;
      if (hit) fates[*at] = {v.verdict, v.mark};
      at = hit ? waiting.erase(at) : std::next(at);
    }
  }
  return fates;
}

}  // namespace weir::test
