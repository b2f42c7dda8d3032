// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/http_server.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <map>
#include <optional>

#include "base/log.h"
#include "manager/api/connection_limit.h"
#include "manager/api/http_session.h"
#include "manager/api/peer.h"
#include "weir/address.h"

namespace weir::manager {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// An address of the node's own and a port, both numeric.
std::optional<tcp::endpoint> parseEndpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const std::string_view digits = text.substr(colon + 1);
  unsigned short port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  error_code bad;
  const auto address = asio::ip::make_address(std::string(host), bad);
  if (error != std::errc{} || end != digits.data() + digits.size() || bad) return std::nullopt;
  return tcp::endpoint(address, port);
}

}  // namespace

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(asio::io_context& context, HttpHandler handle, std::chrono::milliseconds wait)
      : io(context), handler(std::move(handle)), patience(wait), retry(context) {}

  template <class Acceptor>
  void accept(std::optional<Acceptor>& acceptor) {
    acceptorOf(*acceptor).async_accept(
        [weak = weak_from_this(), &acceptor](const error_code& error, auto socket) {
          const auto self = weak.lock();
          if (!self || !acceptor || error == asio::error::operation_aborted) return;
          if (!error) {
            const Client client = self->clientOf(*acceptor, socket.native_handle());
            self->welcome(HttpSession::Socket(std::move(socket)), client);
            return self->accept(acceptor);
          }
          // Out of descriptors: neither spin nor stop accepting.
          self->retry.expires_after(std::chrono::milliseconds(200));
          self->retry.async_wait([weak, &acceptor](const error_code& cancelled) {
            const auto again = weak.lock();
            if (!cancelled && again && acceptor) again->accept(acceptor);
          });
        });
  }

  static LocalListener::Acceptor& acceptorOf(LocalListener& listener) {
    return listener.acceptor();
  }
  static tcp::acceptor& acceptorOf(tcp::acceptor& acceptor) { return acceptor; }

  Client clientOf(const LocalListener&, int socket) const {
    const auto peer = peerOf(socket);
    if (!peer) return {std::nullopt, Access::none};
    return {peer->user, accessOf(*peer, groups)};
  }
  static Client clientOf(const tcp::acceptor&, int) noexcept { return {}; }

  void welcome(HttpSession::Socket socket, const Client& client) {
    HttpResponse refusal;
    if (client.access == Access::none)
      refusal =
          errorResponse(403, "only root and the groups weir and weir-view may use this socket");
    else if (const std::string full = limit.refusal(client); !full.empty())
      refusal = errorResponse(503, full);
    const bool refused = !refusal.body.empty();
    // Who is refused is told so, unless too many are being told already.
    if (refused && refusals >= kMostRefusals) return;
    auto session = makeHttpSession(std::move(socket), handler, client.access, patience,
                                   [weak = weak_from_this()](HttpSession* gone) {
                                     if (const auto self = weak.lock()) self->leave(gone);
                                   });
    sessions.emplace(session.get(), Held{session, client, refused});
    if (refused) {
      ++refusals;
      session->refuse(std::move(refusal));
    } else {
      limit.add(client);
      session->start();
    }
  }

  void leave(HttpSession* gone) {
    const auto found = sessions.find(gone);
    if (found == sessions.end()) return;
    if (found->second.refused)
      --refusals;
    else
      limit.remove(found->second.client);
    sessions.erase(found);
  }

  struct Held {
    std::weak_ptr<HttpSession> session;
    Client client;
    bool refused = false;
  };
  static constexpr std::size_t kMostRefusals = 64;

  asio::io_context& io;
  HttpHandler handler;
  std::chrono::milliseconds patience;
  asio::steady_timer retry;
  SocketGroups groups;
  std::optional<LocalListener> local;
  std::optional<tcp::acceptor> tcpAcceptor;
  ConnectionLimit limit;
  std::map<HttpSession*, Held> sessions;
  std::size_t refusals = 0;  // of the sessions
};

HttpServer::HttpServer(asio::io_context& io, HttpHandler handler,
                       std::chrono::milliseconds patience)
    : impl_(std::make_shared<Impl>(io, std::move(handler), patience)) {}

HttpServer::~HttpServer() { stop(); }

Status HttpServer::listenLocal(const std::filesystem::path& path, const std::string& group,
                               const std::string& viewGroup) {
  return listenLocal(path, SocketGroups::named(group, viewGroup));
}

Status HttpServer::listenLocal(const std::filesystem::path& path, const SocketGroups& groups) {
  auto listener = manager::listenLocal(impl_->io, path, groups);
  if (!listener.ok()) return listener.error();
  impl_->groups = groups;
  impl_->local.emplace(std::move(listener).value());
  impl_->accept(impl_->local);
  return success();
}

Status HttpServer::listenTcp(const std::string& address) {
  const auto endpoint = parseEndpoint(address);
  if (!endpoint)
    return Error{fmt::format("\"{}\" is not ADDRESS:PORT, such as 127.0.0.1:9147", address)};
  tcp::acceptor acceptor(impl_->io);
  error_code error;
  acceptor.open(endpoint->protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(*endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return Error{fmt::format("cannot listen on {}: {}", address, error.message())};
  impl_->tcpAcceptor.emplace(std::move(acceptor));
  impl_->accept(impl_->tcpAcceptor);
  return success();
}

unsigned short HttpServer::port() const { return impl_->tcpAcceptor->local_endpoint().port(); }

void HttpServer::stop() {
  impl_->retry.cancel();
  impl_->local.reset();
  impl_->tcpAcceptor.reset();
  const auto sessions = impl_->sessions;  // each leaves as it closes
  for (const auto& [key, held] : sessions)
    if (const auto session = held.session.lock()) session->close();
}

}  // namespace weir::manager
