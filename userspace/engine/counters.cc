// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/counters.h"

#include <sys/mman.h>

#include <new>
#include <type_traits>

namespace weir::engine {

// Mapped memory begins as zeros, which is what counters begin with, and is never destroyed.
static_assert(std::is_trivially_destructible_v<ServiceCounters>);
static_assert(std::is_trivially_destructible_v<BackendCounters>);

ThreadCounters::Mapped::Mapped(std::size_t bytes) noexcept : memory_(nullptr), bytes_(bytes) {
  void* memory =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) memory_ = memory;
}

ThreadCounters::Mapped::~Mapped() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

ThreadCounters::ThreadCounters() : services_(kServices * sizeof(ServiceCounters)) {
  if (services_.get() == nullptr) throw std::bad_alloc();
}

BackendCounters* ThreadCounters::makeBackends(ServiceCounters& service) noexcept {
  Mapped mapped(kBackends * sizeof(BackendCounters));
  auto* const memory = static_cast<BackendCounters*>(mapped.get());
  if (memory == nullptr) return nullptr;
  try {
    backends_.push_back(std::move(mapped));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  service.backends.store(memory, std::memory_order_release);
  return memory;
}

}  // namespace weir::engine
