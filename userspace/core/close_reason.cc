// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/close_reason.h"

namespace weir {

std::string_view toString(CloseReason reason) noexcept {
  switch (reason) {
    case CloseReason::none:
      return "";
    case CloseReason::connectionRefused:
      return "connection_refused";
    case CloseReason::connectionTimeout:
      return "connection_timeout";
    case CloseReason::connectionTerminated:
      return "connection_terminated";
    case CloseReason::destinationUnavailable:
      return "destination_unavailable";
    case CloseReason::connectionLimitReached:
      return "connection_limit_reached";
    case CloseReason::tlsProtocolError:
      return "tls_protocol_error";
    case CloseReason::proxyInternalError:
      return "proxy_internal_error";
  }
  return "";
}

}  // namespace weir
