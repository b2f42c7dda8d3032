// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <optional>

#include "manager/kernel/kernel_state.h"

namespace weir::manager {

// Calls for a comparison soon after somebody has changed the kernel. Changes come in bursts (a
// flush, an interface that goes down), so it waits for a moment's quiet; and comparisons never take
// more than a fifth of the time, however long somebody goes on changing.
class KernelWatch {
 public:
  static constexpr std::chrono::milliseconds kQuiet{20};
  static constexpr std::chrono::milliseconds kLongestWait{250};

  // `kernel` outlives this.
  KernelWatch(boost::asio::io_context&, KernelState& kernel, std::function<void()> compare);
  ~KernelWatch();

  void start();
  void stop();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  void await(boost::asio::posix::stream_descriptor&);
  void arm();
  void fire();

  boost::asio::io_context& io_;
  KernelState& kernel_;
  std::function<void()> compare_;
  std::list<boost::asio::posix::stream_descriptor> sources_;
  boost::asio::steady_timer timer_;
  std::optional<SteadyTime> waitingSince_;
  SteadyTime notBefore_{};
};

}  // namespace weir::manager
