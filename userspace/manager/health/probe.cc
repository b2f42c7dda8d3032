// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/probe.h"

#include <fmt/format.h>

#include "manager/health/http_probe.h"
#include "manager/health/tcp_probe.h"

namespace weir::manager {

std::string ProbeTarget::destination() const {
  return address.isIpv4() ? fmt::format("{}:{}", address.toString(), port)
                          : fmt::format("[{}]:{}", address.toString(), port);
}

std::string_view toString(HealthCheck::Type type) noexcept {
  switch (type) {
    case HealthCheck::Type::tcp:
      return "TCP";
    case HealthCheck::Type::ssl:
      return "SSL";
    case HealthCheck::Type::http:
      return "HTTP";
    case HealthCheck::Type::https:
      return "HTTPS";
    case HealthCheck::Type::http2:
      return "HTTP2";
    case HealthCheck::Type::grpc:
      return "GRPC";
    case HealthCheck::Type::grpcWithTls:
      return "GRPC_WITH_TLS";
  }
  return "?";
}

bool isSupported(HealthCheck::Type type) noexcept {
  switch (type) {
    case HealthCheck::Type::tcp:
    case HealthCheck::Type::http:
      return true;
    case HealthCheck::Type::ssl:
    case HealthCheck::Type::https:
    case HealthCheck::Type::http2:
    case HealthCheck::Type::grpc:
    case HealthCheck::Type::grpcWithTls:
      return false;
  }
  return false;
}

std::unique_ptr<Probe> startProbe(ProbeContext context, const ProbeTarget& target, ProbeDone done) {
  switch (target.check->type) {
    case HealthCheck::Type::tcp:
      return startTcpProbe(context, target, std::move(done));
    case HealthCheck::Type::http:
      return startHttpProbe(context, target, std::move(done));
    case HealthCheck::Type::ssl:
    case HealthCheck::Type::https:
    case HealthCheck::Type::http2:
    case HealthCheck::Type::grpc:
    case HealthCheck::Type::grpcWithTls:
      break;
  }
  return nullptr;
}

}  // namespace weir::manager
