// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/data_plane.h"
#include "weir/snapshot.h"

namespace weir::engine {

// From encoded snapshots to the next world. Messages are applied in their order; of several
// snapshots of one service that arrived together only the newest is built. A full synchronisation
// takes effect as a whole. A message that cannot be decoded is refused and what it would have
// replaced stays, also when it was part of a synchronisation.
class SnapshotIntake {
 public:
  struct Taken {
    std::shared_ptr<const World> world;  // to be published; nullptr: nothing to see yet
    Generation generation;               // newest in effect once `world` is published
    std::vector<std::string> refused;    // why, one line for each refused message
  };
  // `between` is called between messages, each of which may take milliseconds.
  Taken take(
      std::span<const std::span<const std::uint8_t>> payloads,
      const std::function<void()>& between = [] {});

  // The connection is gone: an unfinished synchronisation is forgotten.
  void interrupt();

  // The first node message; later ones with other values do not change it, see nodeDiffers().
  const std::optional<NodeSnapshot>& node() const noexcept { return node_; }
  // Did the last node message wish for other values than those in use?
  bool nodeDiffers() const noexcept { return nodeDiffers_; }
  // True once node, rules and one whole synchronisation have been heard.
  bool isComplete() const noexcept { return node_ && rulesHeard_ && synchronised_; }

 private:
  void apply(const SnapshotMessage&);

  std::shared_ptr<const World> published_ = std::make_shared<const World>();
  std::shared_ptr<const World> working_ = published_;
  Generation generation_;  // newest in working_
  std::optional<NodeSnapshot> node_;
  bool nodeDiffers_ = false;
  bool rulesHeard_ = false;
  bool synchronised_ = false;
  bool synchronising_ = false;
  bool refusedInSync_ = false;
};

}  // namespace weir::engine
