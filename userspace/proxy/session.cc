// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/session.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "proxy/access_log.h"
#include "proxy/socket_address.h"
#include "weir/postgres_request.h"

namespace weir::proxy {

namespace {

constexpr std::uint32_t kBytes = EPOLLIN | EPOLLPRI;
constexpr std::uint32_t kAlways = EPOLLRDHUP | EPOLLET;

bool isTrusted(const TargetTcpProxy& proxy, Address source) {
  return std::ranges::any_of(proxy.acceptProxyFrom,
                             [&](const Prefix& range) { return range.contains(source); });
}

}  // namespace

void Session::begin(SessionContext& context, Fd client, ProxyConnection connection,
                    std::shared_ptr<const ProxyWorld> world, const ProxyWorld::Front& front) {
  auto* const session =
      new Session(context, std::move(client), connection, std::move(world), front);
  Opening& opening = *session->opening_;
  if (isTrusted(*front.proxy, connection.client.address)) opening.header.emplace();
  if (front.needsHello()) opening.hello.emplace();
  // What has come with the connection is read at once. Who was reset already costs no backend a
  // connection.
  const bool needsMore = !session->readGreeting() && (opening.header || opening.hello);
  if (session->phase_ == Phase::over) return;
  Side& side = session->client_;
  // Only now, and without EPOLLOUT, which is true anyway: so this alone wakes nobody up.
  if (!context.loop.watch(side.peer.fd.get(), side.wanted(), side).ok())
    return session->close(CloseReason::proxyInternalError, "no_memory");
  if (!needsMore) return session->route();
  session->deadline_ = context.loop.now() + opening.world->node().settings.clientHelloTimeout;
  context.loop.timers().set(*session, session->deadline_);
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
  client_.peer.readable = client_.peer.writable = true;
  opening_->world = std::move(world);
  opening_->front = &front;
  context_.sessions.push_back(*this);
  context_.counters.open.fetch_add(1, std::memory_order_relaxed);
}

Session::~Session() = default;

bool Session::usesAny(const Backends& backends, const std::vector<ProxySlot>& slots) const {
  return backends_.get() == &backends && slot_ && std::ranges::find(slots, *slot_) != slots.end();
}

Session::Seen Session::seen() const {
  Seen seen{connection_, "", "", "", up_.bytes(), down_.bytes(), started_, lastMoved_};
  if (backends_ != nullptr) seen.service = backends_->service();
  if (slot_) std::tie(seen.group, seen.backend) = backends_->nameOf(*slot_);
  switch (phase_) {
    case Phase::greeting:
    case Phase::connecting:
    case Phase::agreeing:
      break;
    case Phase::relaying:
      seen.state = Seen::State::established;
      break;
    case Phase::resetting:
    case Phase::over:
      seen.state = Seen::State::closing;
      break;
  }
  return seen;
}

std::uint32_t Session::Side::wanted() const noexcept {
  return kAlways | (hearsOfBytes ? kBytes : 0u) | (hearsOfRoom ? EPOLLOUT : 0u);
}

void Session::Side::onEvents(std::uint32_t events) {
  peer.take(events);
  session->onEvents(*this, events);
}

void Session::onEvents(Side& side, std::uint32_t events) {
  const auto wasReset = [&] { return (events & EPOLLERR) != 0 && socketError(side.peer.fd) != 0; };
  switch (phase_) {
    case Phase::greeting:
      if (readGreeting()) route();
      break;
    case Phase::connecting:
    case Phase::agreeing:
      // Of the client only its reset matters now; what it sends waits in its socket.
      if (&side == &backend_)
        phase_ == Phase::connecting ? onConnected(events) : hearAgreement();
      else if (wasReset())
        close(CloseReason::connectionTerminated, "client_reset");
      break;
    case Phase::relaying:
      // Nothing is read any more of a side that has ended, which would tell of a reset.
      if ((&side == &client_ ? up_ : down_).hasEnded() && wasReset()) side.peer.gone = true;
      pump();
      break;
    case Phase::resetting:
      if (&side == &survivor() && wasReset())
        close(CloseReason::connectionTerminated, "reset_by_both");
      break;
    case Phase::over:
      break;
  }
}

// --- connecting ---

void Session::route() {
  unset();
  Opening& opening = *opening_;
  const auto hello = opening.hello ? std::optional(HelloSeen::of(*opening.hello)) : std::nullopt;
  const ProxyRoute route =
      opening.world->route(*opening.front, hello ? &*hello : nullptr, connection_);
  opening.tlsRoute = route.tlsRoute;
  opening.choice.rule = route.rule;
  if (!route) return close(route.reason, route.detail);
  opening.service = opening.world->service(route.service->name);
  idleTimeout_ = route.idleTimeout;
  backends_ = context_.backends.find(route.service->name);
  if (opening.service == nullptr || backends_ == nullptr)
    return close(CloseReason::destinationUnavailable, close_detail::kDestinationNotFound);
  connect();
}

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
  const bool speaks = !opening_->bytes.empty() || opening_->postgres ||
                      opening_->front->proxy->proxyHeader != TargetTcpProxy::ProxyHeader::none;
  auto socket = connectTo(choice.address, settings, context_.nextSource++,
                          speaks ? WhenUp::speaks : WhenUp::listens);
  backend_.peer = {};
  if (socket.error == 0) {
    backend_.peer.fd = std::move(socket.fd);
    backend_.peer.delay = Peer::Delay::notYet;
    backend_.hearsOfRoom = true;
    deadline_ = context_.loop.now() + opening_->service->connectTimeout;
    context_.loop.timers().set(*this, deadline_);
    if (context_.loop.watch(backend_.peer.fd.get(), backend_.wanted(), backend_).ok()) return true;
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

void Session::onConnected(std::uint32_t events) {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0 && socketError(backend_.peer.fd) != 0) {
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
  if (opening.postgres) return askForTls(std::move(first));
  relay(std::move(first));
}

void Session::askForTls(std::string first) {
  first += kPostgresTlsRequest;
  const auto size = static_cast<ssize_t>(first.size());
  if (::send(backend_.peer.fd.get(), first.data(), first.size(), MSG_NOSIGNAL) != size) {
    giveBackBackend();
    return connect();
  }
  phase_ = Phase::agreeing;
  deadline_ = context_.loop.now() + opening_->service->connectTimeout;
  context_.loop.timers().set(*this, deadline_);
  hearAgreement();
}

void Session::hearAgreement() {
  char answer = 0;
  const ssize_t length = ::recv(backend_.peer.fd.get(), &answer, 1, 0);
  if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  unset();
  if (length == 1 && answer == 'S') return relay("");
  giveBackBackend();  // it does not speak TLS, or not now
  connect();
}

// From now on bytes flow; `first` goes to the backend before the client's.
void Session::relay(std::string first) {
  Opening& opening = *opening_;
  up_.prepend(first.empty() ? std::move(opening.bytes) : first + opening.bytes);
  if (isSampled(*opening.service)) {
    facts_ = std::make_unique<AccessRecord>();
    *facts_ = {
        opening.front->rule->rule, opening.service->name,
        opening.choice.group,      opening.choice.endpoint,
        opening.tlsRoute,          opening.hello ? opening.hello->serverName() : std::string(),
        opening.choice.rule};
  }
  opening_.reset();
  phase_ = Phase::relaying;
  setIdleDeadline(context_.loop.now());
  armIdle();
  pump();
}

// --- relaying ---

void Session::pump() {
  Peer& client = client_.peer;
  Peer& backend = backend_.peer;
  const std::uint64_t upBefore = up_.bytes(), downBefore = down_.bytes();
  using Result = Flow::Result;
  Result up =
      backend.gone ? Result::broken : up_.pump(client, backend, context_.tools, down_.hasEnded());
  Result down =
      client.gone ? Result::broken : down_.pump(backend, client, context_.tools, up_.hasEnded());
  if (backend.gone) up = Result::broken;
  context_.counters.bytesUp.add(up_.bytes() - upBefore);
  context_.counters.bytesDown.add(down_.bytes() - downBefore);
  const bool upMoved = up_.moved(), downMoved = down_.moved();  // each forgets when asked
  if (upMoved || downMoved) lastMoved_ = context_.loop.now();

  if (client.gone || backend.gone) {
    // What the side that is gone had sent before still goes to the other.
    Flow& rest = client.gone ? up_ : down_;
    Peer& from = client.gone ? client : backend;
    Peer& to = client.gone ? backend : client;
    from.readable = true;
    Result last = client.gone ? up : down;
    if (!to.gone && last != Result::broken && last != Result::ended)
      last = rest.pump(from, to, context_.tools, false);
    if (to.gone) return close(CloseReason::connectionTerminated, "reset_by_both");
    if (last == Result::busy) return context_.loop.again(*this);
    if (last == Result::waiting && rest.holdsBytes())
      return hearOfRoom(client.gone ? backend_ : client_);
    return passReset(to);
  }
  if (up == Result::ended && down == Result::ended) return close(CloseReason::none, "");
  if (up == Result::busy || down == Result::busy) context_.loop.again(*this);
  hearOfRoom(client_);
  hearOfBytes(client_, up_);
  hearOfBytes(backend_, down_);
}

// Only a side that was full once is worth a call.
void Session::hearOfRoom(Side& side) {
  if (side.peer.writable || side.hearsOfRoom) return;
  side.hearsOfRoom = true;
  rewatch(side);
}

// Where a sender has more than the receiver takes, even more is no news, and would wake the thread
// with every packet. Its socket is heard again when it has been read empty.
void Session::hearOfBytes(Side& side, const Flow& itsBytes) {
  if (phase_ == Phase::over || side.hearsOfBytes == !side.peer.readable) return;
  if (side.hearsOfBytes && !itsBytes.holdsBytes()) return;  // it will be read on at once
  side.hearsOfBytes = !side.hearsOfBytes;
  rewatch(side);
}

// Tells at once of what is there already.
void Session::rewatch(Side& side) {
  if (!context_.loop.rewatch(side.peer.fd.get(), side.wanted(), side).ok())
    close(CloseReason::proxyInternalError, "no_memory");
}

// The client's socket has its options from the listening one.
void Session::guard() {
  guarded_ = true;
  setConnectionOptions(backend_.peer.fd, context_.world.refresh().node().settings);
  backend_.peer.delay = Peer::Delay::none;
}

void Session::onTime(Time now) {
  switch (phase_) {
    case Phase::greeting:
      return close(CloseReason::connectionTimeout,
                   opening_->hello ? "client_hello_timeout" : "proxy_header_timeout");
    case Phase::connecting:
    case Phase::agreeing:
      giveBackBackend();
      return connect();
    case Phase::relaying:
      if (!guarded_) guard();
      return whenQuiet(now);
    case Phase::resetting:
      return tryReset();
    case Phase::over:
      return;
  }
}

}  // namespace weir::proxy
