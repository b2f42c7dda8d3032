// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/processors.h"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace weir::engine {

namespace {

// As many as any kernel is built for.
constexpr unsigned kMostProcessors = 8192;

struct FreeSet {
  void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
};
using ProcessorSet = std::unique_ptr<cpu_set_t, FreeSet>;

}  // namespace

std::vector<unsigned> allowedProcessors() {
  std::vector<unsigned> allowed;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostProcessors);
  const ProcessorSet set(CPU_ALLOC(kMostProcessors));
  if (!set || ::sched_getaffinity(0, bytes, set.get()) != 0) return allowed;
  for (unsigned i = 0; i < kMostProcessors; ++i)
    if (CPU_ISSET_S(i, bytes, set.get())) allowed.push_back(i);
  return allowed;
}

Status pinTo(pthread_t thread, unsigned processor) {
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostProcessors);
  const ProcessorSet set(CPU_ALLOC(kMostProcessors));
  if (!set) return Error{"out of memory"};
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(processor, bytes, set.get());
  if (const int error = ::pthread_setaffinity_np(thread, bytes, set.get()); error != 0)
    return Error{fmt::format("processor {}: {}", processor, std::strerror(error))};
  return success();
}

}  // namespace weir::engine
