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
class Wire {
 public:
  enum class State : std::uint8_t { done, wantRead, wantWrite, closed, reset, failed };
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

  Step read(std::span<char> into);
  Step write(std::string_view from);
  // Tells the peer that the connection ends well, as far as that is possible without waiting.
  void sayGoodbye() noexcept;

 private:
  Step plainStep(ssize_t result) const;
  Step tlsStep(int result);
  static const bio_method_st* bioMethod();
  static int bioRead(bio_st*, char* into, int size);
  static int bioWrite(bio_st*, const char* from, int size);
  static long bioControl(bio_st*, int command, long, void*);

  const int fd_;
  int error_ = 0;  // errno of the last socket call under TLS; 0 also for the peer's end
  TlsSession tls_;
};

}  // namespace weir::manager
