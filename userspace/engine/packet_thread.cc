// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/packet_thread.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "engine/packet_path.h"
#include "engine/processors.h"

namespace weir::engine {

namespace {

// Consecutive failures of receive() after which the queue is bound anew.
constexpr unsigned kFailuresBeforeReopen = 8;
constexpr std::chrono::milliseconds kFailurePause{20};
constexpr unsigned kSendAttempts = 3;

// Sorts the datagrams of one receive() and answers them.
class Turn {
 public:
  Turn(Queue& queue, PacketPath& path, ThreadCounters& counters)
      : queue_(queue),
        path_(path),
        counters_(counters),
        verdicts_(queue.number(), Queue::kBatch + 1),
        unanswered_(queue.missedPackets()) {}

  void take(std::size_t datagrams, const World& world, Time now) noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < datagrams; ++i) {
      const QueueMessage message = parseQueueMessage(queue_.datagram(i));
      switch (message.kind) {
        case MessageKind::packet:
          packets_[count++] = message.packet;
          break;
        case MessageKind::error:
          counters_.verdictErrors.add(1);
          break;
        case MessageKind::malformed:
          // Its packet waits in the kernel under an id nobody knows. A run of verdicts must not
          // answer it, so what came before is answered now and what comes next begins anew.
          counters_.unreadable.add(1);
          answer(std::exchange(count, 0), world, now);
          unanswered_ = true;
          break;
        case MessageKind::ack:
        case MessageKind::other:
          break;
      }
    }
    answer(count, world, now);
    counters_.batches.add(1);
  }

 private:
  void answer(std::size_t count, const World& world, Time now) noexcept {
    if (count == 0) return;
    verdicts_.clear();
    if (unanswered_) verdicts_.dropUpTo(packets_[0].id - 1);
    path_.decide(world, std::span(packets_).first(count), now, verdicts_);
    unanswered_ = !sendAll();
  }

  bool sendAll() noexcept {
    const auto messages = verdicts_.finish();
    for (unsigned attempt = 0; attempt < kSendAttempts; ++attempt) {
      if (queue_.send(messages) == 0) return true;
      counters_.sendErrors.add(1);
    }
    return false;
  }

  Queue& queue_;
  PacketPath& path_;
  ThreadCounters& counters_;
  VerdictWriter verdicts_;
  std::array<QueuedPacket, Queue::kBatch> packets_;
  bool unanswered_;  // packets may wait whose verdict was never sent
};

// Marks the time from looking for the newest world to the last verdict of a turn.
class TurnMark {
 public:
  explicit TurnMark(std::atomic<std::uint64_t>& turn) noexcept : turn_(turn) {
    turn_.fetch_add(1, std::memory_order_relaxed);
    // Either the control thread sees the mark, or this thread sees the world.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  ~TurnMark() { turn_.fetch_add(1, std::memory_order_release); }
  TurnMark(const TurnMark&) = delete;
  TurnMark& operator=(const TurnMark&) = delete;

 private:
  std::atomic<std::uint64_t>& turn_;
};

}  // namespace

PacketThread::PacketThread(Queue queue, const WorldCell& world, TrackingTable& table,
                           std::uint32_t fwmarkMask, std::optional<unsigned> processor)
    : number_(queue.number()),
      world_(&world),
      table_(&table),
      mask_(fwmarkMask),
      counters_(std::make_unique<ThreadCounters>()),
      queue_(std::move(queue)) {
  counters_->heartbeatMs.store(bootTime().time_since_epoch().count(), std::memory_order_relaxed);
  thread_ = std::thread([this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), fmt::format("queue-{}", number_).c_str());
  if (!processor) return;
  if (const Status pinned = pinTo(thread_.native_handle(), *processor); !pinned)
    log::warning("a queue's thread is not kept on one processor",
                 {{"QUEUE", std::to_string(number_)}, {"REASON", pinned.error().message}});
}

PacketThread::~PacketThread() {
  requestStop();
  thread_.join();
}

std::uint64_t PacketThread::turn() const noexcept {
  // The reader has published a world before; the other side of the fence in TurnMark.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return turn_.load(std::memory_order_acquire);
}

Time PacketThread::heartbeat() const noexcept {
  return Time(std::chrono::milliseconds(counters_->heartbeatMs.load(std::memory_order_relaxed)));
}

void PacketThread::run() {
  serve(queue_);
  while (!stop_.load(std::memory_order_relaxed)) {
    reopen(queue_);
    serve(queue_);
  }
}

// Until told to stop, or until the socket has failed too often.
void PacketThread::serve(Queue& queue) {
  const auto path = std::make_unique<PacketPath>(*table_, mask_, *counters_);
  Turn turn(queue, *path, *counters_);
  WorldView view(*world_);
  unsigned failures = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    const Queue::Received received = queue.receive();
    const Time now = bootTime();
    counters_->heartbeatMs.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    const TurnMark mark(turn_);
    const World& world = view.refresh();
    if (received.error == 0) {
      failures = 0;
      if (received.datagrams != 0) turn.take(received.datagrams, world, now);
      continue;
    }
    if (received.error == EINTR) continue;
    counters_->receiveErrors.add(1);
    // ENOBUFS says that messages were lost, not that the socket is broken: read on at once.
    if (received.error == ENOBUFS) continue;
    if (failures == 0)
      log::warning("reading a queue fails",
                   {{"QUEUE", std::to_string(number_)}, {"REASON", std::strerror(received.error)}});
    if (++failures >= kFailuresBeforeReopen) return;
    std::this_thread::sleep_for(kFailurePause);
  }
}

// Until it succeeds or the thread is told to stop. The heartbeat rests meanwhile: a queue that
// cannot be bound for long is a matter for the watchdog.
void PacketThread::reopen(Queue& queue) {
  // The old socket has the queue until it is closed.
  { const Queue old = std::move(queue); }
  bool told = false;
  while (!stop_.load(std::memory_order_relaxed)) {
    auto fresh = Queue::open(number_, kIdleWait);
    if (fresh) {
      queue = std::move(fresh).value();
      log::info("bound a queue anew", {{"QUEUE", std::to_string(number_)}});
      return;
    }
    if (!std::exchange(told, true))
      log::error("cannot bind a queue anew; trying again until it works",
                 {{"QUEUE", std::to_string(number_)}, {"REASON", fresh.error().message}});
    std::this_thread::sleep_for(kIdleWait);
  }
}

}  // namespace weir::engine
