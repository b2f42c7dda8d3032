// SPDX-License-Identifier: GPL-2.0-or-later
//
// Why the TCP proxy closed a connection (X7.2), in Google's words: a reason, and a detail beside
// it.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

enum class CloseReason : std::uint8_t {
  none,                    // served
  connectionRefused,       // nothing listens where the client went, or the backend refused
  connectionTimeout,       // a time limit passed: hello, connect, idle, drain
  connectionTerminated,    // one side reset or ended it
  destinationUnavailable,  // no route, or no backend that may serve
  connectionLimitReached,  // the circuit breaker (X4.4)
  tlsProtocolError,        // the hello cannot be routed by (X6.2)
  proxyInternalError,      // weir's own fault
};
inline constexpr std::size_t kCloseReasons = 8;
std::string_view toString(CloseReason) noexcept;  // "connection_refused", ...; none: ""

// Details that decisions give; those of a hello are toString(HelloProblem).
namespace close_detail {
inline constexpr std::string_view kNoListener = "no_listener";
inline constexpr std::string_view kDestinationNotFound = "destination_not_found";
inline constexpr std::string_view kFailedToPickBackend = "failed_to_pick_backend";
inline constexpr std::string_view kFailedToConnect = "failed_to_connect_to_backend";
inline constexpr std::string_view kMaxConnections = "service_max_connections_reached";
}  // namespace close_detail

}  // namespace weir
