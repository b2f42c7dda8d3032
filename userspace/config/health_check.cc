// SPDX-License-Identifier: GPL-2.0-or-later
#include <array>

#include "config/draft.h"
#include "config/resource_schemas.h"
#include "config/types.h"

namespace weir::config {
namespace {

using CheckType = HealthCheck::Type;
using PortSpecification = HealthCheck::PortSpecification;
using ProxyHeader = HealthCheck::ProxyHeader;
using Target = HealthCheck::Target;

constexpr std::size_t kLongestText = 1024;  // H4, H5

// The block of one type: tcpHealthCheck and its like.
struct Probe {
  std::optional<std::uint16_t> port;
  PortSpecification portSpecification = PortSpecification::fixedPort;
  ProxyHeader proxyHeader = ProxyHeader::none;
  std::string request;
  std::string response;
  std::string host;
  std::string requestPath = "/";
  std::string grpcServiceName;
  friend bool operator==(const Probe&, const Probe&) = default;
};

struct RawHealthCheck : HealthCheck {
  std::optional<Probe> tcp, ssl, http, https, http2, grpc, grpcTls;
};

// Everything that depends on the type (H1, H3).
struct TypeRow {
  CheckType type;
  std::string_view name;
  std::string_view block;
  std::optional<Probe> RawHealthCheck::*probe;
  std::uint16_t defaultPort;  // 0: must be given
};
constexpr std::array<TypeRow, 7> kTypes{{
    {CheckType::tcp, "TCP", "tcpHealthCheck", &RawHealthCheck::tcp, 80},
    {CheckType::ssl, "SSL", "sslHealthCheck", &RawHealthCheck::ssl, 443},
    {CheckType::http, "HTTP", "httpHealthCheck", &RawHealthCheck::http, 80},
    {CheckType::https, "HTTPS", "httpsHealthCheck", &RawHealthCheck::https, 443},
    {CheckType::http2, "HTTP2", "http2HealthCheck", &RawHealthCheck::http2, 443},
    {CheckType::grpc, "GRPC", "grpcHealthCheck", &RawHealthCheck::grpc, 0},
    {CheckType::grpcWithTls, "GRPC_WITH_TLS", "grpcTlsHealthCheck", &RawHealthCheck::grpcTls, 0},
}};

Type<std::string> requestPath() {
  return textWhere("a path that begins with '/', at most 1024 printable ASCII characters, no blank",
                   [](std::string_view t) {
                     return t.size() <= kLongestText && t.substr(0, 1) == "/" && isPrintable(t) &&
                            t.find(' ') == t.npos;
                   });
}

Type<std::string> hostHeader() {
  return textWhere("a host name or address, at most 255 printable ASCII characters, no blank",
                   [](std::string_view t) {
                     return t.size() <= 255 && isPrintable(t) && t.find_first_of(" /") == t.npos;
                   });
}

// The fields that every block has; `defaultPort` as text, empty for none.
Schema<Probe> probeSchema(std::string title, std::string defaultPort) {
  Schema<Probe> schema(std::move(title));
  schema.field("port", integer(1, 65535), &Probe::port, std::move(defaultPort))
      .field("portSpecification",
             choice<PortSpecification>(
                 {{"USE_FIXED_PORT", PortSpecification::fixedPort},
                  {"USE_SERVING_PORT", PortSpecification::servingPort}},
                 {{"USE_NAMED_PORT", "named ports belong to instance groups; give the port"}}),
             &Probe::portSpecification)
      .refused({"portName"}, "named ports belong to instance groups; give the port");
  return schema;
}

void addProxyHeader(Schema<Probe>& schema) {
  schema.field(
      "proxyHeader",
      choice<ProxyHeader>({{"NONE", ProxyHeader::none}, {"PROXY_V1", ProxyHeader::proxyV1}}),
      &Probe::proxyHeader);
}

Schema<Probe> connectSchema(std::string title, std::string defaultPort) {
  Schema<Probe> schema = probeSchema(std::move(title), std::move(defaultPort));
  addProxyHeader(schema);
  schema.field("request", printableText(kLongestText), &Probe::request)
      .field("response", printableText(kLongestText), &Probe::response);
  return schema;
}

Schema<Probe> httpSchema(std::string title, std::string defaultPort) {
  Schema<Probe> schema = probeSchema(std::move(title), std::move(defaultPort));
  addProxyHeader(schema);
  schema.field("host", hostHeader(), &Probe::host, "the probe's destination address")
      .field("requestPath", requestPath(), &Probe::requestPath)
      .field("response", printableText(kLongestText), &Probe::response);
  return schema;
}

Schema<Probe> grpcSchema(std::string title) {
  Schema<Probe> schema = probeSchema(std::move(title), "");
  schema.field("grpcServiceName", printableText(kLongestText), &Probe::grpcServiceName);
  return schema;
}

Type<CheckType> checkType() {
  std::vector<Choice<CheckType>> choices;
  for (const TypeRow& row : kTypes) choices.push_back({row.name, row.type});
  return choice<CheckType>(std::move(choices));
}

const Schema<HealthCheck>& logSchema() {
  static const auto schema = [] {
    Schema<HealthCheck> s("logConfig");
    s.field("enable", boolean(), &HealthCheck::logEnable);
    return s;
  }();
  return schema;
}

const Schema<RawHealthCheck>& schema() {
  static const auto tcp = connectSchema("tcpHealthCheck", "80");
  static const auto ssl = connectSchema("sslHealthCheck", "443");
  static const auto http = httpSchema("httpHealthCheck", "80");
  static const auto https = httpSchema("httpsHealthCheck", "443");
  static const auto http2 = httpSchema("http2HealthCheck", "443");
  static const auto grpc = grpcSchema("grpcHealthCheck");
  static const auto grpcTls = grpcSchema("grpcTlsHealthCheck");
  static const auto schema = [] {
    Schema<RawHealthCheck> s("a health check");
    s.required("name", resourceName(), &HealthCheck::name)
        .field("type", checkType(), &HealthCheck::type)
        .field("checkIntervalSec", integer(1, 300), &HealthCheck::checkInterval)
        .field("timeoutSec", integer(1, 300), &HealthCheck::timeout)
        .field("healthyThreshold", integer(1, 10), &HealthCheck::healthyThreshold)
        .field("unhealthyThreshold", integer(1, 10), &HealthCheck::unhealthyThreshold)
        .field("probeTarget",
               choice<Target>(
                   {{"VIRTUAL_IP", Target::virtualAddress}, {"ENDPOINT", Target::endpoint}}),
               &HealthCheck::target)
        .field("tcpHealthCheck", mappingOf(tcp), &RawHealthCheck::tcp)
        .field("sslHealthCheck", mappingOf(ssl), &RawHealthCheck::ssl)
        .field("httpHealthCheck", mappingOf(http), &RawHealthCheck::http)
        .field("httpsHealthCheck", mappingOf(https), &RawHealthCheck::https)
        .field("http2HealthCheck", mappingOf(http2), &RawHealthCheck::http2)
        .field("grpcHealthCheck", mappingOf(grpc), &RawHealthCheck::grpc)
        .field("grpcTlsHealthCheck", mappingOf(grpcTls), &RawHealthCheck::grpcTls)
        .inside("logConfig", logSchema())
        .ignored({"kind", "id", "selfLink", "selfLinkWithId", "creationTimestamp", "region",
                  "description"})
        .refused({"sourceRegions"}, "every node of weir probes for itself")
        .refused({"udpHealthCheck"}, "there are no UDP health checks; probe a TCP or HTTP port");
    return s;
  }();
  return schema;
}

const TypeRow& rowOf(CheckType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row;
  return kTypes.front();
}

// The block of another type is a mistake.
void checkBlocks(const Value& value, CheckType type, Reader& reader) {
  const TypeRow& row = rowOf(type);
  for (const TypeRow& other : kTypes) {
    const auto* entry = value.find(other.block);
    if (entry == nullptr || other.type == type) continue;
    reader.error(entry->mark,
                 fmt::format("{} does not belong to type {}{}; allowed is {}", other.block,
                             row.name, value.find("type") ? "" : " (the default)", row.block));
  }
}

// Takes over the block of the type and settles which port is probed (H3).
void takeProbe(const Value& value, const RawHealthCheck& raw, HealthCheck& out, Reader& reader) {
  const TypeRow& row = rowOf(raw.type);
  const Probe probe = (raw.*row.probe).value_or(Probe{});
  const bool fixedPort = probe.portSpecification == PortSpecification::fixedPort;
  if (probe.port && !fixedPort)
    reader.error(locate(value, fmt::format("{}.port", row.block)),
                 "port cannot be given with portSpecification USE_SERVING_PORT, which probes the "
                 "port of the endpoint");
  if (!probe.port && fixedPort && row.defaultPort == 0)
    reader.error(
        locate(value, value.find(row.block) != nullptr ? row.block : "type"),
        fmt::format("{} needs a port in {}: a whole number from 1 to 65535", row.name, row.block));
  out.port = probe.port.value_or(row.defaultPort);
  out.portSpecification = probe.portSpecification;
  out.proxyHeader = probe.proxyHeader;
  out.request = probe.request;
  out.response = probe.response;
  out.host = probe.host;
  out.requestPath = probe.requestPath;
  out.grpcServiceName = probe.grpcServiceName;
}

// takeProbe() the other way round.
Probe probeOf(const HealthCheck& check) {
  const bool fixedPort = check.portSpecification == PortSpecification::fixedPort;
  Probe probe;
  if (fixedPort && check.port != rowOf(check.type).defaultPort) probe.port = check.port;
  probe.portSpecification = check.portSpecification;
  probe.proxyHeader = check.proxyHeader;
  probe.request = check.request;
  probe.response = check.response;
  probe.host = check.host;
  probe.requestPath = check.requestPath;
  probe.grpcServiceName = check.grpcServiceName;
  return probe;
}

// H2
void checkTimeout(const Value& value, const HealthCheck& check, Reader& reader) {
  if (check.timeout <= check.checkInterval) return;
  const bool isGiven = value.find("timeoutSec") != nullptr;
  reader.error(
      locate(value, isGiven ? "timeoutSec" : "checkIntervalSec"),
      fmt::format("timeoutSec ({}{}) must be at most checkIntervalSec ({})", check.timeout.count(),
                  isGiven ? "" : " when not given", check.checkInterval.count()));
}

}  // namespace

void readHealthCheck(const Value& value, HealthCheck& out, Reader& reader) {
  RawHealthCheck raw;
  schema().read(value, raw, reader);
  out = raw;
  if (!reader.isWrong(value, "timeoutSec") && !reader.isWrong(value, "checkIntervalSec"))
    checkTimeout(value, raw, reader);
  if (reader.isWrong(value, "type")) return;
  checkBlocks(value, raw.type, reader);
  if (!reader.isWrong(value, rowOf(raw.type).block)) takeProbe(value, raw, out, reader);
}

ValuePtr writeHealthCheck(const HealthCheck& check) {
  RawHealthCheck raw{check, {}, {}, {}, {}, {}, {}, {}};
  if (Probe probe = probeOf(check); probe != Probe{})
    raw.*rowOf(check.type).probe = std::move(probe);
  return schema().write(raw);
}

const MappingInfo& healthCheckFields() { return schema().info(); }

}  // namespace weir::config
