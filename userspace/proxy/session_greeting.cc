// SPDX-License-Identifier: GPL-2.0-or-later
//
// A session's beginning: what the client says before it is known where it goes.
#include <sys/socket.h>

#include <cerrno>

#include "proxy/session.h"
#include "weir/postgres_request.h"

namespace weir::proxy {

namespace {

// Of a client's first bytes, before it is known who is to have them; more waits in its socket.
constexpr std::size_t kFirstRead = 16'384;

}  // namespace

// True: everything that is needed has come.
bool Session::readGreeting() {
  Peer& client = client_.peer;
  while (phase_ == Phase::greeting && client.readable) {
    const ssize_t length = ::recv(client.fd.get(), context_.tools.buffer.get(), kFirstRead, 0);
    if (length < 0) {
      if (errno == EINTR) continue;
      client.readable = false;
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        close(CloseReason::connectionTerminated, "client_reset");
      return false;
    }
    if (length == 0) {
      // Where nothing needs to be said first, an end is passed on like any other: the backend may
      // have much to say (X5.2).
      if (!opening_->header && !opening_->hello) return true;
      clientEndedGreeting();
      return false;
    }
    const auto size = static_cast<std::size_t>(length);
    if (size < kFirstRead && !client.ending) client.readable = false;
    if (takeGreeting({context_.tools.buffer.get(), size})) return true;
  }
  return false;
}

// True: everything that is needed has come.
bool Session::takeGreeting(std::string_view bytes) {
  const auto span = [](std::string_view text) {
    return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  Opening& opening = *opening_;
  if (opening.header && opening.header->progress() == ProxyHeaderParser::Progress::needsMore) {
    bytes.remove_prefix(opening.header->feed(span(bytes)));
    if (opening.header->progress() == ProxyHeaderParser::Progress::refused) {
      close(CloseReason::connectionTerminated, "invalid_proxy_header");
      return false;
    }
    if (opening.header->progress() == ProxyHeaderParser::Progress::needsMore) return false;
    if (const auto& ends = opening.header->header().ends) connection_.client = ends->client;
  }
  opening.bytes += bytes;
  if (!opening.hello) return true;
  if (!opening.helloBegun) {
    if (!takePostgresRequests()) return false;
    bytes = opening.bytes;
    opening.helloBegun = true;
  }
  return opening.hello->feed(span(bytes)) != ClientHelloParser::Progress::needsMore;
}

// Clients of PostgreSQL begin with TLS only when they have been told that they may. The answer is
// given in the backend's place: which one that is, only the hello will tell. True: what there is
// now are the first bytes of a hello.
bool Session::takePostgresRequests() {
  Opening& opening = *opening_;
  const PostgresRequest request = postgresRequest(opening.bytes);
  switch (request) {
    case PostgresRequest::none:
      return true;
    case PostgresRequest::needsMore:
      return false;
    case PostgresRequest::tls:
    case PostgresRequest::kerberos:
      break;
  }
  // Who goes on without waiting for the answer says in the clear what looks encrypted later.
  if (opening.bytes.size() > kPostgresTlsRequest.size() || opening.postgres) {
    close(CloseReason::tlsProtocolError, toString(HelloProblem::notTls));
    return false;
  }
  opening.bytes.clear();
  opening.postgres = request == PostgresRequest::tls;
  const char answer = opening.postgres ? 'S' : 'N';
  ::send(client_.peer.fd.get(), &answer, 1, MSG_NOSIGNAL);
  return false;
}

void Session::clientEndedGreeting() {
  const bool saidSomething = !opening_->bytes.empty();
  if (saidSomething && opening_->hello)
    close(CloseReason::tlsProtocolError, toString(HelloProblem::malformed));
  else
    close(CloseReason::connectionTerminated, "client_disconnected_before_any_response");
}

}  // namespace weir::proxy
