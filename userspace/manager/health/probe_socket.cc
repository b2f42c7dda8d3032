// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/probe_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>

namespace weir::manager {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

tcp::endpoint endpointOf(Address address, std::uint16_t port) {
  if (address.isIpv4()) return {asio::ip::address_v4(address.ipv4Bits()), port};
  return {asio::ip::address_v6(address.bytes()), port};
}

error_code prepare(tcp::socket& socket, const tcp::endpoint& destination, Mark mark) {
  error_code error;
  socket.open(destination.protocol(), error);
  if (error) return error;
  socket.set_option(asio::socket_base::linger(true, 0), error);
  if (error) return error;
  const std::uint32_t value = mark.value();
  if (value != 0 &&
      ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_MARK, &value, sizeof value) != 0)
    return error_code(errno, boost::system::system_category());
  return {};
}

}  // namespace

Outcome outcomeOf(const error_code& error) {
  using Kind = Outcome::Kind;
  if (error == asio::error::connection_refused)
    return {Kind::wrongAnswer, "connection refused", {}};
  if (error == asio::error::connection_reset) return {Kind::wrongAnswer, "connection reset", {}};
  if (error == asio::error::eof || error == asio::error::broken_pipe)
    return {Kind::wrongAnswer, "connection closed without the expected answer", {}};
  if (error == asio::error::host_unreachable) return {Kind::noAnswer, "host unreachable", {}};
  if (error == asio::error::network_unreachable) return {Kind::noAnswer, "network unreachable", {}};
  if (error == asio::error::timed_out) return {Kind::noAnswer, "connection timed out", {}};
  return {Kind::noAnswer, fmt::format("probe failed: {}", error.message()), {}};
}

void connectProbe(tcp::socket& socket, const ProbeTarget& target,
                  std::function<void(std::optional<Outcome>)> done) {
  const tcp::endpoint destination = endpointOf(target.address, target.port);
  if (const error_code error = prepare(socket, destination, target.mark)) {
    asio::post(socket.get_executor(), [error, done] { done(outcomeOf(error)); });
    return;
  }
  const bool proxyHeader = target.check->proxyHeader == HealthCheck::ProxyHeader::proxyV1;
  socket.async_connect(destination, [&socket, proxyHeader, done](const error_code& error) {
    // Cancelled: the owner is gone, and `socket` with it.
    if (error == asio::error::operation_aborted) return;
    if (error) return done(outcomeOf(error));
    if (!proxyHeader) return done(std::nullopt);
    asio::async_write(socket, asio::buffer(kProxyHeader),
                      [done](const error_code& writeError, std::size_t) {
                        if (writeError == asio::error::operation_aborted) return;
                        if (writeError) return done(outcomeOf(writeError));
                        done(std::nullopt);
                      });
  });
}

}  // namespace weir::manager
