// SPDX-License-Identifier: GPL-2.0-or-later
//
// Large arrays that begin as zeros without being touched: the system hands out their pages as they
// are written, so that an empty table of a million entries costs next to nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace weir {

// Zeros, page-aligned. The parts of 2 MiB that lie wholly within are asked for in large pages: a
// table is read at random, and without them a packet waits for the translation of each address
// longer than for what is there. A system that has none to give keeps its small ones.
class ZeroedMemory {
 public:
  ZeroedMemory() = default;
  // Throws std::bad_alloc.
  explicit ZeroedMemory(std::size_t bytes);
  ~ZeroedMemory();
  ZeroedMemory(ZeroedMemory&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)),
        mapped_(std::exchange(other.mapped_, 0)),
        data_(std::exchange(other.data_, nullptr)) {}
  ZeroedMemory& operator=(ZeroedMemory&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    std::swap(data_, other.data_);
    return *this;
  }

  void* data() const noexcept { return data_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  void* data_ = nullptr;
};

// T must be a plain aggregate for which all zeros is the initial state.
template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= 64);

 public:
  ZeroedArray() = default;
  // Throws std::bad_alloc.
  explicit ZeroedArray(std::size_t size) : memory_(bytesOf(size)) {}

  T* data() const noexcept { return static_cast<T*>(memory_.data()); }

 private:
  static std::size_t bytesOf(std::size_t size) {
    if (size > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    return size * sizeof(T);
  }

  ZeroedMemory memory_;
};

}  // namespace weir
