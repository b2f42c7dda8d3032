// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/channel.h"
#include "manager/snapshot_server.h"

namespace weir::manager {

// A frame on the wire, shared by all sessions that send it.
using Bytes = std::shared_ptr<const std::vector<std::uint8_t>>;
Bytes snapshotFrame(const SnapshotMessage&);

// One connected data plane.
class DataPlaneSession : public std::enable_shared_from_this<DataPlaneSession> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;
  struct Hooks {
    SnapshotServer::Everything everything;
    std::function<void()> progressed;
    std::function<void(const std::shared_ptr<DataPlaneSession>&)> closed;  // once
  };

  DataPlaneSession(Socket, Hooks);
  void start();
  void close(std::string_view why);

  void send(const Bytes&);
  void request(std::string json, std::chrono::milliseconds timeout,
               std::function<void(DataPlaneReply)> done);

  DataPlaneView view() const;
  Generation applied() const noexcept { return view_.applied; }
  const std::string& program() const noexcept { return view_.program; }

 private:
  struct PendingRequest {
    std::function<void(DataPlaneReply)> done;
    std::unique_ptr<boost::asio::steady_timer> timer;
  };

  void read();
  void receive(const Frame&);
  void receiveHello(const Frame&);
  void receiveApplied(const Frame&);
  void answer(std::uint32_t number, DataPlaneReply);
  void synchronise();
  void push(Bytes);
  void write();

  Socket socket_;
  Hooks hooks_;
  bool open_ = true;
  DataPlaneView view_;
  std::chrono::steady_clock::time_point connectedAt_;
  std::optional<std::chrono::steady_clock::time_point> startedAt_;  // the process
  FrameReader reader_;
  std::array<std::uint8_t, 16384> input_{};
  std::deque<Bytes> pending_;  // the first is being written
  std::size_t pendingBytes_ = 0;
  std::size_t written_ = 0;               // of the first
  std::size_t synchronisationBytes_ = 0;  // of the last full synchronisation
  bool mustSynchronise_ = false;          // once the frame being written is out
  boost::asio::steady_timer stall_;
  std::uint32_t nextRequest_ = 1;
  std::map<std::uint32_t, PendingRequest> requests_;
};

}  // namespace weir::manager
