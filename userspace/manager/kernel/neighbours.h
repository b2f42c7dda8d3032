// SPDX-License-Identifier: GPL-2.0-or-later
//
// The neighbours that weir forwards to, kept resolved: entries that the kernel refreshes by itself
// (NTF_EXT_MANAGED), that its garbage collection spares however full a flood makes the table
// (NTF_EXT_LEARNED), and that carry weir's protocol number, by which they are found again. Entries
// that an operator made permanent, or another program keeps, are used as they are.
//
// What is known about a neighbour outlives its entry: a flushed entry does not change who the
// machine is, and N7 must recognise its packets in that moment too.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "manager/kernel/change_log.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel/neighbour_messages.h"
#include "manager/kernel/netlink.h"
#include "weir/result.h"

namespace weir::manager {

class Neighbours {
 public:
  // A neighbour that weir needs is asked this often whether it is still there, whatever traffic
  // says: of two machines that have swapped their addresses each answers the other's probes, and
  // the kernel takes any TCP acknowledgement as a proof that the link-layer address is right. So a
  // machine that was replaced without a word is found within this time, a comparison's interval,
  // and the kernel's three unanswered questions (3 s).
  static constexpr std::chrono::milliseconds kCheckInterval{5000};

  explicit Neighbours(Netlink& netlink) : netlink_(netlink) {}

  // Protocol numbers of earlier wishes and runs: their entries are ours too, and become so.
  void setFormer(std::set<std::uint8_t> protocols) { former_ = std::move(protocols); }
  // Entries for all of `wanted`; with removeOld no others of ours. Looks at the table again when it
  // has added some, for at most kFirstWait until those of `awaited` are resolved.
  Status converge(const std::set<NeighbourKey>& wanted, const std::set<NeighbourKey>& awaited,
                  std::uint8_t protocol, KernelState::Prune, ChangeLog&);
  // Removes ours; where an ordinary entry had been before, there is one again.
  Status removeAll(std::uint8_t protocol);

  // Of neighbours wanted by the last converge(): did not answer when last asked.
  bool silent(const NeighbourKey& key) const { return known(key) != nullptr && known(key)->silent; }
  // The link-layer address that it last had.
  std::optional<MacAddress> mac(const NeighbourKey&) const;
  // Would a comparison find anything else than the last one did?
  bool isNews(const Neighbour&, bool deleted) const;

  // Messages that kept neighbours fresh, which no comparison asked for.
  std::uint64_t checks() const noexcept { return checks_; }

 private:
  static constexpr std::chrono::milliseconds kFirstWait{50};
  using Table = std::map<NeighbourKey, Neighbour>;
  struct Known {
    std::optional<MacAddress> mac;
    bool silent = false;
    bool awaited = false;  // once is enough
  };

  const Known* known(const NeighbourKey&) const;
  Result<Table> read();
  void learn(const Table&);
  bool isOurs(const Neighbour& neighbour, std::uint8_t protocol) const {
    return neighbour.protocol == protocol || former_.contains(neighbour.protocol);
  }
  bool isOthers(const Neighbour&, std::uint8_t protocol) const;
  bool isKept(const Neighbour&, std::uint8_t protocol) const;
  Status addMissing(const Table&, std::uint8_t protocol, ChangeLog&, bool& added);
  Status removeOthers(const std::set<NeighbourKey>& wanted, const Table&, std::uint8_t protocol,
                      ChangeLog&);
  void check(const Table&, std::uint8_t protocol);

  Netlink& netlink_;
  std::map<NeighbourKey, Known> known_;
  // Wanted by any comparison of this run: not of strangers.
  std::set<NeighbourKey> ours_;
  // Ordinary entries that were there before ours, and their protocol numbers.
  std::map<NeighbourKey, std::uint8_t> before_;
  std::set<std::uint8_t> former_;
  bool compared_ = false;
  bool managedSupported_ = true;  // until an entry shows otherwise
  struct Asked {
    std::chrono::steady_clock::time_point at;
    bool failed = false;  // asked since it has not answered
  };
  std::map<NeighbourKey, Asked> asked_;
  std::uint64_t checks_ = 0;
};

}  // namespace weir::manager
