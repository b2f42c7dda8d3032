// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/conversation.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>

#include "manager/health/wire.h"

namespace weir::manager {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds kLinger{1};

tcp::endpoint endpointOf(Address address, std::uint16_t port) {
  if (address.isIpv4()) return {asio::ip::address_v4(address.ipv4Bits()), port};
  return {asio::ip::address_v6(address.bytes()), port};
}

error_code prepare(tcp::socket& socket, const tcp::endpoint& destination, Mark mark) {
  error_code error;
  socket.open(destination.protocol(), error);
  if (error) return error;
  socket.set_option(asio::socket_base::linger(true, 0), error);  // close() resets
  if (error) return error;
  socket.native_non_blocking(true, error);
  if (error) return error;
  const std::uint32_t value = mark.value();
  if (value != 0 &&
      ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_MARK, &value, sizeof value) != 0)
    return error_code(errno, boost::system::system_category());
  return {};
}

// What a connection that did not come up means for the backend: refused is an answer, an
// unreachable host is none, anything else is this machine's own trouble.
Outcome notConnected(const error_code& error) {
  if (error == asio::error::connection_refused) return answeredWrongly("connection refused");
  if (error == asio::error::connection_reset) return answeredWrongly("connection reset");
  if (error == asio::error::host_unreachable) return notAnswered("host unreachable");
  if (error == asio::error::network_unreachable) return notAnswered("network unreachable");
  if (error == asio::error::timed_out) return notAnswered("connection timed out");
  return notMade(fmt::format("the probe could not be made: {}", error.message()));
}

// What the kernel measured with the SYN, since what this process sees of it includes how long it
// was busy with other probes; `seen` where the kernel has no sample.
std::chrono::microseconds roundTripOf(int fd, std::chrono::microseconds seen) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_rtt == 0) return seen;
  return std::min(seen, std::chrono::microseconds(info.tcpi_rtt));
}

// Shared with the handlers that are under way, so that it may be cancelled at any time.
class Talk : public std::enable_shared_from_this<Talk> {
 public:
  Talk(ProbeContext context, const ProbeTarget& target, Plan plan, ProbeDone done)
      : context_(context),
        plan_(std::move(plan)),
        destination_(endpointOf(target.address, target.port)),
        mark_(target.mark),
        socket_(context.io),
        done_(std::move(done)),
        header_(target.check->proxyHeader == HealthCheck::ProxyHeader::proxyV1 ? kProxyHeader
                                                                               : "") {}

  void start() {
    output_ = header_;
    if (const error_code error = prepare(socket_, destination_, mark_)) {
      asio::post(context_.io,
                 [self = shared_from_this(), error] { self->finish(notConnected(error)); });
      return;
    }
    const auto begun = std::chrono::steady_clock::now();
    socket_.async_connect(
        destination_, [self = shared_from_this(), begun](const error_code& error) {
          if (!self->done_) return;
          if (error) {
            self->finish(notConnected(error));
            return;
          }
          self->connectTime_ = roundTripOf(self->socket_.native_handle(),
                                           std::chrono::duration_cast<std::chrono::microseconds>(
                                               std::chrono::steady_clock::now() - begun));
          self->wire_.emplace(self->socket_.native_handle());
          self->proceed();
        });
  }

  // Nobody waits any more. What lingers has its verdict already, and ends by itself.
  void cancel() {
    if (!done_) return;
    done_ = nullptr;
    close();
  }

  const std::optional<std::chrono::microseconds>& connectTime() const noexcept {
    return connectTime_;
  }

  bool restsOnTicket() const noexcept {
    return offered_ && (phase_ == Phase::handshake || wire_->isResumed());
  }
  void offerNothing() noexcept { mayOffer_ = false; }

 private:
  enum class Phase : std::uint8_t { header, handshake, dialogue };

