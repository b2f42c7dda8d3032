// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir.yaml's own settings.
#include <bit>

#include "config/draft.h"
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
            choice<LogLevel>({{"error", LogLevel::error},
                              {"warning", LogLevel::warning},
                              {"info", LogLevel::info},
                              {"debug", LogLevel::debug}}),
            &Node::logLevel);
    return s;
  }();
  return schema;
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
        .field("ruleBase", integer(1, 32000), &Node::ruleBase)
        .field("tableBase", bits(256, 0xfff00000), &Node::tableBase)
        .field("routeProtocol", integer(5, 255), &Node::routeProtocol)
        .inside("trackingTable", trackingTableSchema())
        .inside("metrics", metricsSchema())
        .inside("log", logSchema())
        .ignored({"interfaces", "proxy"});
    return s;
  }();
  return schema;
}

// Settings that weir will have one day are no reason not to start; silence would be.
void warnWithoutEffect(const Value& value, std::string_view key, std::string_view why,
                       Reader& reader) {
  if (const auto* entry = value.find(key))
    reader.problems().warning(reader.at(entry->mark),
                              fmt::format("{} has no effect: {}", key, why));
}

}  // namespace

void readNode(const Value& value, Node& out, Reader& reader) {
  schema().read(value, out, reader);
  warnWithoutEffect(value, "interfaces", "this version of weir serves every interface", reader);
  warnWithoutEffect(value, "proxy", kNoProxyYet, reader);
  if (out.queueBase + out.queues > 65536)
    reader.error(locate(value, value.find("queueBase") ? "queueBase" : "queues"),
                 fmt::format("queues {} to {} do not exist; the last queue number is 65535",
                             out.queueBase, out.queueBase + out.queues - 1));
}

ValuePtr writeNode(const Node& node) { return schema().write(node); }

const MappingInfo& nodeFields() { return schema().info(); }

}  // namespace weir::config
