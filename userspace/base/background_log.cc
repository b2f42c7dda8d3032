// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/background_log.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"

namespace weir::log {

namespace {

struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::function<void()>> waiting;
  bool open = false;     // there is a writer, which takes more
  bool written = false;  // the writer has ended and has left nothing
  std::atomic<std::uint64_t> lost{0};
};

// Never destroyed: a writer that nobody takes lines from outlives the end of main().
Queue& queue() {
  static Queue* const instance = new Queue;
  return *instance;
}

// What the writer itself says does not wait in the queue behind the lines that it tells of.
thread_local bool isWriter = false;

void tellLost(std::uint64_t& told) {
  const std::uint64_t lost = queue().lost.load(std::memory_order_relaxed);
  if (lost == told) return;
  warning("lines of the log were lost: they are not taken as fast as they come",
          {{"LINES", std::to_string(lost - std::exchange(told, lost))}});
}

void writeLines() {
  isWriter = true;
  Queue& q = queue();
  std::uint64_t told = q.lost.load(std::memory_order_relaxed);
  std::vector<std::function<void()>> lines;
  std::unique_lock lock(q.mutex);
  for (;;) {
    q.changed.wait(lock, [&] { return !q.waiting.empty() || !q.open; });
    if (q.waiting.empty()) break;
    lines.swap(q.waiting);
    lock.unlock();
    for (const auto& line : lines) line();
    lines.clear();
    tellLost(told);
    lock.lock();
  }
  q.written = true;
  q.changed.notify_all();
}

}  // namespace

BackgroundWriter::BackgroundWriter() {
  Queue& q = queue();
  const std::lock_guard lock(q.mutex);
  try {
    std::thread(writeLines).detach();
    q.open = true;
    q.written = false;
  } catch (const std::system_error&) {
    // Without a thread lines are written by who logs.
  }
}

BackgroundWriter::~BackgroundWriter() {
  Queue& q = queue();
  std::unique_lock lock(q.mutex);
  if (!std::exchange(q.open, false)) return;
  q.changed.notify_all();
  q.changed.wait_for(lock, kPatience, [&] { return q.written; });
}

std::uint64_t BackgroundWriter::lost() noexcept {
  return queue().lost.load(std::memory_order_relaxed);
}

void deliver(std::function<void()> writeLine) {
  Queue& q = queue();
  if (!isWriter) {
    const std::lock_guard lock(q.mutex);
    if (q.open) {
      if (q.waiting.size() >= BackgroundWriter::kMostWaiting) {
        q.lost.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      q.waiting.push_back(std::move(writeLine));
      if (q.waiting.size() == 1) q.changed.notify_one();
      return;
    }
  }
  writeLine();
}

}  // namespace weir::log