  // As far as it goes without waiting, and without taking more than its share of this turn.
  void proceed() {
    if (!done_ || !wire_) return;
    wire_->beginTurn();
    if (phase_ == Phase::header && !flush()) return;
    if (phase_ == Phase::header) beginTls();
    if (phase_ == Phase::handshake && !shakeHands()) return;
    while (phase_ == Phase::dialogue && exchange()) {
    }
  }

  void beginTls() {
    phase_ = plan_.tls ? Phase::handshake : Phase::dialogue;
    if (!plan_.tls) return;
    const Resumption* const known = context_.resumption.get();
    ssl_session_st* const ticket = known && mayOffer_ ? known->offer() : nullptr;
    offered_ = ticket != nullptr;
    wire_->startTls(
        context_.tls.newSession(plan_.alpn, plan_.serverName, ticket, known ? known->group() : 0));
  }

  // True: the handshake is done and its result as the plan wants it.
  bool shakeHands() {
    const Wire::Step step = wire_->handshake();
    switch (step.state) {
      case Wire::State::done:
        break;
      case Wire::State::wantRead:
        return wait(tcp::socket::wait_read);
      case Wire::State::wantWrite:
        return wait(tcp::socket::wait_write);
      case Wire::State::turnOver:
        return awaitTurn();
      case Wire::State::closed:
        return finish(answeredWrongly("connection closed during the TLS handshake"));
      case Wire::State::reset:
        return finish(answeredWrongly("connection reset during the TLS handshake"));
      case Wire::State::failed:
        return finish(answeredWrongly(step.reason));
    }
    phase_ = Phase::dialogue;
    if (plan_.alpn == Alpn::http2 && wire_->alpn() != "h2")
      return finish(answeredWrongly(
          "the server does not speak HTTP/2: it did not choose h2 in the TLS handshake (ALPN)"));
    return true;
  }

  // Sends what there is to send. True: all of it is out. False: it waits, or the end has come.
  bool flush() {
    if (phase_ == Phase::dialogue) output_ += plan_.dialogue->takeOutput();
    while (!output_.empty() && !mute_) {
      const Wire::Step step = wire_->write(output_);
      switch (step.state) {
        case Wire::State::done:
          output_.erase(0, step.bytes);
          break;
        case Wire::State::wantRead:  // TLS; the reading that follows waits for it
        case Wire::State::turnOver:
          return false;
        case Wire::State::wantWrite:
          return wait(tcp::socket::wait_write);
        case Wire::State::closed:
        case Wire::State::reset:
          // What came before the end may decide: go on reading.
          mute_ = true;
          break;
        case Wire::State::failed:
          return finish(answeredWrongly(step.reason));
      }
    }
    return true;
  }

  // One turn of writing and reading; true: another one, at once.
  bool exchange() {
    if (flush() && !mute_)
      if (auto verdict = plan_.dialogue->sent()) return finish(std::move(*verdict));
    if (!done_) return false;
    std::array<char, 16'384> buffer;
    const Wire::Step step = wire_->read(buffer);
    switch (step.state) {
      case Wire::State::done:
        return hear({buffer.data(), step.bytes});
      case Wire::State::wantRead:
        return wait(tcp::socket::wait_read);
      case Wire::State::wantWrite:
        return wait(tcp::socket::wait_write);
      case Wire::State::turnOver:
        return awaitTurn();
      case Wire::State::closed:
        return finish(plan_.dialogue->ended(mute_ ? Dialogue::End::reset : Dialogue::End::closed));
      case Wire::State::reset:
        return finish(plan_.dialogue->ended(Dialogue::End::reset));
      case Wire::State::failed:
        return finish(answeredWrongly(step.reason));
    }
    return false;
  }

  bool hear(std::string_view bytes) {
    if (auto verdict = plan_.dialogue->receive(bytes)) return finish(std::move(*verdict));
    return !isTooMuch();
  }

  // Other probes go first. False, as wait().
  bool awaitTurn() {
    if (isTooMuch() || turnWaits_) return false;
    turnWaits_ = true;
    asio::post(context_.io, [self = shared_from_this()] {
      self->turnWaits_ = false;
      self->proceed();
    });
    return false;
  }

