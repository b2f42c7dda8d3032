// SPDX-License-Identifier: GPL-2.0-or-later
//
// The loop of a proxy thread: edge-triggered epoll, timers, work posted by other threads, and work
// that a handler left for the next turn so that others get theirs. All functions but post() and
// stop() belong to the thread that runs it.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fd.h"
#include "proxy/timers.h"
#include "weir/result.h"
#include "weir/types.h"

namespace weir::proxy {

class EventLoop {
 public:
  // Something that is told about its descriptor. It may be destroyed in a turn in which it still
  // has events only through bury().
  class Handler {
   public:
    virtual void onEvents(std::uint32_t events) = 0;

   protected:
    ~Handler() = default;
  };
  // Something that has more to do; once per turn.
  class Worker {
   public:
    virtual void onTurn() = 0;
    bool isQueued() const noexcept { return queued_; }

   protected:
    virtual ~Worker() = default;

   private:
    friend class EventLoop;
    bool queued_ = false;
  };

  static Result<std::unique_ptr<EventLoop>> open();

  // `events` as in epoll_ctl(2). Fails when the kernel is out of memory or watches.
  Status watch(int fd, std::uint32_t events, Handler&);
  // Other events of one that is watched.
  Status rewatch(int fd, std::uint32_t events, Handler&);
  void unwatch(int fd) noexcept;
  void again(Worker&);
  void forget(Worker&);
  // Called when this turn's events have all been told.
  void bury(std::function<void()> destroy) { graves_.push_back(std::move(destroy)); }

  Time now() const noexcept { return now_; }  // as of this turn
  Timers& timers() noexcept { return timers_; }

  // Until stop().
  void run();
  // Any thread.
  void stop();
  void post(std::function<void()> task);

  // When the loop last began a turn, in milliseconds of bootTime(); any thread.
  Time heartbeat() const noexcept {
    return Time(std::chrono::milliseconds(heartbeat_.load(std::memory_order_relaxed)));
  }

 private:
  EventLoop(Fd epoll, Fd wake);
  Status control(int operation, int fd, std::uint32_t events, Handler&);
  void turn();
  void runPosted();

  Fd epoll_;
  Fd wake_;
  Time now_;
  Timers timers_;
  std::vector<Worker*> workers_;
  std::vector<std::function<void()>> graves_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> heartbeat_{0};
};

}  // namespace weir::proxy
