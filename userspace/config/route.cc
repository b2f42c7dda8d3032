// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/resource_schemas.h"
#include "config/types.h"

namespace weir::config {
namespace {

// A forwarding rule by name, URL or address; the address is resolved when all rules are known.
Type<std::string> nextHop() {
  Type<std::string> type;
  type.allowed = "the name, URL or IP address of a forwarding rule";
  type.read = [byName = reference(), allowed = type.allowed](
                  const Value& value, Reader& reader) -> std::optional<std::string> {
    if (value.kind == Value::Kind::scalar) {
      if (const auto address = Address::parse(value.text)) return address->toString();
      if (isResourceName(lastSegment(value.text))) return byName.read(value, reader);
    }
    reader.mustBe(value, allowed);
    return std::nullopt;
  };
  return type;
}

const Schema<Route>& schema() {
  static const auto schema = [] {
    Schema<Route> s("a route");
    s.required("name", resourceName(), &Route::name)
        .required("destRange", prefix(), &Route::destRange)
        .field("priority", integer(0, 65535), &Route::priority)
        .required("nextHopIlb", nextHop(), &Route::nextHopIlb)
        .ignored({"kind", "id", "selfLink", "selfLinkWithId", "creationTimestamp", "network",
                  "description", "warnings", "routeType", "routeStatus", "nextHopOrigin",
                  "nextHopMed", "nextHopInterRegionCost", "asPaths", "params"})
        .refused(
            {"nextHopInstance", "nextHopIp", "nextHopNetwork", "nextHopGateway", "nextHopPeering",
             "nextHopVpnTunnel", "nextHopHub", "nextHopInterconnectAttachment"},
            "weir routes to load balancers only (nextHopIlb); the kernel has the other routes")
        .refused({"tags"}, "a route is for every packet that this machine routes");
    return s;
  }();
  return schema;
}

}  // namespace

void readRoute(const Value& value, Route& out, Reader& reader) {
  schema().read(value, out, reader);
}

ValuePtr writeRoute(const Route& route) { return schema().write(route); }

const MappingInfo& routeFields() { return schema().info(); }

}  // namespace weir::config
