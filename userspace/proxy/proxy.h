// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/daemon_options.h"
#include "base/instance_lock.h"
#include "base/kept_snapshots.h"
#include "base/manager_client.h"
#include "base/published.h"
#include "base/signals.h"
#include "base/snapshot_intake.h"
#include "proxy/backends.h"
#include "proxy/fronts.h"
#include "proxy/handover.h"
#include "proxy/proxy_thread.h"
#include "proxy/resolver.h"

namespace weir::proxy {

// The control thread. It hears the manager, publishes worlds, opens and closes listening sockets,
// ends drains, answers requests and watches the threads. It never touches a connection.
//
//   waiting for the manager -> first synchronisation -> listening -> stopping
//
// A manager that goes away changes nothing. Where there is none at the start, the proxy goes on
// with what its predecessor was told last. When a successor comes, it gets the listening sockets;
// when told to stop, they are closed; either way the connections that are open have shutdownGrace
// to end, and then the program does.
class Proxy {
 public:
  // `inherited`: the sockets of the predecessor.
  Proxy(DaemonOptions, Signals, InstanceLock, HandoverServer, ListeningSockets inherited);
  // Until told to stop.
  Status run();

 private:
  using Intake = SnapshotIntake<ProxyWorld>;

  void hearManager(Time now);
  void restore(Time now);
  void use(const Intake::Taken&, Time now);
  void wantNames(Time now);
  void answer(const Frame& request);
  std::string stats() const;
  void askThreads(const Frame& request, std::string_view text);
  void sendAnswers(Time now);
  Status startThreads();
  void updateFronts(Time now);
  void retry(Time now);
  std::chrono::milliseconds pace() const;
  void tick(Time now);
  void handOver();
  void stop(int signal, Time now);
  void beginDraining(Time now);
  std::uint64_t otherDescriptors() const;
  std::uint64_t openConnections() const;
  std::string statusLine() const;
  bool isListening() const noexcept { return !threads_.empty(); }
  bool mayListen(Time now) const;

  DaemonOptions options_;
  Signals signals_;
  std::optional<InstanceLock> lock_;
  std::optional<HandoverServer> handover_;
  ManagerClient manager_;
  Intake intake_;
  KeptSnapshots kept_;
  Generation generation_;
  bool toldRefused_ = false;
  std::shared_ptr<const ProxyWorld> world_ = std::make_shared<const ProxyWorld>();
  Published<ProxyWorld> published_;
  BackendsDirectory backends_;
  Admission admission_;
  std::unique_ptr<Resolver> resolver_;                            // once there is a name
  std::map<std::string, std::set<std::string>> namesOfServices_;  // service -> names, as told
  bool frontsDue_ = false;
  std::optional<Time> retryAt_;  // what could not be opened
  bool toldCannotStart_ = false, toldCannotResolve_ = false;
  Fronts::Threads threads_;
  Fronts fronts_;
  // Questions that threads are being asked, by the numbers of the requests.
  std::vector<std::pair<std::uint32_t, std::shared_ptr<ConnectionsQuestion>>> asked_;
  Time started_;
  Time nextTick_;
  std::optional<Time> drainUntil_;
  bool replaced_ = false;  // a successor speaks for the service
  Time stayUntil_{};       // not to end before, whatever is open
  bool stalled_ = false;
};

}  // namespace weir::proxy
