// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/engine_watch.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "manager/clock.h"

namespace weir::manager {

namespace {

constexpr char kQueueTable[] = "/proc/net/netfilter/nfnetlink_queue";

}  // namespace

bool FallbackSwitch::step(Time now, Engine engine, std::chrono::seconds grace) {
  if (opened_) {
    if (!engine.bound || !engine.current) return false;
    opened_.reset();
    awaySince_.reset();
    return true;
  }
  if (engine.bound)
    awaySince_.reset();
  else if (!awaySince_)
    awaySince_ = now;
  if (!awaySince_ || now - *awaySince_ < grace) return false;
  opened_ = now;
  return true;
}

bool queuesBound(std::string_view table, std::uint16_t base, unsigned count) {
  std::set<unsigned> bound;
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (unsigned number = 0; words >> number) bound.insert(number);
  }
  for (unsigned queue = base; queue < base + count; ++queue)
    if (!bound.contains(queue)) return false;
  return true;
}

EngineWatch::EngineWatch(boost::asio::io_context& io, std::function<Settings()> settings,
                         std::function<Engine()> engine, std::function<void()> changed)
    : timer_(io),
      settings_(std::move(settings)),
      engine_(std::move(engine)),
      changed_(std::move(changed)) {}

void EngineWatch::start(bool open) {
  if (open) switch_ = FallbackSwitch(now());
  arm();
}

std::optional<Time> EngineWatch::opensAt() const {
  const auto away = switch_.awaySince();
  if (!away) return std::nullopt;
  return *away + settings_().grace;
}

void EngineWatch::arm() {
  timer_.expires_after(kInterval);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    look();
    arm();
  });
}

void EngineWatch::look() {
  const Settings settings = settings_();
  const Engine engine = engine_();
  std::ifstream file(kQueueTable);
  const std::string table{std::istreambuf_iterator<char>(file), {}};
  // Where the table cannot be read, the connection has to tell.
  const bool bound =
      file.is_open() ? queuesBound(table, settings.queueBase, settings.queues) : engine.connected;
  if (!switch_.step(now(), {bound, engine.current}, settings.grace)) return;
  if (switch_.openedAt()) ++openings_;
  changed_();
}

}  // namespace weir::manager
