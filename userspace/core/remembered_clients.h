// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "weir/service_balancer.h"

namespace weir {

// Which backend a client had last (X4.1), by the hash of its affinity key. Bounded: the client seen
// longest ago gives way. Two clients whose hashes meet share their memory, which costs nobody
// anything but a choice.
class RememberedClients {
 public:
  explicit RememberedClients(std::size_t most) : most_(most) {}

  std::optional<ProxySlot> find(std::uint64_t client) const {
    const auto found = places_.find(client);
    return found == places_.end() ? std::nullopt : std::optional(found->second->slot);
  }
  void remember(std::uint64_t client, ProxySlot slot) {
    if (const auto found = places_.find(client); found != places_.end()) {
      found->second->slot = slot;
      order_.splice(order_.begin(), order_, found->second);
      return;
    }
    if (places_.size() >= most_) {
      places_.erase(order_.back().client);
      order_.pop_back();
    }
    order_.push_front({client, slot});
    places_.emplace(client, order_.begin());
  }
  void clear() {
    places_.clear();
    order_.clear();
  }
  std::size_t size() const noexcept { return places_.size(); }

 private:
  struct Entry {
    std::uint64_t client;
    ProxySlot slot;
  };
  std::size_t most_;
  std::list<Entry> order_;  // seen last first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> places_;
};

}  // namespace weir
