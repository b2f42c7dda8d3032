// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace weir {

// Where a control thread puts an immutable value and the threads that do the work find it.
//
// A reader compares a version number and takes the mutex only when it changed. An old value is
// held here until no reader holds it any more, so that its memory is always given back by the
// control thread, never on the path of packets or connections.
template <class T>
class Published {
 public:
  // Control thread.
  void publish(std::shared_ptr<const T> value) {
    {
      const std::lock_guard lock(mutex_);
      current_.swap(value);
    }
    version_.fetch_add(1, std::memory_order_release);
    if (value) retired_.push_back(std::move(value));
    collect();
  }
  // Frees values that nobody holds.
  void collect() {
    std::erase_if(retired_, [](const auto& value) { return value.use_count() == 1; });
  }

  // Any thread.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const T> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> current_;
  std::vector<std::shared_ptr<const T>> retired_;  // control thread only
  std::atomic<std::uint64_t> version_{0};
};

// A reader's view; before the first publish() a default T.
template <class T>
class PublishedView {
 public:
  explicit PublishedView(const Published<T>& cell) : cell_(&cell) {}
  // The newest value; valid until the next call.
  const T& refresh() { return *share(); }
  // The same, to be held for longer.
  const std::shared_ptr<const T>& share() {
    // The version is read first: a value published in between is then taken once more, not missed.
    if (const std::uint64_t version = cell_->version(); version != seen_) {
      seen_ = version;
      value_ = cell_->current();
    }
    return value_;
  }

 private:
  const Published<T>* cell_;
  std::uint64_t seen_ = 0;
  std::shared_ptr<const T> value_ = std::make_shared<const T>();
};

}  // namespace weir
