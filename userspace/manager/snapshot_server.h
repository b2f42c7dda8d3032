// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"
#include "weir/snapshot.h"
#include "weir/types.h"

namespace weir::manager {

// A connected data plane as an operator sees it.
struct DataPlaneView {
  std::string program;  // empty until it said hello
  std::int64_t pid = 0;
  std::string version;
  Generation applied;
  std::string notKept;  // why it would not start without the manager; empty: it would
  std::chrono::seconds connectedFor{0};
  std::optional<std::chrono::seconds> upFor;  // the process; nullopt: it did not say
};

// What came of a request to a data plane.
struct DataPlaneReply {
  // absent: not connected, gone meanwhile, or silent for too long.
  enum class Kind : std::uint8_t { answered, refused, absent };
  Kind kind = Kind::absent;
  std::string text;  // answered: JSON; else why not, in one line
};

// The manager's end of base/channel.h: sends each data plane everything when it connects and
// differences from then on, and carries requests to it.
//
// A data plane that reads slowly costs bounded memory and holds up nobody: when more than
// kMaxPendingBytes wait for it, they are dropped for a new full synchronisation, sent as soon as it
// reads on; one that takes nothing for kStallLimit is disconnected (it will connect again).
class SnapshotServer {
 public:
  static constexpr std::size_t kMaxPendingBytes = 8u << 20;
  static constexpr std::chrono::seconds kStallLimit{30};

  // All messages of a full synchronisation, SyncBegin and SyncEnd included.
  using Everything = std::function<std::vector<SnapshotMessage>()>;

  SnapshotServer(boost::asio::io_context&, Everything);
  ~SnapshotServer();

  // Listens on a socket at `path` (mode 0660), where an old one is replaced.
  Status listen(const std::filesystem::path& path);
  void stop();

  void broadcast(std::span<const SnapshotMessage>);

  // Have all connected data planes applied `generation` of the control plane? False when none is
  // connected. The proxy counts the generations of its own decisions and is not asked.
  bool confirmed(Generation generation) const;
  // Called whenever a data plane has applied something, or has gone.
  void onProgress(std::function<void()>);

  // Sends a request (JSON text) to the first connected data plane of that program; `done` is
  // never called from inside request().
  void request(std::string_view program, std::string json, std::chrono::milliseconds timeout,
               std::function<void(DataPlaneReply)> done);

  std::vector<DataPlaneView> dataPlanes() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weir::manager
