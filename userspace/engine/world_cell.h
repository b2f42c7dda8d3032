// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "weir/data_plane.h"

namespace weir::engine {

// Where the control thread puts the world and packet threads find it.
//
// A packet thread compares a version number once per batch and takes the mutex only when it
// changed. An old world is held here until no packet thread holds it any more, so that its memory
// is always given back by the control thread, never on the packet path.
class WorldCell {
 public:
  // Control thread.
  void publish(std::shared_ptr<const World> world);
  void collect();  // frees worlds that nobody holds

  // Any thread.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const World> current() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const World> current_;
  std::vector<std::shared_ptr<const World>> retired_;  // control thread only
  std::atomic<std::uint64_t> version_{0};
};

// A packet thread's view of the cell.
class WorldView {
 public:
  explicit WorldView(const WorldCell& cell) : cell_(&cell) {}
  // The newest world; valid until the next call.
  const World& refresh() {
    // The version is read first: a world published in between is then taken once more, not missed.
    if (const std::uint64_t version = cell_->version(); version != seen_) {
      seen_ = version;
      world_ = cell_->current();
    }
    return *world_;
  }

 private:
  const WorldCell* cell_;
  std::uint64_t seen_ = 0;
  std::shared_ptr<const World> world_ = std::make_shared<const World>();
};

}  // namespace weir::engine
