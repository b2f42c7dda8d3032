// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/proxy_world.h"

namespace weir::proxy {

// From encoded snapshots to the next world. A full synchronisation takes effect as a whole. A
// message that cannot be decoded is refused, and what it would have replaced stays.
class WorldIntake {
 public:
  struct Taken {
    std::shared_ptr<const ProxyWorld> world;  // nullptr: nothing new to see
    Generation generation;                    // newest in effect
    std::vector<ProxyLoadReport> reports;     // for the balancers, once the world is there
    std::vector<std::string> refused;
  };
  Taken take(std::span<const std::span<const std::uint8_t>> payloads);
  // The connection is gone: an unfinished synchronisation is forgotten.
  void interrupt();
  // True once one whole synchronisation has been heard.
  bool isComplete() const noexcept { return synchronised_; }

 private:
  void apply(SnapshotMessage, Taken&);

  std::shared_ptr<const ProxyWorld> published_ = std::make_shared<const ProxyWorld>();
  std::shared_ptr<const ProxyWorld> working_ = published_;
  Generation generation_;
  bool synchronised_ = false;
  bool synchronising_ = false;
  bool refusedInSync_ = false;
};

}  // namespace weir::proxy
