// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "config/draft.h"
#include "config/enum_type.h"
#include "config/lists.h"
#include "config/resource_schemas.h"
#include "config/schemes.h"
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
  std::vector<Choice<Protocol>> choices;
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp, Protocol::none})
    choices.push_back({ruleProtocolName(protocol), protocol});
  return choice<Protocol>(std::move(choices),
                          {{"ESP", useL3}, {"AH", useL3}, {"SCTP", useL3}, {"ICMP", useL3}});
}

constexpr std::string_view kServiceAllowed = "a name or a URL that ends with one";

const Schema<RawRule>& schema() {
  static const auto schema = [] {
    Schema<RawRule> s("a forwarding rule");
    s.required("name", resourceName(), &ForwardingRule::name)
        .field("loadBalancingScheme", loadBalancingScheme(), &ForwardingRule::scheme)
        .required("IPAddress", virtualAddress(), &ForwardingRule::address)
        .field("IPProtocol", ruleProtocol(), &ForwardingRule::protocol)
        .field("ports", listOf(integer(1, 65535), 5), &RawRule::portList)
        .field("portRange", portRange(), &RawRule::range)
        .field("allPorts", boolean(), &RawRule::allPorts, "false")
        .field("backendService", reference(), &ForwardingRule::backendService)
        .field("target", reference(), &ForwardingRule::target)
        .field("announce", choiceOf({Announce::none, Announce::arp, Announce::route}),
               &ForwardingRule::announce)
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
  refuseTwice(
      value, "ports", list, [](std::int64_t p) { return std::to_string(p); }, reader);
  std::vector<PortRange> ports;
  for (const std::int64_t port : list)
    ports.push_back({static_cast<std::uint16_t>(port), static_cast<std::uint16_t>(port)});
  return ports;
}

// P8.2, X1.1: exactly one way to say which ports. The key that says it; empty: it was reported.
std::string_view portsKey(const Value& value, const RawRule& raw, bool managed, Reader& reader) {
  int given = 0;
  std::string_view place = "name";
  for (const std::string_view key : {"ports", "portRange", "allPorts"}) {
    if (value.find(key) == nullptr || (key == "allPorts" && raw.allPorts == false)) continue;
    place = key;
    ++given;
  }
  if (given == 1) return place;
  const std::string_view how = given == 0 ? "none is" : "several are";
  reader.error(locate(value, place),
               managed ? fmt::format("the rule of a proxy needs exactly one port, in 'ports' or "
                                     "'portRange'; {} given",
                                     how)
                       : fmt::format("a forwarding rule needs exactly one of 'ports' (1 to 5), "
                                     "'portRange' and 'allPorts: true'; {} given",
                                     how));
  return "";
}

// X1.1
void checkOnePort(const Value& value, const ForwardingRule& rule, std::string_view key,
                  Reader& reader) {
  const bool isOne = rule.ports.size() == 1 && rule.ports.front().first == rule.ports.front().last;
  if (isOne) return;
  reader.error(locate(value, key == "ports" ? "ports.1" : key),
               fmt::format("the rule of a proxy has exactly one port, from 1 to 65535, and {}; "
                           "give each port a rule of its own",
                           key == "allPorts" ? "not all of them" : "here are several"));
}

void takePorts(const Value& value, const RawRule& raw, ForwardingRule& out, bool managed,
               Reader& reader) {
  const std::string_view key = portsKey(value, raw, managed, reader);
  if (key.empty() || reader.isWrong(value, key)) return;
  if (raw.range) out.ports = {PortRange{raw.range->first, raw.range->last}};
  if (raw.portList) out.ports = portsOf(value, *raw.portList, reader);
  const bool empty = raw.portList && raw.portList->empty();
  if (managed) {
    if (!empty) checkOnePort(value, out, key, reader);
  } else if (raw.protocol == Protocol::none && key != "allPorts") {
    reader.error(
        locate(value, "IPProtocol"),
        "IPProtocol L3_DEFAULT needs 'allPorts: true': it carries protocols without ports");
  }
}

// X1.1: a proxy's rule leads to a target proxy, a passthrough rule to a service.
void checkDestination(const Value& value, const RawRule& raw, bool managed, Reader& reader) {
  const auto kind = managed ? ServiceKind::passthrough : ServiceKind::proxy;
  const std::string_view wanted = managed ? "target" : "backendService";
  refuseKeysOf(kind, value, {managed ? "backendService" : "target"}, raw.scheme, reader);
  if (value.find(wanted) == nullptr)
    reader.error(value.mark, fmt::format("a forwarding rule {}needs the key '{}': {}",
                                         managed ? "of a proxy " : "", wanted, kServiceAllowed));
  if (managed && raw.protocol != Protocol::tcp)
    reader.error(locate(value, "IPProtocol"),
                 fmt::format("IPProtocol {} is not that of a proxy; allowed is TCP",
                             ruleProtocolName(raw.protocol)));
}

}  // namespace

void readRule(const Value& value, ForwardingRule& out, Reader& reader) {
  RawRule raw;
  schema().read(value, raw, reader);
  out = raw;
  if (reader.isWrong(value, "loadBalancingScheme")) return;
  const bool managed = isManaged(raw.scheme);
  takePorts(value, raw, out, managed, reader);
  checkDestination(value, raw, managed, reader);
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
