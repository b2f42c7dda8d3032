// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/engine.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>

#include "base/given_marks.h"
#include "base/log.h"
#include "base/notify.h"
#include "engine/kernel_counters.h"
#include "engine/operations.h"
#include "engine/processors.h"

namespace weir::engine {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{100};
// How much of a tick may go into collecting the table's garbage.
constexpr milliseconds kCollecting{20};
// A packet thread without a turn for so long is stalled, where no watchdog says otherwise.
constexpr milliseconds kStalledAfter{5000};

std::uint32_t generationOf(Generation g) { return g.value(); }

}  // namespace

Engine::Engine(DaemonOptions options, Signals signals)
    : options_(std::move(options)),
      signals_(std::move(signals)),
      started_(bootTime()),
      manager_(options_.runDir, "weir-engine",
               [this](const std::string& reason) { onManagerLost(reason); }),
      kept_(options_.runDir / "engine.snapshots", options_.runDir / kGivenMarksName, started_),
      world_(std::make_shared<const World>()) {}

Engine::~Engine() { endPackets(); }

bool Engine::mayStart() const noexcept {
  return intake_.isComplete() && intake_.node() && intake_.hasHeard<RulesSnapshot>();
}

Status Engine::run() {
  notify::ready(statusLine());
  for (;;) {
    Time now = bootTime();
    manager_.connectIfDue(now);
    if (!isRunning() && kept_.isDue(KeptSnapshots::managerOf(manager_.isConnected(), intake_), now))
      if (Status status = restore(now); !status) return status;
    if (now >= nextTick_) tick(now);

    std::array<pollfd, 2> wait{{{signals_.fd(), POLLIN, 0}, manager_.wanted()}};
    const Time wake = std::min(nextTick_, manager_.nextAttempt().value_or(nextTick_));
    const auto timeout = std::clamp((wake - now).count(), Time::rep{0}, Time::rep{kTick.count()});
    ::poll(wait.data(), wait.size(), static_cast<int>(timeout));

    if (const auto signal = signals_.next()) {
      log::info("stopping", {{"SIGNAL", std::to_string(*signal)}});
      notify::stopping();
      if (*signal != SIGUSR1) kept_.remove();
      return success();
    }
    if (wait[1].revents != 0)
      if (Status status = hearManager(bootTime()); !status) return status;
  }
}

void Engine::onManagerLost(const std::string& reason) {
  log::warning(isRunning() ? "lost the manager; going on with the last snapshot"
                           : "lost the manager before the first snapshot was complete",
               {{"REASON", reason}, {"GENERATION", std::to_string(generationOf(generation_))}});
  intake_.interrupt();
  toldRefused_ = false;
}

Status Engine::hearManager(Time now) {
  const auto frames = manager_.receive(now);
  if (Status status = applySnapshots(frames); !status) return status;
  for (const Frame& frame : frames)
    if (frame.type == FrameType::request) answer(frame);
  manager_.flush(now);
  return success();
}

Status Engine::applySnapshots(const std::vector<Frame>& frames) {
  std::vector<std::span<const std::uint8_t>> payloads;
  for (const Frame& frame : frames)
    if (frame.type == FrameType::snapshot) payloads.emplace_back(frame.payload);
  if (payloads.empty()) return success();

  const bool differed = intake_.nodeDiffers();
  // Many large services take seconds to build; the rest of the thread's work must not wait.
  const auto taken = intake_.take(payloads, [this] {
    if (const Time now = bootTime(); now >= nextTick_) tick(now);
  });
  if (!taken.refused.empty()) {
    refused_ += taken.refused.size();
    if (!std::exchange(toldRefused_, true))
      log::warning("refused a snapshot; what it would have replaced stays in effect",
                   {{"REASON", taken.refused.front()}});
  }
  if (intake_.nodeDiffers() && !differed && !kept_.standsIn())
    log::warning(
        "queues, mark mask, table size or flow cache were changed; restart weir-engine to use "
        "them");
  applied_ += payloads.size() - taken.refused.size();
  if (taken.world) {
    // What the manager was not there to say at the start, it says now.
    if (kept_.standsIn() && intake_.nodeDiffers()) {
      log::info("the manager wants other queues or another table than before; beginning anew");
      endPackets();
      intake_.adoptNode();
    }
    if (Status status = use(taken); !status) return status;
  }
  kept_.keep(intake_, taken, *world_, bootTime());
  if (!taken.world) return success();
  manager_.send(appliedFrame(generation_, kept_.notKept()));
  log::debug("snapshots in effect", {{"GENERATION", std::to_string(generationOf(generation_))}});
  return success();
}

Status Engine::restore(Time now) {
  const auto taken = kept_.restore(intake_, now);
  if (!taken || !mayStart()) return success();
  return use(*taken);
}

Status Engine::use(const Intake::Taken& taken) {
  world_ = taken.world;
  generation_ = taken.generation;
  if (kernelCache_) kernelCache_->beforePublishing(world_, bootTime());
  cell_.publish(taken.world);
  if (kernelCache_) kernelCache_->afterPublishing();
  if (!isRunning() && mayStart())
    if (Status status = startPackets(); !status) return status;
  ledger_.observe(*world_, threadCounters());
  return success();
}

