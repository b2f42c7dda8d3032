// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/draft.h"
#include "config/enum_type.h"
#include "config/resource_schemas.h"
#include "config/types.h"
#include "weir/dns_name.h"

namespace weir::config {
namespace {

using GroupType = NetworkEndpointGroup::Type;

struct RawGroup : NetworkEndpointGroup {
  std::optional<GroupType> declaredType;
};

Type<std::string> hostName() {
  Type<std::string> type = textWhere("a DNS name", nullptr);
  type.read = [allowed = type.allowed](const Value& value, Reader& reader) {
    auto name = value.kind == Value::Kind::scalar ? normalizeDnsName(value.text) : std::nullopt;
    if (!name) reader.mustBe(value, allowed);
    return name;
  };
  return type;
}

const Schema<Endpoint>& endpointSchema() {
  static const auto schema = [] {
    Schema<Endpoint> s("an endpoint");
    s.field("ipAddress", ipv4HostAddress(), &Endpoint::ipAddress)
        .field("ipv6Address", ipv6HostAddress(), &Endpoint::ipv6Address)
        .field("port", integer(1, 65535), &Endpoint::port, "the group's defaultPort")
        .field("fqdn", hostName(), &Endpoint::fqdn)
        .field("instance", text(1024), &Endpoint::instance)
        .field("weight", integer(0, 1000), &Endpoint::weight, "what the health check reports")
        .ignored({"annotations"});
    return s;
  }();
  return schema;
}

const Schema<RawGroup>& schema() {
  static const auto schema = [] {
    Schema<RawGroup> s("a network endpoint group");
    s.required("name", resourceName(), &NetworkEndpointGroup::name)
        .field("zone", reference(), &NetworkEndpointGroup::zone)
        .field("networkEndpointType",
               choiceOf({GroupType::gceVmIp, GroupType::gceVmIpPort, GroupType::nonGcpPrivateIpPort,
                         GroupType::internetIpPort, GroupType::internetFqdnPort},
                        {{"SERVERLESS", "weir sends packets to addresses"},
                         {"PRIVATE_SERVICE_CONNECT", "weir sends packets to addresses"},
                         {"GCE_VM_IP_PORTMAP", "weir does not map ports"}}),
               &RawGroup::declaredType, "GCE_VM_IP without ports, GCE_VM_IP_PORT with")
        .field("defaultPort", integer(1, 65535), &NetworkEndpointGroup::defaultPort)
        .field("endpoints", listOf(mappingOf(endpointSchema())), &NetworkEndpointGroup::endpoints)
        .ignored({"kind", "id", "selfLink", "selfLinkWithId", "creationTimestamp", "region",
                  "network", "subnetwork", "description", "size", "annotations"})
        .refused({"cloudRun", "appEngine", "cloudFunction", "serverlessDeployment"},
                 "weir sends packets to addresses")
        .refused({"pscTargetService", "pscData"}, "weir sends packets to addresses");
    return s;
  }();
  return schema;
}

// The type of a group that does not say it.
GroupType impliedType(const NetworkEndpointGroup& group) {
  bool anyPort = group.defaultPort.has_value();
  for (const Endpoint& endpoint : group.endpoints) anyPort = anyPort || endpoint.port;
  return anyPort ? GroupType::gceVmIpPort : GroupType::gceVmIp;
}

bool hasAddress(const Endpoint& endpoint) { return endpoint.ipAddress || endpoint.ipv6Address; }

// What an endpoint must and must not have by the type of its group; empty: all is well.
std::string_view faultOf(const NetworkEndpointGroup& group, const Endpoint& endpoint) {
  if (group.type == GroupType::internetFqdnPort) {
    if (endpoint.fqdn.empty() || hasAddress(endpoint))
      return "an endpoint of type INTERNET_FQDN_PORT needs 'fqdn' and no address";
  } else {
    if (!endpoint.fqdn.empty())
      return "'fqdn' is allowed in groups of type INTERNET_FQDN_PORT only";
    if (!hasAddress(endpoint)) return "an endpoint needs 'ipAddress' or 'ipv6Address'";
  }
  const bool needsPort = group.type != GroupType::gceVmIp;
  if (!needsPort && endpoint.port)
    return "'port' is not allowed in a group of type GCE_VM_IP, which stands for addresses";
  if (needsPort && !endpoint.port) return "the endpoint needs 'port', or its group 'defaultPort'";
  return "";
}

}  // namespace

void readEndpoint(const Value& value, Endpoint& out, Reader& reader) {
  endpointSchema().read(value, out, reader);
}

void readGroup(const Value& value, NetworkEndpointGroup& out, Reader& reader) {
  RawGroup raw;
  schema().read(value, raw, reader);
  out = raw;
  if (reader.isWrong(value, "networkEndpointType") || reader.isWrong(value, "defaultPort")) return;

  out.type = raw.declaredType.value_or(impliedType(raw));
  if (out.type == GroupType::gceVmIp && raw.defaultPort) {
    reader.error(locate(value, "defaultPort"),
                 "'defaultPort' is not allowed in a group of type GCE_VM_IP, which stands for "
                 "addresses");
    return;
  }
  for (std::size_t i = 0; i < out.endpoints.size(); ++i) {
    Endpoint& endpoint = out.endpoints[i];
    if (!endpoint.port) endpoint.port = out.defaultPort;
    const Value* written = valueAt(value, fmt::format("endpoints.{}", i));
    if (written == nullptr || reader.problems().isWrong(*written)) continue;
    if (const auto fault = faultOf(out, endpoint); !fault.empty())
      reader.error(written->mark, std::string(fault));
  }
}

ValuePtr writeEndpoint(const Endpoint& endpoint) { return endpointSchema().write(endpoint); }

ValuePtr writeGroup(const NetworkEndpointGroup& group) {
  RawGroup raw{group, {}};
  if (group.type != impliedType(group)) raw.declaredType = group.type;
  for (Endpoint& endpoint : raw.endpoints)
    if (endpoint.port == group.defaultPort) endpoint.port.reset();
  return schema().write(raw);
}

const MappingInfo& groupFields() { return schema().info(); }

}  // namespace weir::config
