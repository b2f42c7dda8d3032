// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/daemon_options.h"
#include "base/kept_snapshots.h"
#include "base/manager_client.h"
#include "base/signals.h"
#include "base/snapshot_intake.h"
#include "engine/kernel_cache.h"
#include "engine/packet_thread.h"
#include "engine/stats.h"
#include "engine/table_file.h"
#include "engine/world_cell.h"
#include "weir/tracking_table.h"

namespace weir::engine {

// The control thread. It hears the manager, builds worlds and publishes them, answers requests,
// collects the table's garbage and watches the packet threads. It never touches a packet, and
// packet threads never wait for it.
//
//   waiting for the manager -> first synchronisation -> table opened, queues bound -> running
//
// A manager that goes away changes nothing but that it is looked for again. Where there is none at
// the start, the engine goes on with what its predecessor was told last.
class Engine {
 public:
  // `signals` must deliver SIGTERM, SIGINT and SIGUSR1.
  Engine(DaemonOptions options, Signals signals);
  ~Engine();

  // Until one of them. After SIGUSR1 a successor may go on without the manager, after the others it
  // asks. The error says why the engine cannot go on.
  Status run();

 private:
  using Intake = SnapshotIntake<World>;

  bool isRunning() const noexcept { return !threads_.empty(); }
  bool mayStart() const noexcept;
  // The manager's side.
  void onManagerLost(const std::string& reason);
  Status hearManager(Time now);
  Status applySnapshots(const std::vector<Frame>&);
  void answer(const Frame& request);
  // Our own side.
  Status restore(Time now);
  Status use(const Intake::Taken&);
  Status startPackets();
  void endPackets();
  void tick(Time now);
  void watch(Time now);
  std::string stats();
  std::string statusLine() const;
  ServiceLedger::Threads threadCounters() const;
  bool threadsHavePassed() const;

  DaemonOptions options_;
  Signals signals_;
  Time started_;

  ManagerClient manager_;

  Intake intake_;
  KeptSnapshots kept_;
  std::shared_ptr<const World> world_;  // the one that was published last
  Generation generation_;
  std::uint64_t applied_ = 0;
  std::uint64_t refused_ = 0;
  bool toldRefused_ = false;  // on this connection

  ServiceLedger ledger_;
  Time nextTick_{};
  bool stalled_ = false;

  // Destroyed from the last to the first: threads end before what they use.
  WorldCell cell_;
  std::optional<TableFile> file_;
  std::optional<TrackingTable> table_;
  std::unique_ptr<KernelCache> kernelCache_;
  std::vector<std::unique_ptr<PacketThread>> threads_;
};

}  // namespace weir::engine
