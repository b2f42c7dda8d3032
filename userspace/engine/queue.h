// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/fd.h"
#include "weir/result.h"

namespace weir::engine {

// A bound NFQUEUE queue: its socket, set up once, and the two system calls of the packet path.
// Used by one thread. The destructor unbinds; the kernel then drops what still waits.
class Queue {
 public:
  static constexpr std::size_t kBatch = 64;  // packets per receive()

  // Binds queue `number`. `wait` is how long receive() waits for a first packet.
  // The error tells a queue that another program has from a lack of privilege.
  static Result<Queue> open(std::uint16_t number, std::chrono::milliseconds wait);

  Queue(Queue&&) noexcept = default;
  Queue& operator=(Queue&&) noexcept = default;
  ~Queue();

  std::uint16_t number() const noexcept { return number_; }

  // Up to kBatch datagrams, at least one unless the wait is over or a call failed: 0 datagrams,
  // and an errno (0: nothing came in time).
  struct Received {
    std::size_t datagrams = 0;
    int error = 0;
  };
  Received receive() noexcept;
  // The i-th datagram of the last receive(); empty if it did not fit its buffer.
  std::span<const std::uint8_t> datagram(std::size_t i) const noexcept;

  // Sends messages as one datagram, which the kernel carries out before this returns. 0 or errno.
  int send(std::span<const std::uint8_t> messages) noexcept;

  // Did packets arrive while the queue was being set up, whose messages nobody read?
  bool missedPackets() const noexcept { return missedPackets_; }

 private:
  Queue(std::uint16_t number, Fd fd);
  Status configure(std::chrono::milliseconds wait);
  Status bind();
  Status transact(void* message);  // an nlmsghdr

  std::uint16_t number_;
  Fd fd_;
  bool missedPackets_ = false;
  std::uint32_t sequence_ = 0;
  std::vector<std::uint8_t> buffers_;
  std::vector<iovec> parts_;
  std::vector<mmsghdr> headers_;
};

}  // namespace weir::engine
