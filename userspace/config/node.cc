// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir.yaml's own settings.
#include <bit>

#include "config/draft.h"
#include "config/enum_type.h"
#include "config/lists.h"
#include "config/resource_schemas.h"
#include "config/types.h"

namespace weir::config {
namespace {

constexpr std::int64_t kMaxTracked = std::int64_t{1} << 27;

// Contiguous bits, at least two of them: marks are numbers in this field.
Type<std::uint64_t> markMask() {
  Type<std::uint64_t> type = bits(3, 0xffffffff);
  type.allowed = "contiguous bits, at least 2 of them, from 0x3 to 0xffffffff";
  type.read = [allowed = type.allowed](const Value& value,
                                       Reader& reader) -> std::optional<std::uint64_t> {
    const auto mask = value.kind == Value::Kind::scalar ? parseBits(value.text) : std::nullopt;
    if (mask && *mask <= 0xffffffff && std::popcount(*mask) >= 2) {
      const std::uint64_t shifted = *mask >> std::countr_zero(*mask);
      if ((shifted & (shifted + 1)) == 0) return mask;
    }
    reader.mustBe(value, allowed);
    return std::nullopt;
  };
  return type;
}

const Schema<Node>& locationSchema() {
  static const auto schema = [] {
    Schema<Node> s("location");
    s.field("region", resourceName(), &Node::region).field("zone", resourceName(), &Node::zone);
    return s;
  }();
  return schema;
}

const Schema<Zone>& zoneSchema() {
  static const auto schema = [] {
    Schema<Zone> s("a zone");
    s.required("name", resourceName(), &Zone::name)
        .field("region", resourceName(), &Zone::region)
        .field("clientRanges", listOf(prefix()), &Zone::clientRanges);
    return s;
  }();
  return schema;
}

const Schema<Node>& trackingTableSchema() {
  static const auto schema = [] {
    Schema<Node> s("trackingTable");
    s.field("ipv4Entries", integer(1024, kMaxTracked), &Node::trackedIpv4)
        .field("ipv6Entries", integer(1024, kMaxTracked), &Node::trackedIpv6);
    return s;
  }();
  return schema;
}

const Schema<Node>& metricsSchema() {
  static const auto schema = [] {
    Schema<Node> s("metrics");
    s.field("address", socketAddress(), &Node::metricsAddress);
    return s;
  }();
  return schema;
}

const Schema<Node>& logSchema() {
  static const auto schema = [] {
    Schema<Node> s("log");
    s.field("level",
            choiceOf({LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug}),
            &Node::logLevel);
    return s;
  }();
  return schema;
}

const Schema<ProxySettings>& proxySchema() {
  static const auto schema = [] {
    Schema<ProxySettings> s("proxy");
    s.field("sourceAddresses", listOf(hostAddress()), &ProxySettings::sourceAddresses)
        .field("clientHelloTimeoutSec", integer(1, 300), &ProxySettings::clientHelloTimeout)
        .field("shutdownGraceSec", integer(0, 86400), &ProxySettings::shutdownGrace)
        .field("threads", integer(0, 256), &ProxySettings::threads, "one for each processor core")
        .field("keepaliveIdleSec", integer(0, 32767), &ProxySettings::keepaliveIdle)
        .field("keepaliveIntervalSec", integer(1, 32767), &ProxySettings::keepaliveInterval)
        .field("keepaliveProbes", integer(1, 127), &ProxySettings::keepaliveProbes)
        .field("userTimeoutSec", integer(0, 86400), &ProxySettings::userTimeout)
        .field("nameServers", listOf(hostAddress()), &ProxySettings::nameServers,
               "those of the host's /etc/resolv.conf")
        .field("dnsMinTtlSec", integer(1, 86400), &ProxySettings::dnsMinTtl)
        .field("dnsMaxTtlSec", integer(1, 604800), &ProxySettings::dnsMaxTtl);
    return s;
  }();
  return schema;
}

// As Linux names network interfaces.
Type<std::string> interfaceName() {
  return textWhere("the name of a network interface, 1 to 15 characters without blank or '/'",
                   [](std::string_view t) {
                     const bool isName = !t.empty() && t.size() <= 15 && t != "." && t != "..";
                     return isName && isPrintable(t) && t.find_first_of(" /:") == t.npos;
                   });
}

const Schema<Node>& schema() {
  static const auto schema = [] {
    Schema<Node> s("the node's settings");
    s.inside("location", locationSchema())
        .field("zones", listOf(mappingOf(zoneSchema())), &Node::zones)
        .field("proximity", mapOf(decimal(0, 60000)), &Node::proximityMs)
        .field("fwmarkMask", markMask(), &Node::fwmarkMask)
        .field("hashSeed", bits(0, UINT64_MAX), &Node::hashSeed)
        .field("queues", integer(1, 64), &Node::queues)
        .field("queueBase", integer(0, 65535), &Node::queueBase)
        .field("ruleBase", integer(10, 16000), &Node::ruleBase)
        .field("tableBase", bits(256, 0xfff00000), &Node::tableBase)
        .field("routeProtocol", integer(5, 252), &Node::routeProtocol)
        .inside("trackingTable", trackingTableSchema())
        .inside("metrics", metricsSchema())
        .inside("log", logSchema())
        .field("interfaces", listOf(interfaceName()), &Node::interfaces, "every one that fits")
        .field("manageSysctls", boolean(), &Node::manageSysctls)
        .field("engineGraceSec", integer(0, 3600), &Node::engineGrace)
        .field("flowCache", choiceOf({FlowCache::automatic, FlowCache::off, FlowCache::require}),
               &Node::flowCache)
        .field("proxy", mappingOf(proxySchema()), &Node::proxy);
    return s;
  }();
  return schema;
}

}  // namespace

void readNode(const Value& value, Node& out, Reader& reader) {
  schema().read(value, out, reader);
  refuseTwice(
      value, "interfaces", out.interfaces, [](const auto& n) { return n; }, reader);
  refuseTwice(
      value, "proxy.sourceAddresses", out.proxy.sourceAddresses,
      [](Address a) { return a == Address{} ? std::string() : a.toString(); }, reader);
  refuseTwice(
      value, "proxy.nameServers", out.proxy.nameServers,
      [](Address a) { return a == Address{} ? std::string() : a.toString(); }, reader);
  if (out.proxy.dnsMinTtl > out.proxy.dnsMaxTtl) {
    const auto* const proxy = value.find("proxy");
    const bool isMin = proxy != nullptr && proxy->value->find("dnsMinTtlSec") != nullptr;
    reader.error(locate(value, isMin ? "proxy.dnsMinTtlSec" : "proxy.dnsMaxTtlSec"),
                 fmt::format("dnsMinTtlSec ({}) must be at most dnsMaxTtlSec ({})",
                             out.proxy.dnsMinTtl.count(), out.proxy.dnsMaxTtl.count()));
  }
  if (out.queueBase + out.queues > 65536)
    reader.error(locate(value, value.find("queueBase") ? "queueBase" : "queues"),
                 fmt::format("queues {} to {} do not exist; the last queue number is 65535",
                             out.queueBase, out.queueBase + out.queues - 1));
}

ValuePtr writeNode(const Node& node) { return schema().write(node); }

const MappingInfo& nodeFields() { return schema().info(); }

}  // namespace weir::config
