// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/event_loop.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/boot_time.h"

namespace weir::proxy {

namespace {

constexpr int kEventsPerTurn = 256;
// The loop wakes at least this often for its heartbeat.
constexpr std::chrono::milliseconds kHeartbeat{500};

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::open() {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  Fd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!epoll || !wake)
    return Error{fmt::format("cannot make an event loop: {}", std::strerror(errno))};
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;  // the loop's own
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0)
    return Error{fmt::format("cannot watch a descriptor: {}", std::strerror(errno))};
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll), std::move(wake)));
}

EventLoop::EventLoop(Fd epoll, Fd wake)
    : epoll_(std::move(epoll)), wake_(std::move(wake)), now_(bootTime()), timers_(now_) {
  heartbeat_.store(now_.time_since_epoch().count(), std::memory_order_relaxed);
}

Status EventLoop::watch(int fd, std::uint32_t events, Handler& handler) {
  return control(EPOLL_CTL_ADD, fd, events, handler);
}

Status EventLoop::rewatch(int fd, std::uint32_t events, Handler& handler) {
  return control(EPOLL_CTL_MOD, fd, events, handler);
}

Status EventLoop::control(int operation, int fd, std::uint32_t events, Handler& handler) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &handler;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0)
    return Error{fmt::format("cannot watch a descriptor: {}", std::strerror(errno))};
  return success();
}

void EventLoop::unwatch(int fd) noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void EventLoop::again(Worker& worker) {
  if (std::exchange(worker.queued_, true)) return;
  workers_.push_back(&worker);
}

void EventLoop::forget(Worker& worker) {
  if (std::exchange(worker.queued_, false)) std::erase(workers_, &worker);
}

void EventLoop::run() {
  while (!stop_.load(std::memory_order_relaxed)) turn();
  turn();  // what was posted before the stop
}

void EventLoop::turn() {
  std::array<epoll_event, kEventsPerTurn> events;
  const int timeout =
      workers_.empty() ? static_cast<int>(timers_.untilNext(now_, kHeartbeat).count()) : 0;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerTurn, timeout);
  now_ = bootTime();
  heartbeat_.store(now_.time_since_epoch().count(), std::memory_order_relaxed);
  bool posted = false;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.ptr == nullptr)
      posted = true;
    else
      static_cast<Handler*>(event.data.ptr)->onEvents(event.events);
  }
  if (posted) runPosted();
  // Only those that were waiting before this turn's work, so that every turn ends.
  for (Worker* worker : std::vector<Worker*>(std::exchange(workers_, {})))
    if (std::exchange(worker->queued_, false)) worker->onTurn();
  timers_.advance(now_);
  // A grave may hold what digs another one.
  while (!graves_.empty())
    for (const auto& destroy : std::exchange(graves_, {})) destroy();
}

void EventLoop::runPosted() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &ignored, sizeof ignored);
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (const auto& task : tasks) task();
}

void EventLoop::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void EventLoop::stop() {
  stop_.store(true, std::memory_order_relaxed);
  post([] {});
}

}  // namespace weir::proxy
