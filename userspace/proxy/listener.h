// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "proxy/admission.h"
#include "proxy/counters.h"
#include "proxy/event_loop.h"
#include "weir/proxy_header.h"
#include "weir/result.h"

namespace weir::proxy {

// A socket that listens at a front. The threads have one each, on the same address (SO_REUSEPORT),
// so that the kernel spreads the clients and no thread waits for another. It may listen before the
// address is there (IP_FREEBIND).
Result<Fd> listenAt(const SocketAddress&);

// One thread's listening socket: accepts as long as there is room in the process (X5.6). Whatever
// keeps it from that, it tries again by itself.
class Listener final : private EventLoop::Handler, private Timer {
 public:
  using Accepted = std::function<void(Fd client, const SocketAddress& from)>;

  // The socket may be shared with other processes; closing the listener ends only this one's part.
  Listener(EventLoop&, ThreadCounters&, const Admission&, std::shared_ptr<const Fd>, Accepted);
  ~Listener();
  void start();

 private:
  // Accepting stops for so long when there is no room.
  static constexpr std::chrono::milliseconds kPause{100};
  static constexpr int kMostInATurn = 64;

  void onEvents(std::uint32_t) override;
  void onTime(Time) override;
  void stopWatching() noexcept;
  void pause(std::string_view reason);
  void recovered();

  EventLoop& loop_;
  ThreadCounters& counters_;
  const Admission& admission_;
  std::shared_ptr<const Fd> socket_;
  Accepted accepted_;
  bool watched_ = false;
  bool couldNotWatch_ = false;
  std::optional<Time> shortSince_;  // no client has been accepted since for want of room
};

}  // namespace weir::proxy
