// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/world_cell.h"

#include <algorithm>

namespace weir::engine {

void WorldCell::publish(std::shared_ptr<const World> world) {
  {
    const std::lock_guard lock(mutex_);
    current_.swap(world);
  }
  version_.fetch_add(1, std::memory_order_release);
  if (world) retired_.push_back(std::move(world));
  collect();
}

void WorldCell::collect() {
  std::erase_if(retired_, [](const auto& world) { return world.use_count() == 1; });
}

std::shared_ptr<const World> WorldCell::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace weir::engine
