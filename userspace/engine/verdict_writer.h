// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::engine {

struct Verdict {
  bool accept = false;
  bool setsMark = false;  // false: the packet keeps the mark it has
  std::uint32_t mark = 0;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// Writes the verdicts of one batch of packets as netlink messages for one send: a run of packets
// with the same verdict becomes one NFQNL_MSG_VERDICT_BATCH, which answers every packet up to the
// last id of the run; a packet alone becomes one NFQNL_MSG_VERDICT. Packets must be added in the
// order of their ids, and every packet of an earlier id must have been answered, or be answered by
// dropUpTo() first: else a run would answer it too.
class VerdictWriter {
 public:
  // maxPackets: the most add() and dropUpTo() calls between two clear() calls.
  VerdictWriter(std::uint16_t queue, std::size_t maxPackets);

  void add(std::uint32_t id, const Verdict& verdict) noexcept {
    if (run_ != 0 && verdict == verdict_) {
      last_ = id;
      ++run_;
      return;
    }
    closeRun();
    verdict_ = verdict;
    last_ = id;
    run_ = 1;
  }
  // Drops every packet that waits with this id or an earlier one.
  void dropUpTo(std::uint32_t id) noexcept;
  // Ends the last run; the messages written since clear(). Empty when nothing was added.
  std::span<const std::uint8_t> finish() noexcept;
  void clear() noexcept;

 private:
  void closeRun() noexcept;
  void write(std::uint16_t type, std::uint32_t id, const Verdict&) noexcept;

  std::vector<std::uint8_t> buffer_;
  std::size_t used_ = 0;
  std::uint16_t queue_;
  std::size_t run_ = 0;  // packets of the open run
  std::uint32_t last_ = 0;
  Verdict verdict_;
};

}  // namespace weir::engine
