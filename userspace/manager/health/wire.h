// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "manager/health/tls.h"

// OpenSSL's, as its header names it.
struct bio_st;
struct bio_method_st;

namespace weir::manager {

// Bytes over a connected, non-blocking socket, as they are or by TLS. Every call does what it can
// at once and says what to wait for; there is no difference between the two for the caller.
//
// OpenSSL reads on by itself as long as what comes is not the data that was asked for (KeyUpdate,
// session tickets, ...), and a peer that sends fast enough would keep it there. So what one turn of
// the event loop takes off the socket is bounded, and so is the number of such messages.
class Wire {
 public:
  // turnOver: this turn has taken its share; go on with the next one, there may be more.
  enum class State : std::uint8_t { done, wantRead, wantWrite, turnOver, closed, reset, failed };
  // Bytes off the socket in one turn.
  static constexpr std::size_t kTurn = 16'384;
  // Messages of the handshake's kind over the life of a connection. A handshake has ten at most,
  // and servers send a few session tickets.
  static constexpr unsigned kMostMessages = 100;

  struct Step {
    State state;
    std::size_t bytes = 0;  // done: read or written, at least 1
    std::string reason{};   // failed: in words
  };

  // The descriptor stays the caller's and is open as long as this is used.
  explicit Wire(int fd) noexcept : fd_(fd) {}
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // What follows is TLS. Next, handshake() until it is done.
  void startTls(TlsSession);
  Step handshake();
  // What the server chose in the handshake; empty: nothing.
  std::string_view alpn() const noexcept;

  // Was the handshake a resumed one?
  bool isResumed() const noexcept;
  // The group of the key exchange, OpenSSL's number; 0: there was none.
  int group() const noexcept;
  // What the server has given so far to resume this session with; empty: nothing.
  TlsTicket ticket() const noexcept;

  // A new turn of the event loop.
  void beginTurn() noexcept { share_ = kTurn; }
  // Bytes that came off the socket so far, whatever they were.
  std::size_t received() const noexcept { return received_; }

  Step read(std::span<char> into);
  Step write(std::string_view from);
  // Tells the peer that the connection ends well, as far as that is possible without waiting.
  void sayGoodbye() noexcept;

 private:
  Step plainStep(ssize_t result) const;
  Step tlsStep(int result);
  ssize_t receive(char* into, std::size_t size);
  static void countMessage(int isWritten, int version, int type, const void*, std::size_t, ssl_st*,
                           void* self);
  static const bio_method_st* bioMethod();
  static int bioRead(bio_st*, char* into, int size);
  static int bioWrite(bio_st*, const char* from, int size);
  static long bioControl(bio_st*, int command, long, void*);

  const int fd_;
  int error_ = 0;  // errno of the last socket call under TLS; 0 also for the peer's end
  std::size_t share_ = kTurn, received_ = 0;
  unsigned messages_ = 0;
  TlsSession tls_;
};

}  // namespace weir::manager
