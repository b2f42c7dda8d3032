// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "config/draft.h"
#include "config/lists.h"
#include "config/resource_schemas.h"
#include "config/types.h"
#include "weir/dns_name.h"

namespace weir::config {
namespace {

constexpr std::size_t kLongestAlpn = 255;  // RFC 7301, 3.1

// X6.3. A wildcard is a whole first label, with at least one label after it.
Type<std::string> sniHost() {
  Type<std::string> type = textWhere(
      "a DNS name such as a.example.com, or *.example.com for all names below it", nullptr);
  type.read = [allowed = type.allowed](const Value& value,
                                       Reader& reader) -> std::optional<std::string> {
    if (value.kind == Value::Kind::scalar) {
      const std::string_view text = value.text;
      const bool wildcard = text.substr(0, 2) == "*.";
      if (auto name = normalizeDnsName(wildcard ? text.substr(2) : text))
        return wildcard ? "*." + *name : *name;
      if (text == "*") {
        reader.error(value.mark, fmt::format("{} must be {}; '*' alone would be a default route, "
                                             "and there is none",
                                             reader.field(), allowed));
        return std::nullopt;
      }
      if (text.find('*') != std::string_view::npos) {
        reader.error(value.mark,
                     fmt::format("{} must be {}, not {}: a '*' can only be the whole first label",
                                 reader.field(), allowed, value.describe()));
        return std::nullopt;
      }
    }
    reader.mustBe(value, allowed);
    return std::nullopt;
  };
  return type;
}

Type<std::string> protocolName() {
  return textWhere(
      fmt::format("a protocol name such as h2, 1 to {} printable ASCII characters", kLongestAlpn),
      [](std::string_view t) { return !t.empty() && t.size() <= kLongestAlpn && isPrintable(t); });
}

// Seconds as Google writes durations: "3600s".
Type<std::int64_t> duration(std::int64_t max) {
  Type<std::int64_t> type;
  type.allowed = fmt::format("whole seconds such as 3600s, from 0s to {}s", max);
  type.show = [](const std::int64_t& seconds) { return fmt::format("{}s", seconds); };
  type.read = [allowed = type.allowed, max](const Value& value,
                                            Reader& reader) -> std::optional<std::int64_t> {
    if (value.kind == Value::Kind::scalar && !value.text.empty() && value.text.back() == 's') {
      const std::string_view digits(value.text.data(), value.text.size() - 1);
      const auto seconds = parseInteger(digits);
      if (seconds && *seconds >= 0 && *seconds <= max && digits.front() != '-') return seconds;
    }
    reader.mustBe(value, allowed);
    return std::nullopt;
  };
  return type;
}

const Schema<TlsMatch>& matchSchema() {
  static const auto schema = [] {
    Schema<TlsMatch> s("a match");
    s.required("sniHost", listOf(sniHost()), &TlsMatch::sniHosts)
        .field("alpn", listOf(protocolName()), &TlsMatch::alpn, "any");
    return s;
  }();
  return schema;
}

const Schema<TlsDestination>& destinationSchema() {
  static const auto schema = [] {
    Schema<TlsDestination> s("a destination");
    s.required("serviceName", reference(), &TlsDestination::service)
        .field("weight", integer(0, 1000), &TlsDestination::weight);
    return s;
  }();
  return schema;
}

const Schema<TlsRule>& actionSchema() {
  static const auto schema = [] {
    Schema<TlsRule> s("action");
    s.required("destinations", listOf(mappingOf(destinationSchema())), &TlsRule::destinations)
        .field("idleTimeout", duration(2147483647), &TlsRule::idleTimeout);
    return s;
  }();
  return schema;
}

const Schema<TlsRule>& ruleSchema() {
  static const auto schema = [] {
    Schema<TlsRule> s("a rule");
    s.required("matches", listOf(mappingOf(matchSchema())), &TlsRule::matches)
        .inside("action", actionSchema());
    return s;
  }();
  return schema;
}

const Schema<TlsRoute>& schema() {
  static const auto schema = [] {
    constexpr std::string_view mesh = "weir is no service mesh; name target proxies";
    Schema<TlsRoute> s("a TLS route");
    s.required("name", reference(), &TlsRoute::name)
        .required("targetProxies", listOf(reference()), &TlsRoute::targetProxies)
        .required("rules", listOf(mappingOf(ruleSchema())), &TlsRoute::rules)
        .ignored({"kind", "id", "selfLink", "createTime", "updateTime", "creationTimestamp",
                  "description", "labels", "etag"})
        .refused({"meshes", "gateways"}, mesh);
    return s;
  }();
  return schema;
}

class RouteCheck {
 public:
  RouteCheck(const Value& value, Reader& reader) : value_(value), reader_(reader) {}

  void run(const TlsRoute& route) {
    needItems("targetProxies", route.targetProxies.size(), "a target proxy");
    refuseTwice(
        value_, "targetProxies", route.targetProxies, [](const auto& n) { return n; }, reader_);
    needItems("rules", route.rules.size(), "a rule");
    for (std::size_t i = 0; i < route.rules.size(); ++i)
      checkRule(fmt::format("rules.{}", i), route.rules[i]);
  }

 private:
  // A list that is there must have something in it.
  void needItems(const std::string& path, std::size_t size, std::string_view what) {
    const Value* list = valueAt(value_, path);
    if (size != 0 || list == nullptr || reader_.problems().isWrong(*list)) return;
    reader_.error(list->mark, fmt::format("{} must name at least {}; it is empty",
                                          path.substr(path.rfind('.') + 1), what));
  }

  void checkRule(const std::string& path, const TlsRule& rule) {
    const Value* written = valueAt(value_, path);
    if (written == nullptr || written->kind != Value::Kind::mapping) return;
    needItems(path + ".matches", rule.matches.size(), "a match");
    for (std::size_t i = 0; i < rule.matches.size(); ++i)
      needItems(fmt::format("{}.matches.{}.sniHost", path, i), rule.matches[i].sniHosts.size(),
                "a server name");
    if (written->find("action") == nullptr)
      reader_.error(written->mark, "a rule needs the key 'action': a mapping with 'destinations'");
    const std::string destinations = path + ".action.destinations";
    needItems(destinations, rule.destinations.size(), "a destination");
    refuseTwice(
        value_, destinations, rule.destinations, [](const auto& d) { return d.service; }, reader_);
    const bool allZero =
        std::all_of(rule.destinations.begin(), rule.destinations.end(),
                    [](const TlsDestination& destination) { return destination.weight == 0; });
    if (allZero && !rule.destinations.empty())
      reader_.error(locate(value_, destinations + ".0.weight"),
                    "the weights of all destinations are 0; at least one must be from 1 to 1000");
  }

  const Value& value_;
  Reader& reader_;
};

}  // namespace

void readTlsRoute(const Value& value, TlsRoute& out, Reader& reader) {
  schema().read(value, out, reader);
  RouteCheck(value, reader).run(out);
}

ValuePtr writeTlsRoute(const TlsRoute& route) { return schema().write(route); }

const MappingInfo& tlsRouteFields() { return schema().info(); }

}  // namespace weir::config
