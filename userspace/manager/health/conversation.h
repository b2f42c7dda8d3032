// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>

#include "manager/health/dialogue.h"
#include "manager/health/probe.h"

namespace weir::manager {

// H8, to the byte.
inline constexpr std::string_view kProxyHeader = "PROXY UNKNOWN\r\n";
// A peer that sends more bytes, of whatever kind, without deciding anything gives no answer that a
// probe could use.
inline constexpr std::size_t kMostReceived = 262'144;

// How a type of health check is carried out.
struct Plan {
  std::unique_ptr<Dialogue> dialogue;
  bool tls = false;
  Alpn alpn = Alpn::none;    // http2: the server must choose it
  std::string serverName{};  // SNI
  bool weighs = false;       // its answers carry a weight (P9.1)
  // What was sent matters to the peer although its answer is not waited for: give it a moment
  // before the connection is reset, which takes back what it has not read.
  bool lingers = false;
};

// A marked TCP connection, the PROXY header where the check wants one, TLS where the plan does, and
// then the dialogue. The connection is new for every probe and is reset at the end: probes of all
// backends of a service share one destination, and closed connections waiting a minute in
// TIME_WAIT would use up its ports.
class Conversation : public Probe {
 public:
  // Is what happens in it no more than a resumed session's: a ticket was offered, and the server
  // has not made a full handshake all the same? Also after the end.
  virtual bool restsOnTicket() const = 0;
  // No ticket, unless one was offered already.
  virtual void offerNothing() = 0;
};

// The TLS handshake may be a resumed one where the context has a Resumption, which is told of a
// success and of nothing else.
std::unique_ptr<Conversation> startConversation(ProbeContext, const ProbeTarget&, Plan, ProbeDone);

}  // namespace weir::manager
