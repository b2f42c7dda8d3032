// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/proxy.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/boot_time.h"
#include "base/log.h"
#include "base/notify.h"
#include "proxy/stats.h"

namespace weir::proxy {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{100};
// A thread without a turn for so long is stalled, where no watchdog says otherwise.
constexpr milliseconds kStalledAfter{5000};

std::string textOf(const SocketAddress& address) {
  return fmt::format("{} port {}", address.address.toString(), address.port);
}

}  // namespace

Proxy::Proxy(DaemonOptions options, Signals signals, InstanceLock lock, HandoverServer handover,
             ListeningSockets inherited)
    : options_(std::move(options)),
      signals_(std::move(signals)),
      lock_(std::move(lock)),
      handover_(std::move(handover)),
      manager_(options_.runDir, "weir-proxy",
               [this](const std::string& reason) {
                 log::warning(isListening() ? "lost the manager; going on with the last snapshot"
                                            : "lost the manager before the first snapshot",
                              {{"REASON", reason}});
                 intake_.interrupt();
               }),
      inherited_(std::move(inherited)),
      started_(bootTime()) {}

Status Proxy::run() {
  notify::ready(statusLine());
  for (;;) {
    Time now = bootTime();
    if (!drainUntil_) manager_.connectIfDue(now);
    if (now >= nextTick_) tick(now);
    if (drainUntil_ && (openConnections() == 0 || now >= *drainUntil_)) return success();

    std::array<pollfd, 3> wait{{{signals_.fd(), POLLIN, 0},
                                manager_.wanted(),
                                {handover_ ? handover_->fd() : -1, POLLIN, 0}}};
    Time wake = nextTick_;
    if (const auto attempt = manager_.nextAttempt(); attempt && !drainUntil_)
      wake = std::min(wake, *attempt);
    const auto timeout = std::clamp((wake - now).count(), Time::rep{0}, Time::rep{kTick.count()});
    ::poll(wait.data(), wait.size(), static_cast<int>(timeout));

    now = bootTime();
    while (const auto signal = signals_.next()) {
      if (drainUntil_) return success();  // told a second time
      log::info("stopping", {{"SIGNAL", std::to_string(*signal)},
                             {"CONNECTIONS", std::to_string(openConnections())}});
      notify::stopping();
      beginDraining(now);
    }
    if (wait[1].revents != 0) hearManager(now);
    if (wait[2].revents != 0 && handover_) handOver();
  }
}

void Proxy::hearManager(Time now) {
  const auto frames = manager_.receive(now);
  std::vector<std::span<const std::uint8_t>> payloads;
  for (const Frame& frame : frames)
    if (frame.type == FrameType::snapshot) payloads.emplace_back(frame.payload);
  if (!payloads.empty()) {
    auto taken = intake_.take(payloads);
    if (!taken.refused.empty() && !std::exchange(toldRefused_, true))
      log::warning("refused a snapshot; what it would have replaced stays in effect",
                   {{"REASON", taken.refused.front()}});
    if (taken.world) {
      world_ = taken.world;
      // The balancers first: a thread that has the new world finds all it names.
      backends_.update(world_, now);
      published_.publish(taken.world);
      if (intake_.isComplete()) updateListeners();
    }
    for (const ProxyLoadReport& report : taken.reports)
      if (const auto backends = backends_.find(report.service)) backends->report(report, now);
    if (taken.generation > generation_) {
      generation_ = taken.generation;
      manager_.send(textFrame(FrameType::applied, 0,
                              fmt::format(R"({{"generation":{}}})", generation_.value())));
    }
  }
  for (const Frame& frame : frames)
    if (frame.type == FrameType::request) answer(frame);
  manager_.flush(now);
}

void Proxy::answer(const Frame& request) {
  const auto asked = nlohmann::json::parse(request.payload, nullptr, false);
  const std::string operation =
      asked.is_object() ? asked.value("op", std::string()) : std::string();
  std::string text;
  if (operation == "stats") {
    StatsInput input;
    input.now = bootTime();
    input.uptime = std::chrono::duration_cast<std::chrono::seconds>(input.now - started_);
    input.generation = generation_;
    input.draining = drainUntil_.has_value();
    for (const auto& thread : threads_) input.threads.push_back(&thread->counters());
    input.services = backends_.all();
    text = statsJson(input);
  } else {
    text = nlohmann::json{{"error", fmt::format("unknown operation '{}'", operation)}}.dump();
  }
  manager_.send(textFrame(FrameType::response, request.request, text));
}

