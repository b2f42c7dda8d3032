// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/simulate/packet_event.h"
#include "config/collections.h"
#include "config/types.h"
#include "weir/dns_name.h"

namespace weir::cli {
namespace {

using config::Mark;
using config::Reader;
using config::Value;

// Far beyond any scenario, and exact as milliseconds.
constexpr double kLatest = 1e9;

struct HostPort {
  Address address;  // when there is no name
  std::string fqdn;
  std::optional<std::uint16_t> port;
};

std::optional<std::uint16_t> portOf(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool good =
      error == std::errc() && end == text.data() + text.size() && port != 0 && text.front() != '0';
  return good ? std::optional(port) : std::nullopt;
}

// "10.0.0.1", "fd00::1", "10.0.0.1:80", "[fd00::1]:80", "db.example.com", "db.example.com:443".
std::optional<HostPort> hostPortOf(std::string_view text) {
  if (const auto address = Address::parse(text)) return HostPort{*address, "", std::nullopt};
  if (auto name = normalizeDnsName(text)) return HostPort{{}, std::move(*name), std::nullopt};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto address = Address::parse(host);
  const auto port = portOf(text.substr(colon + 1));
  if (!port) return std::nullopt;
  if (auto name = normalizeDnsName(host); name && !bracketed)
    return HostPort{{}, std::move(*name), port};
  if (!address || address->isIpv4() == bracketed) return std::nullopt;
  return HostPort{*address, "", port};
}

std::optional<EndpointKey> endpointKey(std::string_view text, Mark place, Reader& reader) {
  EndpointKey key;
  key.place = place;
  std::string_view member = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    key.group = text.substr(0, slash);
    member = text.substr(slash + 1);
  }
  const auto read = hostPortOf(member);
  const bool groupIsName =
      key.group.empty() ? member.size() == text.size() : config::isResourceName(key.group);
  if (!read || !groupIsName) {
    reader.error(place, fmt::format("{} is not an endpoint; allowed are ADDRESS, ADDRESS:PORT, "
                                    "DNS-NAME:PORT, and each after GROUP/",
                                    config::quote(text)));
    return std::nullopt;
  }
  key.address = read->address;
  key.fqdn = read->fqdn;
  key.port = read->port;
  return key;
}

bool isMapping(const Value& value, Reader& reader, std::string_view of) {
  if (value.kind == Value::Kind::mapping && !value.entries.empty()) return true;
  reader.mustBe(value, of);
  return false;
}

std::optional<ReportedWeight> weightOf(const Value& value, Reader& reader) {
  using Kind = ReportedWeight::Kind;
  if (value.kind == Value::Kind::scalar) {
    if (value.text == "missing") return ReportedWeight{Kind::missing, 0};
    if (value.text == "invalid") return ReportedWeight{Kind::invalid, 0};
    if (value.text == "unavailable") return ReportedWeight{Kind::unavailable, 0};
    std::uint32_t number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto read = std::from_chars(value.text.data(), end, number);
    const bool canonical = value.text.size() == 1 || value.text.front() != '0';
    if (read.ec == std::errc() && read.ptr == end && canonical && number <= 1000)
      return ReportedWeight{Kind::value, number};
  }
  reader.mustBe(value, "a whole number from 0 to 1000, missing, invalid or unavailable");
  return std::nullopt;
}

HealthEvent readHealth(const Value& value, Reader& reader) {
  static const auto state = config::choice<Health>({{"HEALTHY", Health::healthy},
                                                    {"UNHEALTHY", Health::unhealthy},
                                                    {"TIMEOUT", Health::timeout},
                                                    {"UNKNOWN", Health::unknown}},
                                                   {{"DRAINING", "use a remove event"}});
  HealthEvent event;
  if (!isMapping(value, reader, "a mapping from endpoints to states of health")) return event;
  for (const Value::Entry& entry : value.entries) {
    auto endpoint = endpointKey(entry.key, entry.mark, reader);
    const auto health = state.read(*entry.value, reader);
    if (endpoint && health) event.items.push_back({std::move(*endpoint), *health});
  }
  return event;
}

WeightEvent readWeight(const Value& value, Reader& reader) {
  WeightEvent event;
  if (!isMapping(value, reader, "a mapping from endpoints to weights")) return event;
  for (const Value::Entry& entry : value.entries) {
    auto endpoint = endpointKey(entry.key, entry.mark, reader);
    const auto weight = weightOf(*entry.value, reader);
    if (endpoint && weight) event.items.push_back({std::move(*endpoint), *weight});
  }
  return event;
}

UtilizationEvent readUtilization(const Value& value, Reader& reader) {
  static const auto share = config::decimal(0, 1);
  UtilizationEvent event;
  if (!isMapping(value, reader, "a mapping from endpoints to utilizations")) return event;
  for (const Value::Entry& entry : value.entries) {
    auto endpoint = endpointKey(entry.key, entry.mark, reader);
    const auto utilization = share.read(*entry.value, reader);
    if (endpoint && utilization) event.items.push_back({std::move(*endpoint), *utilization});
  }
  return event;
}

// The two keys of remove and add.
struct GroupAndEndpoint {
  std::string group;
  Mark groupPlace;
  config::ValuePtr endpoint;
};

std::optional<GroupAndEndpoint> groupAndEndpoint(const Value& value, Reader& reader) {
  static const std::vector<std::string> kKeys{"group", "endpoint"};
  static const auto name = config::resourceName();
  if (!isMapping(value, reader, "a mapping with the keys group and endpoint")) return std::nullopt;
  GroupAndEndpoint read;
  for (const Value::Entry& entry : value.entries) {
    const Reader::Scope scope(reader, entry.key);
    if (entry.key == "group") {
      read.group = name.read(*entry.value, reader).value_or("");
      read.groupPlace = entry.value->mark;
    } else if (entry.key == "endpoint") {
      read.endpoint = entry.value;
    } else {
      reader.error(entry.mark,
                   fmt::format("unknown key {}{}; allowed are group and endpoint",
                               config::quote(entry.key), config::didYouMean(entry.key, kKeys)));
    }
  }
  for (const std::string& key : kKeys)
    if (value.find(key) == nullptr)
      reader.error(value.mark, fmt::format("the key '{}' is missing", key));
  if (read.group.empty() || read.endpoint == nullptr) return std::nullopt;
  return read;
}

RemoveEvent readRemove(const Value& value, Reader& reader) {
  RemoveEvent event;
  const auto read = groupAndEndpoint(value, reader);
  if (!read) return event;
  const Value& endpoint = *read->endpoint;
  std::optional<HostPort> member;
  if (endpoint.kind == Value::Kind::scalar) member = hostPortOf(endpoint.text);
  if (!member) {
    const Reader::Scope scope(reader, "endpoint");
    reader.mustBe(endpoint, "an address, address:port or DNS-name:port");
    return event;
  }
  event.endpoint = {read->group, member->address, member->fqdn, member->port, endpoint.mark};
  return event;
}

AddEvent readAdd(const Value& value, Reader& reader) {
  const auto read = groupAndEndpoint(value, reader);
  return read ? AddEvent{read->group, read->endpoint, read->groupPlace} : AddEvent{};
}

DeleteEvent readDelete(const Value& value, Reader& reader) {
  static const auto names = config::listOf(config::resourceName());
  static const auto kCollections = [] {
    std::vector<std::string> all;
    for (const config::CollectionInfo& c : config::collections()) all.emplace_back(c.name);
    return all;
  }();
  DeleteEvent event;
  if (!isMapping(value, reader, "a mapping from collections to lists of names")) return event;
  for (const Value::Entry& entry : value.entries) {
    if (std::find(kCollections.begin(), kCollections.end(), entry.key) == kCollections.end()) {
      reader.error(entry.mark,
                   fmt::format("unknown collection {}{}; allowed are {}", config::quote(entry.key),
                               config::didYouMean(entry.key, kCollections),
                               config::join(kCollections, "and")));
      continue;
    }
    const Reader::Scope scope(reader, entry.key);
    if (!names.read(*entry.value, reader)) continue;
    for (const config::ValuePtr& item : entry.value->items)
      event.items.push_back({entry.key, item->text, item->mark});
  }
  return event;
}

// A kind of event: its key, and how its value is read.
struct Kind {
  std::string_view key;
  void (*read)(const config::ValuePtr&, Event&, Reader&);
};

template <class What, What (*read)(const Value&, Reader&)>
void into(const config::ValuePtr& value, Event& event, Reader& reader) {
  event.what = read(*value, reader);
}

void packetInto(const config::ValuePtr& value, Event& event, Reader& reader) {
  if (const auto packet = readPacket(*value, reader)) event.what = *packet;
}

void applyInto(const config::ValuePtr& value, Event& event, Reader& reader) {
  if (isMapping(*value, reader, "a mapping of collections")) event.what = ApplyEvent{value};
}

constexpr std::array<Kind, 11> kKinds{{{"packet", packetInto},
                                       {"connection", into<ConnectionEvent, readConnection>},
                                       {"close", into<CloseEvent, readClose>},
                                       {"load", into<LoadEvent, readLoad>},
                                       {"health", into<HealthEvent, readHealth>},
                                       {"weight", into<WeightEvent, readWeight>},
                                       {"utilization", into<UtilizationEvent, readUtilization>},
                                       {"remove", into<RemoveEvent, readRemove>},
                                       {"add", into<AddEvent, readAdd>},
                                       {"apply", applyInto},
                                       {"delete", into<DeleteEvent, readDelete>}}};

const Kind* kindOf(std::string_view key) noexcept {
  for (const Kind& kind : kKinds)
    if (kind.key == key) return &kind;
  return nullptr;
}

void reportUnknown(const Value::Entry& entry, Reader& reader) {
  std::vector<std::string> known{"at"};
  for (const Kind& kind : kKinds) known.emplace_back(kind.key);
  reader.error(entry.mark,
               fmt::format("unknown key {} in an event{}; allowed are {}", config::quote(entry.key),
                           config::didYouMean(entry.key, known), config::join(known, "and")));
}

}  // namespace

