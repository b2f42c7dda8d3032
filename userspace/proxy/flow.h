// SPDX-License-Identifier: GPL-2.0-or-later
//
// One direction of a connection: bytes from one socket to the other, unchanged, in order, and then
// their end (X5.2, X5.3). Little is copied through memory, much is spliced through a pipe. What the
// receiver does not take stays where it is, and nothing more is read until it has gone: at most a
// buffer or a pipe is ever in flight, and a connection at rest holds neither.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.h"
#include "proxy/pipe_pool.h"

namespace weir::proxy {

// A socket as edge-triggered epoll tells of it.
struct Peer {
  Fd fd;
  bool readable = false;  // there may be something to read, or the end
  bool writable = false;
  bool ending = false;    // something else than bytes is to come: reading goes on until it is met
  bool finished = false;  // the sender's end has arrived, behind all of its bytes
  bool urgent = false;  // has sent urgent bytes: reads end early at them, splice() never gets past
  bool gone = false;    // reset, or an error
  // Bytes wait for earlier ones to be acknowledged (Nagle) unless told not to. The first ones never
  // have to wait, so that a connection of one question needs no call for it.
  enum class Delay : std::uint8_t { none, notYet, possible };
  Delay delay = Delay::none;

  // What the events of epoll_wait(2) say; they hold as of that call.
  void take(std::uint32_t events) noexcept;
};

// What the flows of a thread share.
struct FlowTools {
  static constexpr std::size_t kBuffer = 65'536;
  PipePool pipes;
  std::unique_ptr<char[]> buffer = std::make_unique<char[]>(kBuffer);
};

class Flow {
 public:
  enum class Result : std::uint8_t {
    waiting,  // for the sockets
    busy,     // could go on: give others their turn first
    ended,    // all has gone through, the receiver knows of the end
    broken,   // one of the peers is gone
  };
  // As far as it goes without waiting, in at most kTurns rounds and about kMostAtOnce bytes.
  // `last`: the other direction has ended, so that both sockets are closed after this one's end,
  // and the end needs no shutdown().
  Result pump(Peer& from, Peer& to, FlowTools&, bool last);

  // To be sent before everything else; only before the first pump().
  void prepend(std::string bytes) { held_ = std::move(bytes); }
  bool hasEnded() const noexcept { return ended_; }
  // Bytes taken from the sender and not yet given to the receiver.
  bool holdsBytes() const noexcept { return !held_.empty() || pipe_ != nullptr; }
  std::uint64_t bytes() const noexcept { return bytes_; }  // given to the receiver
  // Whether anything went through since the last call.
  bool moved() noexcept { return std::exchange(moved_, false); }
  // Gives back what it borrowed.
  void drop(FlowTools&) noexcept;

 private:
  static constexpr int kTurns = 16;
  // Others get their turn after so much. Moved at once where the pipe takes it, since every system
  // call has its price.
  static constexpr std::size_t kMostAtOnce = 1'048'576;
  // From here on a read is worth a pipe.
  static constexpr std::size_t kBulk = FlowTools::kBuffer;
  static constexpr std::size_t kNoBulk = 8'192;

  enum class Step : std::uint8_t { moved, blocked, gone };
  Step send(Peer& to);
  Step sendNow(Peer& to, const char* data, std::size_t size, int flags);
  Step drainPipe(Peer& to);
  Step read(Peer& from, Peer& to, FlowTools&);
  Step splice(Peer& from, FlowTools&);
  Step nothingRead(ssize_t length, Peer& from) noexcept;
  void count(std::size_t bytes) noexcept;

  std::string held_;  // copied, not yet sent
  std::size_t sent_ = 0;
  std::unique_ptr<Pipe> pipe_;
  std::uint64_t bytes_ = 0;
  bool bulk_ = false;
  bool atEnd_ = false;  // the sender has ended
  bool ended_ = false;
  bool moved_ = false;
};

}  // namespace weir::proxy
