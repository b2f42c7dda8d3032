// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel_watch.h"

#include <algorithm>

namespace weir::manager {
namespace {

// A rest of this many times the comparison's duration.
constexpr int kRest = 4;
constexpr std::chrono::milliseconds kLongestRest{500};

}  // namespace

KernelWatch::KernelWatch(boost::asio::io_context& io, KernelState& kernel,
                         std::function<void()> compare)
    : io_(io), kernel_(kernel), compare_(std::move(compare)), timer_(io) {}

KernelWatch::~KernelWatch() { stop(); }

void KernelWatch::start() {
  for (const int fd : kernel_.eventSources()) await(sources_.emplace_back(io_, fd));
}

void KernelWatch::stop() {
  timer_.cancel();
  // The descriptors are the kernel state's.
  for (auto& source : sources_) source.release();
  sources_.clear();
}

void KernelWatch::await(boost::asio::posix::stream_descriptor& source) {
  source.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this, &source](const boost::system::error_code& error) {
                      if (error) return;
                      if (kernel_.takeEvents()) arm();
                      await(source);
                    });
}

void KernelWatch::arm() {
  const SteadyTime present = std::chrono::steady_clock::now();
  if (!waitingSince_) waitingSince_ = present;
  const SteadyTime due = std::min(present + kQuiet, *waitingSince_ + kLongestWait);
  timer_.expires_at(std::max<SteadyTime>(due, notBefore_));
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) fire();
  });
}

void KernelWatch::fire() {
  waitingSince_.reset();
  const SteadyTime begin = std::chrono::steady_clock::now();
  compare_();
  const SteadyTime end = std::chrono::steady_clock::now();
  notBefore_ = end + std::min<SteadyTime::duration>(kRest * (end - begin), kLongestRest);
}

}  // namespace weir::manager
