// SPDX-License-Identifier: GPL-2.0-or-later
#include "zeroed_array.h"

#include <sys/mman.h>

namespace weir {

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

std::size_t roundUp(std::size_t number, std::size_t multiple) noexcept {
  return (number + multiple - 1) / multiple * multiple;
}

}  // namespace

ZeroedMemory::ZeroedMemory(std::size_t bytes) {
  if (bytes == 0) return;
  const bool isLarge = bytes >= kLargePage;
  if (bytes > SIZE_MAX - kLargePage) throw std::bad_alloc();
  const std::size_t size = bytes + (isLarge ? kLargePage : 0);
  void* const mapping =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = data_ = mapping;
  mapped_ = size;
  if (!isLarge) return;
  data_ = reinterpret_cast<void*>(roundUp(reinterpret_cast<std::uintptr_t>(mapping), kLargePage));
  // What it answers does not matter: small pages hold the same.
  ::madvise(data_, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
}

ZeroedMemory::~ZeroedMemory() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_);
}

}  // namespace weir
