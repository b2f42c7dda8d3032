// SPDX-License-Identifier: GPL-2.0-or-later
//
// Is the engine away too long? Then the fallback opens (kernel/fallback.h), until it is back.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "weir/types.h"

namespace weir::manager {

// The decision; pure.
//
// The engine is away while one of its queues is not bound: then packets are dropped, whatever the
// manager's connection says. A connection alone that is lost (the manager was restarted) is none:
// an engine goes on with what it knows. It is back when all queues are bound and it has applied
// what is in force; until then, packets in its queues would meet old decisions.
class FallbackSwitch {
 public:
  struct Engine {
    bool bound = false;    // all queues
    bool current = false;  // connected, and has applied the newest generation
  };
  // `opened`: since when it is open already.
  explicit FallbackSwitch(std::optional<Time> opened = std::nullopt) : opened_(opened) {}
  // True: opened or closed just now.
  bool step(Time now, Engine, std::chrono::seconds grace);
  std::optional<Time> openedAt() const noexcept { return opened_; }
  // Since when the engine is away while it is not open yet.
  std::optional<Time> awaySince() const noexcept { return opened_ ? std::nullopt : awaySince_; }

 private:
  std::optional<Time> awaySince_;
  std::optional<Time> opened_;
};

// Of the text of /proc/net/netfilter/nfnetlink_queue: are the queues [base, base + count) bound?
bool queuesBound(std::string_view table, std::uint16_t base, unsigned count);

// Looks several times a second.
class EngineWatch {
 public:
  static constexpr std::chrono::milliseconds kInterval{250};
  struct Settings {
    std::uint16_t queueBase = 0;
    unsigned queues = 1;  // 0: nothing is diverted, so that nobody is missed
    std::chrono::seconds grace{10};
  };
  struct Engine {
    bool connected = false;
    bool current = false;
  };

  EngineWatch(boost::asio::io_context&, std::function<Settings()>, std::function<Engine()>,
              std::function<void()> changed);
  // `open`: the fallback was open when the manager's last run ended.
  void start(bool open);
  void stop() { timer_.cancel(); }

  // Since when the fallback is open; nullopt: it is not.
  std::optional<Time> openedAt() const noexcept { return switch_.openedAt(); }
  // When it will open, should the engine stay away; nullopt: it is open, or the engine is there.
  std::optional<Time> opensAt() const;
  std::uint64_t openings() const noexcept { return openings_; }

 private:
  void look();
  void arm();

  boost::asio::steady_timer timer_;
  std::function<Settings()> settings_;
  std::function<Engine()> engine_;
  std::function<void()> changed_;
  FallbackSwitch switch_;
  std::uint64_t openings_ = 0;
};

}  // namespace weir::manager
