// SPDX-License-Identifier: GPL-2.0-or-later
//
// Large arrays that begin as zeros without being touched: the system hands out their pages one by
// one as they are written, so that an empty table of a million entries costs next to nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace weir {

// Cache-line aligned. T must be a plain aggregate for which all zeros is the initial state.
template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= 64);

 public:
  ZeroedArray() = default;
  // Throws std::bad_alloc.
  explicit ZeroedArray(std::size_t size) {
    if (size == 0) return;
    if (size > (SIZE_MAX - kLine) / sizeof(T)) throw std::bad_alloc();
    memory_.reset(std::calloc(size * sizeof(T) + kLine, 1));
    if (!memory_) throw std::bad_alloc();
    void* start = memory_.get();
    std::size_t space = size * sizeof(T) + kLine;
    data_ = static_cast<T*>(std::align(kLine, size * sizeof(T), start, space));
  }

  T* data() const noexcept { return data_; }

 private:
  static constexpr std::size_t kLine = 64;
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  T* data_ = nullptr;
};

}  // namespace weir