Status Proxy::startThreads() {
  unsigned wanted = world_->node().settings.threads;
  if (wanted == 0) wanted = std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < wanted; ++i) {
    auto thread = ProxyThread::start(i, published_, backends_);
    if (!thread.ok()) return thread.error();
    threads_.push_back(std::move(*thread));
  }
  log::info("proxying", {{"THREADS", std::to_string(wanted)}});
  return success();
}

void Proxy::updateListeners() {
  if (drainUntil_) return;
  if (threads_.empty())
    if (const Status started = startThreads(); !started.ok()) {
      log::error("cannot start", {{"REASON", started.error().message}});
      threads_.clear();
      return;
    }
  const auto isWanted = [&](const SocketAddress& address) {
    return world_->frontOf(address) != nullptr;
  };
  for (const auto& [address, sockets] : sockets_)
    if (!isWanted(address))
      for (const auto& thread : threads_) thread->stopListening(address);
  std::erase_if(sockets_, [&](const auto& entry) { return !isWanted(entry.first); });
  for (const ProxyWorld::Front& front : world_->fronts()) {
    const SocketAddress address{front.rule->address, front.rule->port};
    if (!sockets_.contains(address)) openListener(address);
  }
  inherited_.clear();
}

// One socket for each thread; what the predecessor had is used first, however many those were:
// each of them has a queue of clients that must be served.
void Proxy::openListener(const SocketAddress& address) {
  std::vector<std::shared_ptr<const Fd>> sockets;
  if (const auto found = inherited_.find(address); found != inherited_.end())
    sockets = std::move(found->second);
  while (sockets.size() < threads_.size()) {
    auto socket = listenAt(address);
    if (!socket.ok()) {
      log::error("cannot listen; trying again with the next change",
                 {{"REASON", socket.error().message}});
      if (sockets.empty()) return;
      break;
    }
    sockets.push_back(std::make_shared<const Fd>(std::move(*socket)));
  }
  for (std::size_t i = 0; i < sockets.size(); ++i)
    threads_[i % threads_.size()]->listen(address, sockets[i]);
  log::info("listening", {{"ADDRESS", textOf(address)}});
  sockets_.emplace(address, std::move(sockets));
}

void Proxy::tick(Time now) {
  nextTick_ = now + kTick;
  published_.collect();
  for (const auto& backends : backends_.all())
    if (auto expired = backends->expired(now); !expired.empty())
      for (const auto& thread : threads_) thread->closeExpired(backends, expired);

  const auto interval = notify::watchdogInterval();
  const auto limit =
      interval ? std::chrono::duration_cast<milliseconds>(*interval) / 2 : kStalledAfter;
  const bool stalled = std::any_of(threads_.begin(), threads_.end(), [&](const auto& thread) {
    return now - thread->heartbeat() > limit;
  });
  if (stalled && !std::exchange(stalled_, true))
    log::error("a thread of the proxy makes no progress");
  if (stalled) return;
  stalled_ = false;
  if (interval) {
    notify::watchdog();
    notify::status(statusLine());
  }
}

void Proxy::handOver() {
  for (const auto& thread : threads_) thread->stopListening();
  if (const Status given = handover_->give(sockets_); !given.ok()) {
    log::error("the listening sockets could not be handed over; going on",
               {{"REASON", given.error().message}});
    for (const auto& [address, sockets] : sockets_)
      for (std::size_t i = 0; i < sockets.size(); ++i)
        threads_[i % threads_.size()]->listen(address, sockets[i]);
    return;
  }
  log::info("a successor has taken over", {{"CONNECTIONS", std::to_string(openConnections())}});
  beginDraining(bootTime());
}

void Proxy::beginDraining(Time now) {
  for (const auto& thread : threads_) thread->stopListening();
  sockets_.clear();
  inherited_.clear();
  handover_.reset();
  lock_.reset();
  drainUntil_ = now + world_->node().settings.shutdownGrace;
}

std::uint64_t Proxy::openConnections() const {
  std::uint64_t open = 0;
  for (const auto& thread : threads_)
    open += thread->counters().open.load(std::memory_order_relaxed);
  return open;
}

std::string Proxy::statusLine() const {
  if (!isListening()) return "waiting for the manager";
  return fmt::format("{} fronts, {} connections, generation {}", sockets_.size(), openConnections(),
                     generation_.value());
}

}  // namespace weir::proxy
