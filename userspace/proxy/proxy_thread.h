// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/published.h"
#include "proxy/listener.h"
#include "proxy/questions.h"
#include "proxy/session.h"

namespace weir::proxy {

// A thread with its own loop, its own listening sockets, and the connections that came in there.
// Functions are the control thread's; they return at once, their work is done by the thread.
class ProxyThread {
 public:
  static Result<std::unique_ptr<ProxyThread>> start(unsigned number, const Published<ProxyWorld>&,
                                                    BackendsDirectory&, Admission&);
  ~ProxyThread();  // closes what is still open

  void listen(const SocketAddress&, std::shared_ptr<const Fd>);
  void stopListening(const SocketAddress&);
  void stopListening();  // everywhere
  // X5.4: closes the connections to these backends.
  void closeExpired(std::shared_ptr<Backends>, std::vector<ProxySlot>);

  // Has its part of the question answered.
  void ask(std::shared_ptr<ConnectionsQuestion>);

  const ThreadCounters& counters() const noexcept { return counters_; }
  Time heartbeat() const noexcept { return loop_->heartbeat(); }

 private:
  ProxyThread(std::unique_ptr<EventLoop>, const Published<ProxyWorld>&, BackendsDirectory&,
              const Admission&);
  void accept(const SocketAddress& front, Fd client, const SocketAddress& from);
  void closeAll();

  std::unique_ptr<EventLoop> loop_;
  ThreadCounters counters_;
  const Admission& admission_;
  PublishedView<ProxyWorld> world_;
  SessionContext context_;
  // More than one of an address where a predecessor had more threads.
  std::multimap<SocketAddress, std::unique_ptr<Listener>> listeners_;
  std::thread thread_;
};

}  // namespace weir::proxy
