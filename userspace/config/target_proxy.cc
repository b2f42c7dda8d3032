// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/enum_type.h"
#include "config/resource_schemas.h"
#include "config/types.h"

namespace weir::config {
namespace {

using ProxyHeader = TargetTcpProxy::ProxyHeader;

const Schema<TargetTcpProxy>& schema() {
  static const auto schema = [] {
    Schema<TargetTcpProxy> s("a target TCP proxy");
    s.required("name", resourceName(), &TargetTcpProxy::name)
        .field("service", reference(), &TargetTcpProxy::service)
        .field("proxyHeader",
               choiceOf({ProxyHeader::none, ProxyHeader::proxyV1, ProxyHeader::proxyV2}),
               &TargetTcpProxy::proxyHeader)
        .field("acceptProxyFrom", listOf(prefix()), &TargetTcpProxy::acceptProxyFrom)
        .checked("proxyBind", alwaysFalse("weir is no service mesh"))
        .ignored({"kind", "id", "selfLink", "selfLinkWithId", "creationTimestamp", "fingerprint",
                  "region", "description", "loadBalancingScheme"});
    return s;
  }();
  return schema;
}

}  // namespace

void readTargetProxy(const Value& value, TargetTcpProxy& out, Reader& reader) {
  schema().read(value, out, reader);
}

ValuePtr writeTargetProxy(const TargetTcpProxy& proxy) { return schema().write(proxy); }

const MappingInfo& targetProxyFields() { return schema().info(); }

}  // namespace weir::config