std::optional<Event> readEvent(const Value& value, Reader& reader) {
  static const auto time = config::decimal(0, kLatest);
  const std::size_t before = reader.problems().errors();
  if (value.kind != Value::Kind::mapping) {
    const Reader::Scope scope(reader, "events", true);
    reader.mustBe(value, "a mapping");
    return std::nullopt;
  }
  Event event;
  event.place = value.mark;
  const Value::Entry* at = nullptr;
  const Value::Entry* what = nullptr;
  for (const Value::Entry& entry : value.entries) {
    const Reader::Scope scope(reader, entry.key);
    if (entry.key == "at") {
      at = &entry;
      event.at = time.read(*entry.value, reader).value_or(0);
    } else if (const Kind* kind = kindOf(entry.key); kind == nullptr) {
      reportUnknown(entry, reader);
    } else if (what != nullptr) {
      reader.error(entry.mark,
                   fmt::format("an event is one thing: it has the key '{}' already", what->key));
    } else {
      what = &entry;
      kind->read(entry.value, event, reader);
    }
  }
  if (at == nullptr) reader.error(value.mark, "an event needs the key 'at', its time in seconds");
  if (reader.problems().errors() == before && what == nullptr)
    reader.error(value.mark, "an event needs a key that says what happens, such as 'packet'");
  if (reader.problems().errors() != before) return std::nullopt;
  return event;
}

std::string canonicalEndpoint(const std::string& text) {
  const auto read = hostPortOf(text);
  if (!read) return text;
  Endpoint endpoint;
  endpoint.fqdn = read->fqdn;
  if (read->fqdn.empty())
    (read->address.isIpv4() ? endpoint.ipAddress : endpoint.ipv6Address) = read->address;
  endpoint.port = read->port;
  return endpoint.identity();
}

}  // namespace weir::cli
