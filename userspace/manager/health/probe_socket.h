// SPDX-License-Identifier: GPL-2.0-or-later
//
// The first steps that all types of probes share: a marked TCP connection, and the PROXY header.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <optional>
#include <string_view>

#include "manager/health/outcome.h"
#include "manager/health/probe.h"

namespace weir::manager {

// H8, to the byte.
inline constexpr std::string_view kProxyHeader = "PROXY UNKNOWN\r\n";

// What a socket error means for the backend: refused is an answer, an unreachable host is none.
Outcome outcomeOf(const boost::system::error_code&);

// Connects `socket` (closed; it must outlive the call back, or be closed first) to the target and
// sends the PROXY header where the check wants one. nullopt: connected and sent.
//
// The socket is reset when it is closed, not shut down: probes of all backends of a service share
// one destination, and closed connections waiting a minute in TIME_WAIT would use up its ports.
void connectProbe(boost::asio::ip::tcp::socket& socket, const ProbeTarget&,
                  std::function<void(std::optional<Outcome>)> done);

}  // namespace weir::manager
