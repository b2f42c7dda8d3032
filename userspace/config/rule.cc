// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "config/draft.h"
#include "config/resource_schemas.h"
#include "config/types.h"

namespace weir::config {
namespace {

struct RawRule : ForwardingRule {
  std::optional<std::vector<std::int64_t>> portList;
  std::optional<Ports> range;
  std::optional<bool> allPorts;
};

Type<Protocol> ruleProtocol() {
  constexpr std::string_view useL3 = "use L3_DEFAULT, which carries every protocol";
  return choice<Protocol>(
      {{"TCP", Protocol::tcp}, {"UDP", Protocol::udp}, {"L3_DEFAULT", Protocol::none}},
      {{"ESP", useL3}, {"AH", useL3}, {"SCTP", useL3}, {"ICMP", useL3}});
}

const Schema<RawRule>& schema() {
  static const auto schema = [] {
    Schema<RawRule> s("a forwarding rule");
    s.required("name", resourceName(), &ForwardingRule::name)
        .field("loadBalancingScheme", passthroughScheme(), &ForwardingRule::scheme)
        .required("IPAddress", virtualAddress(), &ForwardingRule::address)
        .field("IPProtocol", ruleProtocol(), &ForwardingRule::protocol)
        .field("ports", listOf(integer(1, 65535), 5), &RawRule::portList)
        .field("portRange", portRange(), &RawRule::range)
        .field("allPorts", boolean(), &RawRule::allPorts, "false")
        .required("backendService", reference(), &ForwardingRule::backendService)
        .checked("isMirroringCollector", alwaysFalse("weir does not mirror packets"))
        .ignored({"kind",
                  "id",
                  "selfLink",
                  "selfLinkWithId",
                  "creationTimestamp",
                  "fingerprint",
                  "region",
                  "network",
                  "subnetwork",
                  "description",
                  "labels",
                  "labelFingerprint",
                  "ipVersion",
                  "networkTier",
                  "allowGlobalAccess",
                  "serviceLabel",
                  "serviceName",
                  "noAutomateDnsZone",
                  "serviceDirectoryRegistrations",
                  "baseForwardingRule",
                  "pscConnectionId",
                  "pscConnectionStatus",
                  "allowPscGlobalAccess"})
        .refused({"target"}, kProxyOnly)
        .refused({"sourceIpRanges"}, "a rule takes packets of every source; filter with nftables")
        .refused({"metadataFilters"}, "weir is no service mesh")
        .refused({"ipCollection"}, "give the address itself in IPAddress");
    return s;
  }();
  return schema;
}

// The list as ranges; a port twice is a mistake.
std::vector<PortRange> portsOf(const Value& value, const std::vector<std::int64_t>& list,
                               Reader& reader) {
  if (list.empty())
    reader.error(locate(value, "ports"), "ports must be a list of 1 to 5 ports; it is empty");
  std::vector<PortRange> ports;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto port = static_cast<std::uint16_t>(list[i]);
    const PortRange range{port, port};
    if (std::find(ports.begin(), ports.end(), range) != ports.end())
      reader.error(locate(value, fmt::format("ports.{}", i)),
                   fmt::format("port {} is listed twice", port));
    ports.push_back(range);
  }
  return ports;
}

// P8.2: exactly one way to say which ports.
void takePorts(const Value& value, const RawRule& raw, ForwardingRule& out, Reader& reader) {
  int given = 0;
  std::string_view place = "name";
  for (const std::string_view key : {"ports", "portRange", "allPorts"}) {
    if (value.find(key) == nullptr || (key == "allPorts" && raw.allPorts == false)) continue;
    place = key;
    ++given;
  }
  if (given != 1) {
    reader.error(locate(value, place),
                 fmt::format("a forwarding rule needs exactly one of 'ports' (1 to 5), "
                             "'portRange' and 'allPorts: true'; {} given",
                             given == 0 ? "none is" : "several are"));
    return;
  }
  if (raw.range) out.ports = {PortRange{raw.range->first, raw.range->last}};
  if (raw.portList && !reader.isWrong(value, "ports"))
    out.ports = portsOf(value, *raw.portList, reader);
  if (raw.protocol == Protocol::none && place != "allPorts")
    reader.error(
        locate(value, "IPProtocol"),
        "IPProtocol L3_DEFAULT needs 'allPorts: true': it carries protocols without ports");
}

}  // namespace

void readRule(const Value& value, ForwardingRule& out, Reader& reader) {
  RawRule raw;
  schema().read(value, raw, reader);
  out = raw;
  takePorts(value, raw, out, reader);
}

ValuePtr writeRule(const ForwardingRule& rule) {
  RawRule raw{rule, {}, {}, {}};
  const auto isRange = [](const PortRange& range) { return range.first != range.last; };
  if (rule.ports.empty()) {
    raw.allPorts = true;
  } else if (std::any_of(rule.ports.begin(), rule.ports.end(), isRange)) {
    raw.range = Ports{rule.ports.front().first, rule.ports.front().last};
  } else {
    raw.portList.emplace();
    for (const PortRange& range : rule.ports) raw.portList->push_back(range.first);
  }
  return schema().write(raw);
}

const MappingInfo& ruleFields() { return schema().info(); }

}  // namespace weir::config
