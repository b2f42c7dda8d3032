// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/daemon_options.h"
#include "base/instance_lock.h"
#include "base/manager_client.h"
#include "base/published.h"
#include "base/signals.h"
#include "proxy/backends.h"
#include "proxy/handover.h"
#include "proxy/proxy_thread.h"
#include "proxy/world_intake.h"

namespace weir::proxy {

// The control thread. It hears the manager, publishes worlds, opens and closes listening sockets,
// ends drains, answers requests and watches the threads. It never touches a connection.
//
//   waiting for the manager -> first synchronisation -> listening -> stopping
//
// A manager that goes away changes nothing. When a successor comes, it gets the listening sockets;
// when told to stop, they are closed; either way the connections that are open have shutdownGrace
// to end, and then the program does.
class Proxy {
 public:
  // `inherited`: the sockets of the predecessor.
  Proxy(DaemonOptions, Signals, InstanceLock, HandoverServer, ListeningSockets inherited);
  // Until told to stop.
  Status run();

 private:
  void handle(int signal);
  void hearManager(Time now);
  void answer(const Frame& request);
  Status startThreads();
  void updateListeners();
  void openListener(const SocketAddress&);
  void tick(Time now);
  void handOver();
  void beginDraining(Time now);
  std::uint64_t openConnections() const;
  std::string statusLine() const;
  bool isListening() const noexcept { return !threads_.empty(); }

  DaemonOptions options_;
  Signals signals_;
  std::optional<InstanceLock> lock_;
  std::optional<HandoverServer> handover_;
  ManagerClient manager_;
  WorldIntake intake_;
  Generation generation_;
  bool toldRefused_ = false;
  std::shared_ptr<const ProxyWorld> world_ = std::make_shared<const ProxyWorld>();
  Published<ProxyWorld> published_;
  BackendsDirectory backends_;
  std::vector<std::unique_ptr<ProxyThread>> threads_;
  ListeningSockets sockets_;  // open ones; i-th of a front is thread i's (counting round)
  ListeningSockets inherited_;
  Time started_;
  Time nextTick_;
  std::optional<Time> drainUntil_;
  bool stalled_ = false;
};

}  // namespace weir::proxy
