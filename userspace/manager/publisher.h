// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "manager/kernel/kernel_state.h"
#include "weir/control_plane.h"
#include "weir/snapshot.h"

namespace weir::manager {

// Carries decisions out, in the order in which no packet is ever lost: first the kernel gets what
// the new snapshots rely on, then data planes get the snapshots, and only when all of them have
// applied these (or after kConfirmationLimit, for a data plane that hangs or is gone) the kernel
// loses what only the old ones relied on.
class Publisher {
 public:
  static constexpr std::chrono::milliseconds kConfirmationLimit{1000};

  struct DataPlanes {
    std::function<void(std::span<const SnapshotMessage>)> broadcast;
    std::function<bool(Generation)> confirmed;  // by all of them
  };
  struct Counters {
    std::uint64_t kernelErrors = 0;
    std::uint64_t reconciliations = 0;
    std::uint64_t repairs = 0;  // reconciliations that had something to repair
  };
  // What others did to weir's kernel state, and what was done about it.
  struct KernelEvent {
    Time at;
    KernelChange change;
  };
  static constexpr std::size_t kEventsKept = 20;
  // A refusal that lasts is logged when it begins and then this often, not with every try.
  static constexpr std::chrono::minutes kRefusalRepeat{10};

  Publisher(boost::asio::io_context&, KernelState&, DataPlanes);

  // `wish` as it is after `changes`.
  void publish(KernelWish wish, std::vector<SnapshotMessage> changes);
  // What concerns data planes alone: the wish stays as it is.
  void publish(std::vector<SnapshotMessage> changes);
  // Data planes made progress: confirmed() may answer otherwise than before.
  void progressed();
  // Repairs what others changed in the kernel, and tries again what it refused.
  void reconcile();
  // Nothing of weir's is left in the kernel afterwards.
  Status withdraw();

  // The highest generation sent to data planes.
  Generation generation() const noexcept { return generation_; }
  // When something was last sent to data planes; nullopt: never.
  std::optional<Time> publishedAt() const noexcept { return publishedAt_; }
  const Counters& counters() const noexcept { return counters_; }
  // The last kEventsKept, oldest first.
  const std::deque<KernelEvent>& kernelEvents() const noexcept { return events_; }
  // What is not as it should be in the kernel now; empty: nothing.
  std::vector<std::string> kernelWarnings() const;

 private:
  void applyToKernel(const KernelWish&, KernelState::Prune);
  void prune();
  // True when somebody else's doing was among what the kernel state met.
  bool noteChanges();
  void noteWarnings();
  void noteRefusal(const Status&);

  static constexpr std::size_t kRefusalsKept = 16;

  KernelState& kernel_;
  DataPlanes dataPlanes_;
  boost::asio::steady_timer confirmation_;
  KernelWish wish_;
  std::optional<KernelWish> inKernel_;  // nullopt: not known to be anything
  bool pruneDue_ = false;               // the kernel may hold more than the wish
  Generation generation_;
  std::optional<Time> publishedAt_;
  Counters counters_;
  std::deque<KernelEvent> events_;
  std::vector<std::string> warnings_;  // those logged
  std::string refusal_;                // what the kernel refused last; empty: nothing
  // Refusals since the last success, and when each was logged.
  std::map<std::string, std::chrono::steady_clock::time_point> refusals_;
};

}  // namespace weir::manager
