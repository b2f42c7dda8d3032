// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>

// OpenSSL's, as their headers name them.
struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

namespace weir::manager {

// Which protocol a probe asks for in its TLS handshake (ALPN).
enum class Alpn : std::uint8_t { none, http1, http2 };

struct TlsSessionDeleter {
  void operator()(ssl_st*) const noexcept;
};
using TlsSession = std::unique_ptr<ssl_st, TlsSessionDeleter>;

// What a server has given to resume a session with.
struct TlsTicketDeleter {
  void operator()(ssl_session_st*) const noexcept;
};
using TlsTicket = std::unique_ptr<ssl_session_st, TlsTicketDeleter>;

// What the TLS connections of all probes share. A probe asks whether a backend speaks TLS at all:
// certificates are not verified (H7), and old versions, short keys and weak ciphers will do.
class TlsContext {
 public:
  TlsContext();
  // For one connection. `serverName`: sent as SNI; empty: none. `ticket`, where there is one, is
  // offered to the server, which may take it or make a full handshake. `group`: that of the key
  // exchange which the server chose before, OpenSSL's number; 0: not known.
  TlsSession newSession(Alpn, const std::string& serverName, ssl_session_st* ticket = nullptr,
                        int group = 0) const;

 private:
  struct Deleter {
    void operator()(ssl_ctx_st*) const noexcept;
  };
  std::unique_ptr<ssl_ctx_st, Deleter> context_;
};

// OpenSSL's oldest error of this thread in words, and the others forgotten: "TLS alert: handshake
// failure", "the answer is not TLS", "TLS: ...".
std::string takeTlsError();

}  // namespace weir::manager