  // True: it has ended with that.
  bool isTooMuch() {
    if (wire_->received() <= kMostReceived) return false;
    finish(answeredWrongly(fmt::format("{} bytes without a usable answer", kMostReceived)));
    return true;
  }

  // False, for callers that have nothing more to do now.
  bool wait(tcp::socket::wait_type type) {
    bool& waits = type == tcp::socket::wait_read ? readWaits_ : writeWaits_;
    if (std::exchange(waits, true)) return false;
    socket_.async_wait(type, [self = shared_from_this(), &waits](const error_code& error) {
      waits = false;
      if (!error) self->proceed();
    });
    return false;
  }

  bool finish(Outcome outcome) {
    outcome.connectTime = connectTime_;
    // P9.2: without an answer to read it from.
    if (plan_.weighs && !outcome.weight)
      outcome.weight = ReportedWeight{ReportedWeight::Kind::unavailable, 0};
    if (plan_.tls && context_.resumption && outcome.kind == Outcome::Kind::success) remember();
    const ProbeDone done = std::exchange(done_, nullptr);
    if (plan_.lingers && outcome.kind == Outcome::Kind::success)
      linger();
    else
      close();
    if (done) done(std::move(outcome));
    return false;
  }

  void remember() {
    Resumption& resumption = *context_.resumption;
    resumption.succeeded(wire_->isResumed());
    resumption.keep(wire_->ticket());
    resumption.prefer(wire_->group());
  }

  // Until the peer says or ends something, or kLinger is over.
  void linger() {
    wire_->sayGoodbye();
    const auto timer = std::make_shared<asio::steady_timer>(context_.io, kLinger);
    timer->async_wait([self = shared_from_this(), timer](const error_code& cancelled) {
      if (!cancelled) self->close();
    });
    error_code ignored;
    socket_.cancel(ignored);  // a wait for writing
    socket_.async_wait(tcp::socket::wait_read,
                       [self = shared_from_this(), timer](const error_code& error) {
                         timer->cancel();
                         if (!error) self->takeTicket();
                         self->close();
                       });
  }

  // With TLS 1.3 it comes after the handshake.
  void takeTicket() {
    if (!plan_.tls || !context_.resumption) return;
    std::array<char, 256> ignored;
    wire_->beginTurn();
    static_cast<void>(wire_->read(ignored));
    context_.resumption->keep(wire_->ticket());
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

  ProbeContext context_;
  Plan plan_;
  const tcp::endpoint destination_;
  const Mark mark_;
  tcp::socket socket_;
  ProbeDone done_;  // empty: the verdict is given, or nobody waits for it
  const std::string_view header_;
  bool mayOffer_ = true;  // a ticket
  bool offered_ = false;
  std::optional<Wire> wire_;
  Phase phase_ = Phase::header;
  std::string output_;
  bool mute_ = false;  // the peer takes nothing any more
  bool readWaits_ = false, writeWaits_ = false, turnWaits_ = false;
  std::optional<std::chrono::microseconds> connectTime_;
};

class Running : public Conversation {
 public:
  explicit Running(std::shared_ptr<Talk> talk) : talk_(std::move(talk)) {}
  ~Running() override { talk_->cancel(); }
  std::optional<std::chrono::microseconds> connectTime() const override {
    return talk_->connectTime();
  }
  bool restsOnTicket() const override { return talk_->restsOnTicket(); }
  void offerNothing() override { talk_->offerNothing(); }

 private:
  std::shared_ptr<Talk> talk_;
};

}  // namespace

std::unique_ptr<Conversation> startConversation(ProbeContext context, const ProbeTarget& target,
                                                Plan plan, ProbeDone done) {
  auto talk = std::make_shared<Talk>(context, target, std::move(plan), std::move(done));
  talk->start();
  return std::make_unique<Running>(std::move(talk));
}

}  // namespace weir::manager
