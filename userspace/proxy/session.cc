// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/session.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "proxy/access_log.h"
#include "proxy/socket_address.h"

namespace weir::proxy {

namespace {

constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

// Closing it from now on sends a reset.
void resetAtClose(const Fd& socket) noexcept {
  const linger now{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

int unsentBytes(const Fd& socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket.get(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

bool isTrusted(const TargetTcpProxy& proxy, Address source) {
  return std::ranges::any_of(proxy.acceptProxyFrom,
                             [&](const Prefix& range) { return range.contains(source); });
}

}  // namespace

struct Session::Facts : AccessRecord {};

void Session::begin(SessionContext& context, Fd client, ProxyConnection connection,
                    std::shared_ptr<const ProxyWorld> world, const ProxyWorld::Front& front) {
  auto* const session =
      new Session(context, std::move(client), connection, std::move(world), front);
  if (Status watched =
          context.loop.watch(session->client_.peer.fd.get(), kEvents, session->client_);
      !watched.ok()) {
    session->close(CloseReason::proxyInternalError, "no_memory");
    return;
  }
  Opening& opening = *session->opening_;
  if (isTrusted(*front.proxy, connection.client.address)) opening.header.emplace();
  if (front.needsHello()) opening.hello.emplace();
  if (opening.header || opening.hello) {
    session->deadline_ = context.loop.now() + opening.world->node().settings.clientHelloTimeout;
    context.loop.timers().set(*session, session->deadline_);
    return;  // the first event brings the first bytes
  }
  // Who came and went already costs no backend a connection.
  char byte = 0;
  if (::recv(session->client_.peer.fd.get(), &byte, 1, MSG_PEEK) == 0)
    return session->clientEndedGreeting();
  session->route();
}

Session::Session(SessionContext& context, Fd client, ProxyConnection connection,
                 std::shared_ptr<const ProxyWorld> world, const ProxyWorld::Front& front)
    : context_(context),
      connection_(connection),
      opening_(std::make_unique<Opening>()),
      lastMoved_(context.loop.now()),
      started_(lastMoved_) {
  client_.session = this;
  backend_.session = this;
  client_.peer.fd = std::move(client);
  opening_->world = std::move(world);
  opening_->front = &front;
  context_.sessions.push_back(*this);
  context_.counters.open.fetch_add(1, std::memory_order_relaxed);
}

Session::~Session() = default;

bool Session::usesAny(const Backends& backends, const std::vector<ProxySlot>& slots) const {
  return backends_.get() == &backends && slot_ && std::ranges::find(slots, *slot_) != slots.end();
}

void Session::Side::onEvents(std::uint32_t events) {
  const bool failed = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if (failed || (events & (EPOLLIN | EPOLLRDHUP)) != 0) peer.readable = true;
  if (failed || (events & EPOLLRDHUP) != 0) peer.ending = true;
  if (failed || (events & EPOLLOUT) != 0) peer.writable = true;
  session->onEvents(*this);
}

void Session::onEvents(Side& side) {
  switch (phase_) {
    case Phase::greeting:
      readGreeting();
      break;
    case Phase::connecting:
      // Of the client only its reset matters now; what it sends waits in its socket.
      if (&side == &backend_)
        onConnected();
      else if (socketError(client_.peer.fd) != 0)
        close(CloseReason::connectionTerminated, "client_reset");
      break;
    case Phase::relaying:
      pump();
      break;
    case Phase::resetting:
    case Phase::over:
      break;
  }
}

// --- greeting ---

void Session::readGreeting() {
  Peer& client = client_.peer;
  while (phase_ == Phase::greeting && client.readable) {
    const ssize_t length =
        ::recv(client.fd.get(), context_.tools.buffer.get(), FlowTools::kBuffer, 0);
    if (length < 0) {
      if (errno == EINTR) continue;
      client.readable = false;
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        close(CloseReason::connectionTerminated, "client_reset");
      return;
    }
    if (length == 0) return clientEndedGreeting();
    if (takeGreeting({context_.tools.buffer.get(), static_cast<std::size_t>(length)}))
      return route();
  }
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
  return opening.hello->feed(span(bytes)) != ClientHelloParser::Progress::needsMore;
}

void Session::clientEndedGreeting() {
  const bool saidSomething = !opening_->bytes.empty();
  if (saidSomething && opening_->hello)
    close(CloseReason::tlsProtocolError, toString(HelloProblem::malformed));
  else
    close(CloseReason::connectionTerminated, "client_disconnected_before_any_response");
}

void Session::route() {
  unset();
  Opening& opening = *opening_;
  const auto hello = opening.hello ? std::optional(HelloSeen::of(*opening.hello)) : std::nullopt;
  const ProxyRoute route =
      opening.world->route(*opening.front, hello ? &*hello : nullptr, connection_);
  opening.tlsRoute = route.tlsRoute;
  if (!route) return close(route.reason, route.detail);
  opening.service = opening.world->service(route.service->name);
  idleTimeout_ = route.idleTimeout;
  backends_ = context_.backends.find(route.service->name);
  if (opening.service == nullptr || backends_ == nullptr)
    return close(CloseReason::destinationUnavailable, close_detail::kDestinationNotFound);
  connect();
}

// --- connecting ---

void Session::connect() {
  phase_ = Phase::connecting;
  while (opening_->tried.size() < kMostTries) {
    opening_->choice = backends_->acquire({connection_, context_.loop.now(), opening_->tried});
    if (!opening_->choice) {
      // A later try that finds nobody else ends for the reason of the first.
      if (!opening_->tried.empty()) break;
      return close(opening_->choice.reason, opening_->choice.detail);
    }
    slot_ = opening_->choice.slot;
    if (!opening_->tried.empty()) context_.counters.retries.add(1);
    if (beginConnect(opening_->choice)) return;
    if (phase_ == Phase::over) return;
  }
  close(CloseReason::destinationUnavailable, close_detail::kFailedToConnect);
}

// False: it failed at once, and the backend is among the tried ones.
bool Session::beginConnect(const Backends::Choice& choice) {
  context_.counters.connects.add(1);
  const ProxySettings& settings = opening_->world->node().settings;
  auto socket = connectTo(choice.address, settings.sourceAddresses, context_.nextSource++);
  backend_.peer = {};
  if (socket.error == 0) {
    backend_.peer.fd = std::move(socket.fd);
    deadline_ = context_.loop.now() + opening_->service->connectTimeout;
    context_.loop.timers().set(*this, deadline_);
    if (context_.loop.watch(backend_.peer.fd.get(), kEvents, backend_).ok()) return true;
    socket.error = ENOMEM;
  }
  if (isShortage(socket.error)) {
    close(CloseReason::proxyInternalError, "out_of_resources");
    return false;
  }
  giveBackBackend();
  return false;
}

void Session::giveBackBackend() {
  context_.counters.connectFailures.add(1);
  opening_->tried.push_back(*slot_);
  backends_->release(*std::exchange(slot_, std::nullopt), context_.loop.now());
  backend_.peer = {};
}

void Session::onConnected() {
  if (const int error = socketError(backend_.peer.fd); error != 0) {
    unset();
    giveBackBackend();
    return connect();
  }
  if (!backend_.peer.writable) return;  // not yet
  unset();
  Opening& opening = *opening_;
  const ProxyHeader::Ends ends{connection_.client, connection_.server};
  std::string first;
  switch (opening.front->proxy->proxyHeader) {
    case TargetTcpProxy::ProxyHeader::none:
      break;
    case TargetTcpProxy::ProxyHeader::proxyV1:
      first = writeProxyV1(ends);
      break;
    case TargetTcpProxy::ProxyHeader::proxyV2:
      first = writeProxyV2(ends, opening.hello ? opening.hello->serverName() : std::string_view());
      break;
  }
  up_.prepend(first + opening.bytes);
  if (isSampled(*opening.service)) {
    facts_ = std::make_unique<Facts>();
    static_cast<AccessRecord&>(*facts_) = {
        opening.front->rule->rule, opening.service->name,
        opening.choice.group,      opening.choice.endpoint,
        opening.tlsRoute,          opening.hello ? opening.hello->serverName() : std::string()};
  }
  opening_.reset();
  phase_ = Phase::relaying;
  lastMoved_ = context_.loop.now();
  client_.peer.readable = true;  // whatever came meanwhile
  armIdle(lastMoved_);
  pump();
}

// --- relaying ---

void Session::pump() {
  Peer& client = client_.peer;
  Peer& backend = backend_.peer;
  const bool halfClosed = up_.hasEnded() || down_.hasEnded();
  const std::uint64_t upBefore = up_.bytes(), downBefore = down_.bytes();
  using Result = Flow::Result;
  Result up = backend.gone ? Result::broken : up_.pump(client, backend, context_.tools);
  Result down = client.gone ? Result::broken : down_.pump(backend, client, context_.tools);
  if (backend.gone) up = Result::broken;
  context_.counters.bytesUp.add(up_.bytes() - upBefore);
  context_.counters.bytesDown.add(down_.bytes() - downBefore);
  if (up_.moved() | down_.moved()) lastMoved_ = context_.loop.now();

  if (client.gone || backend.gone) {
    // What the side that is gone had sent before still goes to the other.
    Flow& rest = client.gone ? up_ : down_;
    Peer& from = client.gone ? client : backend;
    Peer& to = client.gone ? backend : client;
    from.readable = true;
    Result last = client.gone ? up : down;
    if (!to.gone && last != Result::broken && last != Result::ended)
      last = rest.pump(from, to, context_.tools);
    if (to.gone) return close(CloseReason::connectionTerminated, "reset_by_both");
    if (last == Result::busy) return context_.loop.again(*this);
    if (last == Result::waiting && rest.holdsBytes()) return;
    return passReset(to);
  }
  if (up == Result::ended && down == Result::ended) return close(CloseReason::none, "");
  if (up == Result::busy || down == Result::busy) context_.loop.again(*this);
  if (!halfClosed && (up == Result::ended || down == Result::ended)) armIdle(lastMoved_);
}

void Session::passReset(Peer& survivor) {
  phase_ = Phase::resetting;
  resetClient_ = &survivor == &client_.peer;
  context_.loop.forget(*this);
  deadline_ = context_.loop.now() + kResetPatience;
  tryReset();
}

void Session::tryReset() {
  Peer& survivor = resetClient_ ? client_.peer : backend_.peer;
  if (unsentBytes(survivor.fd) > 0 && context_.loop.now() < deadline_)
    return context_.loop.timers().set(*this, context_.loop.now() + Timers::kTick);
  resetAtClose(survivor.fd);
  close(CloseReason::connectionTerminated, resetClient_ ? "backend_reset" : "client_reset");
}

void Session::armIdle(Time from) {
  const bool halfClosed = up_.hasEnded() || down_.hasEnded();
  if (idleTimeout_.count() == 0 && !halfClosed) return;
  std::chrono::seconds limit = idleTimeout_.count() == 0 ? kHalfClosedLimit : idleTimeout_;
  if (halfClosed) limit = std::min(limit, kHalfClosedLimit);
  deadline_ = from + limit;
  context_.loop.timers().set(*this, deadline_);
}

void Session::onTime(Time now) {
  switch (phase_) {
    case Phase::greeting:
      return close(CloseReason::connectionTimeout,
                   opening_->hello ? "client_hello_timeout" : "proxy_header_timeout");
    case Phase::connecting:
      giveBackBackend();
      return connect();
    case Phase::relaying:
      armIdle(lastMoved_);
      if (deadline_ <= now) close(CloseReason::connectionTimeout, "idle_timeout");
      return;
    case Phase::resetting:
      return tryReset();
    case Phase::over:
      return;
  }
}

// --- the end ---

void Session::close(CloseReason reason, std::string_view detail) {
  if (phase_ == Phase::over) return;
  phase_ = Phase::over;
  unset();
  context_.loop.forget(*this);
  if (slot_) backends_->release(*slot_, context_.loop.now());
  writeLog(reason, detail);
  up_.drop(context_.tools);
  down_.drop(context_.tools);
  client_.peer.fd.reset();
  backend_.peer.fd.reset();
  context_.counters.closed[static_cast<std::size_t>(reason)].add(1);
  context_.counters.open.fetch_sub(1, std::memory_order_relaxed);
  context_.sessions.erase(context_.sessions.iterator_to(*this));
  // Events of this turn may still name it.
  context_.loop.bury([this] { delete this; });
}

void Session::writeLog(CloseReason reason, std::string_view detail) {
  // X7.1: what found no backend is told in any case.
  std::optional<AccessRecord> unserved;
  if (facts_ == nullptr && opening_ != nullptr)
    unserved = {opening_->front->rule->rule,
                opening_->service ? opening_->service->name : std::string(),
                "",
                "",
                opening_->tlsRoute,
                opening_->hello ? opening_->hello->serverName() : std::string()};
  if (facts_ == nullptr && !unserved) return;
  const AccessRecord& record = facts_ != nullptr ? *facts_ : *unserved;
  logConnection(record, {connection_, context_.loop.now() - started_, up_.bytes(), down_.bytes(),
                         reason, detail});
}

}  // namespace weir::proxy
