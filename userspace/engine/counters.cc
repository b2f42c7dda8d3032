// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/counters.h"

#include <sys/mman.h>

#include <new>

namespace weir::engine {

namespace {
constexpr std::size_t kMapBytes = ThreadCounters::kServices * sizeof(ServiceCounters);
}

std::unique_ptr<ServiceCounters[], ThreadCounters::Unmap> ThreadCounters::map() {
  // Anonymous memory is zero, and zero is what a counter starts with.
  static_assert(std::is_trivially_destructible_v<ServiceCounters>);
  void* memory =
      ::mmap(nullptr, kMapBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return std::unique_ptr<ServiceCounters[], Unmap>(static_cast<ServiceCounters*>(memory));
}

void ThreadCounters::Unmap::operator()(ServiceCounters* memory) const noexcept {
  ::munmap(memory, kMapBytes);
}

}  // namespace weir::engine
