// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/probe.h"

#include <fmt/format.h>

#include "manager/health/conversation.h"
#include "manager/health/grpc_dialogue.h"
#include "manager/health/http2_dialogue.h"
#include "manager/health/resumable.h"
#include "manager/health/text_dialogue.h"

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

bool carriesWeight(HealthCheck::Type type) noexcept {
  switch (type) {
    case HealthCheck::Type::http:
    case HealthCheck::Type::https:
    case HealthCheck::Type::http2:
      return true;
    case HealthCheck::Type::tcp:
    case HealthCheck::Type::ssl:
    case HealthCheck::Type::grpc:
    case HealthCheck::Type::grpcWithTls:
      return false;
  }
  return false;
}

namespace {

Plan textPlan(const HealthCheck& check, bool tls) {
  Plan plan{std::make_unique<TextDialogue>(check.request, check.response), tls};
  const bool says =
      tls || !check.request.empty() || check.proxyHeader != HealthCheck::ProxyHeader::none;
  plan.lingers = says && check.response.empty();
  return plan;
}

// SNI can hold names only (RFC 6066), and a check's host may be an address, or have a port.
std::string serverNameOf(const std::string& host) {
  if (Address::parse(host) || host.starts_with('[')) return {};
  const std::string name = host.substr(0, host.find(':'));
  return Address::parse(name) ? std::string() : name;
}

HttpRequest requestOf(const ProbeTarget& target) {
  const HealthCheck& check = *target.check;
  const std::string address = target.address.isIpv4()
                                  ? target.address.toString()
                                  : fmt::format("[{}]", target.address.toString());
  return {check.requestPath, check.host.empty() ? address : check.host, check.response};
}

Plan httpPlan(const ProbeTarget& target, bool tls) {
  return {std::make_unique<HttpDialogue>(requestOf(target)), tls, Alpn::http1,
          serverNameOf(target.check->host), true};
}

Plan http2Plan(const ProbeTarget& target) {
  return {std::make_unique<Http2Dialogue>(requestOf(target)), true, Alpn::http2,
          serverNameOf(target.check->host), true};
}

Plan grpcPlan(const ProbeTarget& target, bool tls) {
  const HealthCheck& check = *target.check;
  const GrpcRequest request{target.destination(), check.grpcServiceName, tls};
  return {std::make_unique<GrpcDialogue>(request), tls, tls ? Alpn::http2 : Alpn::none};
}

Plan planOf(const ProbeTarget& target) {
  switch (target.check->type) {
    case HealthCheck::Type::tcp:
      return textPlan(*target.check, false);
    case HealthCheck::Type::ssl:
      return textPlan(*target.check, true);
    case HealthCheck::Type::http:
      return httpPlan(target, false);
    case HealthCheck::Type::https:
      return httpPlan(target, true);
    case HealthCheck::Type::http2:
      return http2Plan(target);
    case HealthCheck::Type::grpc:
      return grpcPlan(target, false);
    case HealthCheck::Type::grpcWithTls:
      return grpcPlan(target, true);
  }
  return {};
}

}  // namespace

Outcome timedOut(const Probe& probe, const HealthCheck& check) {
  Outcome outcome = notAnswered(fmt::format(
      "no {} within {} s", probe.connectTime() ? "answer" : "connection", check.timeout.count()));
  outcome.connectTime = probe.connectTime();
  if (carriesWeight(check.type))
    outcome.weight = ReportedWeight{ReportedWeight::Kind::unavailable, 0};
  return outcome;
}

std::unique_ptr<Probe> startProbe(ProbeContext context, const ProbeTarget& target, ProbeDone done) {
  Plan plan = planOf(target);
  if (plan.tls && context.resumption)
    return startResumable(std::move(context), target, std::move(plan), planOf, std::move(done));
  return startConversation(context, target, std::move(plan), std::move(done));
}

}  // namespace weir::manager
