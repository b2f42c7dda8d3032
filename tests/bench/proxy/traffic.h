// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the traffic of `make bench-proxy` says, shared by its client and its server. The first byte
// of a connection tells the server what to do:
//   'S'    a request of kRequest bytes: answers kAnswer bytes and ends
//   'K'    the same, but the client ends first
//   0x16   a ClientHello in one record: as 'S'
//   'E'    every byte is sent back, also this one
//   'B'    a size in eight bytes follows: answers so many bytes and ends
#pragma once

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/fd.h"

namespace weir::bench {

inline constexpr std::size_t kRequest = 200;
inline constexpr std::size_t kAnswer = 600;
inline constexpr std::size_t kEcho = 64;
inline constexpr std::size_t kBulkRequest = 9;
inline constexpr std::size_t kChunk = 256 * 1024;

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

inline void raiseDescriptorLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// The least loop: edge-triggered, `data` given back with the events.
class Poller {
 public:
  Poller() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!fd_) fail("epoll");
  }
  void add(const Fd& fd, std::uint32_t events, std::uint64_t data) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    if (::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) fail("epoll_ctl");
  }
  template <class Take>
  void turn(int timeoutMs, Take take) {
    epoll_event events[512];
    const int count = ::epoll_wait(fd_.get(), events, 512, timeoutMs);
    for (int i = 0; i < count; ++i) take(events[i].data.u64, events[i].events);
  }

 private:
  Fd fd_;
};

}  // namespace weir::bench