void Engine::answer(const Frame& request) {
  const OperationContext context{world_.get(), table_ ? &*table_ : nullptr, bootTime(),
                                 [this] { return stats(); },
                                 [this](const std::vector<TrackingTable::Visited>& flows) {
                                   if (kernelCache_) kernelCache_->forget(flows);
                                 }};
  manager_.send(
      textFrame(FrameType::response, request.request, answerRequest(request.payload, context)));
}

Status Engine::startPackets() {
  const NodeSnapshot& node = *intake_.node();
  TrackingTableOptions wanted;
  wanted.ipv4Entries = node.ipv4Entries;
  wanted.ipv6Entries = node.ipv6Entries;
  auto file = TableFile::open(options_.runDir / "engine.table", wanted);
  if (!file) return file.error();
  file_.emplace(std::move(*file));
  if (!file_->foundOther().empty())
    log::warning("the tracking table of an earlier run cannot be used; started an empty one",
                 {{"REASON", file_->foundOther()}});
  table_.emplace(file_->options(), file_->slots(), bootTime());
  kernelCache_ =
      std::make_unique<KernelCache>(node, *table_, [this] { return threadsHavePassed(); });
  if (Status status = kernelCache_->start(world_, bootTime()); !status) return status;

  // All queues before the first thread: either the engine serves them all, or none.
  std::vector<Queue> queues;
  for (unsigned i = 0; i < node.queues; ++i) {
    auto queue =
        Queue::open(static_cast<std::uint16_t>(node.queueBase + i), PacketThread::kIdleWait);
    if (!queue) return queue.error();
    queues.push_back(std::move(*queue));
  }
  const auto processors = node.queues > 1 ? allowedProcessors() : std::vector<unsigned>();
  for (Queue& queue : queues) {
    std::optional<unsigned> processor;
    if (!processors.empty()) processor = processors[threads_.size() % processors.size()];
    threads_.push_back(std::make_unique<PacketThread>(std::move(queue), cell_, *table_,
                                                      node.fwmarkMask, processor));
  }
  log::info("forwarding", {{"QUEUES", std::to_string(node.queues)},
                           {"FIRST_QUEUE", std::to_string(node.queueBase)},
                           {"TABLE_CAPACITY", std::to_string(table_->capacity())},
                           {"RECOVERED", std::to_string(table_->recovered())},
                           {"GENERATION", std::to_string(generationOf(generation_))}});
  return success();
}

void Engine::endPackets() {
  // All at once, so that the waits of many threads do not add up.
  for (const auto& thread : threads_) thread->requestStop();
  threads_.clear();
  kernelCache_.reset();
  table_.reset();
  file_.reset();
  ledger_ = ServiceLedger();  // what new threads count begins at 0
}

void Engine::tick(Time now) {
  nextTick_ = now + kTick;
  if (kept_.tick(manager_.isConnected(), intake_, *world_, now))
    manager_.send(appliedFrame(generation_, kept_.notKept()));
  cell_.collect();
  if (table_) {
    const Time until = now + kCollecting;
    while (table_->advance(now) && bootTime() < until) {
    }
  }
  if (kernelCache_) kernelCache_->tick(now);
  watch(now);
}

void Engine::watch(Time now) {
  const auto interval = notify::watchdogInterval();
  const auto limit =
      interval ? std::chrono::duration_cast<milliseconds>(*interval) / 2 : kStalledAfter;
  const auto stalled = std::find_if(threads_.begin(), threads_.end(), [&](const auto& thread) {
    return now - thread->heartbeat() > limit;
  });
  if (stalled == threads_.end()) {
    stalled_ = false;
    if (interval) {
      notify::watchdog();
      notify::status(statusLine());
    }
    return;
  }
  if (!std::exchange(stalled_, true))
    log::error("a packet thread makes no progress",
               {{"QUEUE", std::to_string((*stalled)->queueNumber())}});
}

// Does every packet thread work with the world that was published last? Waits for turns that have
// begun before, which take less than a millisecond.
bool Engine::threadsHavePassed() const {
  constexpr std::chrono::microseconds kPause{50};
  constexpr int kMostPauses = 400;
  int pauses = 0;
  for (const auto& thread : threads_)
    for (const std::uint64_t begun = thread->turn(); begun % 2 != 0 && thread->turn() == begun;) {
      if (++pauses > kMostPauses) return false;
      std::this_thread::sleep_for(kPause);
    }
  return true;
}

std::string Engine::stats() {
  StatsInput input;
  input.uptime = std::chrono::duration_cast<std::chrono::seconds>(bootTime() - started_);
  input.generation = generation_;
  input.snapshotsApplied = applied_;
  input.snapshotsRefused = refused_;
  input.snapshotAge = kept_.age(bootTime());
  for (const auto& thread : threads_)
    input.threads.emplace_back(thread->queueNumber(), &thread->counters());
  input.kernel = readKernelCounters();
  input.table = table_ ? &*table_ : nullptr;
  input.world = isRunning() ? world_.get() : nullptr;
  input.ledger = &ledger_;
  input.cache = kernelCache_.get();
  return statsJson(input);
}

std::string Engine::statusLine() const {
  if (!isRunning()) return "waiting for the manager";
  return fmt::format("{} queues, {} of {} entries, generation {}{}", threads_.size(),
                     table_->size(), table_->capacity(), generationOf(generation_),
                     kept_.ageInWords(bootTime()));
}

ServiceLedger::Threads Engine::threadCounters() const {
  ServiceLedger::Threads threads;
  for (const auto& thread : threads_) threads.push_back(&thread->counters());
  return threads;
}

}  // namespace weir::engine
