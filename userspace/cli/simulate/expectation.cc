// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/simulate/event.h"
#include "config/types.h"

namespace weir::cli {
namespace {

using config::Reader;
using config::Schema;
using config::Value;

// The fields of a line as they may be expected.
struct Written {
  std::optional<std::size_t> event;
  std::optional<double> at;
  std::string action, service, forwardingRule, route, group, endpoint, connection, rule, reason;
  std::vector<std::string> in;
  std::optional<std::size_t> sameAs;
  std::optional<std::size_t> differsFrom;
  std::map<std::string, double> approx;
  std::map<std::string, Expectation::Group> groups;
  std::optional<double> unserved;
};

constexpr double kMostLoad = 1e15;

const Schema<Expectation::Group>& groupSchema() {
  static const auto schema = [] {
    const auto amount = config::decimal(0, kMostLoad);
    Schema<Expectation::Group> s("a group of a load");
    s.field("connections", amount, &Expectation::Group::connections)
        .field("capacity", amount, &Expectation::Group::capacity)
        .field("usable", amount, &Expectation::Group::usable)
        .field("fill", amount, &Expectation::Group::fill)
        .field("drained", config::boolean(), &Expectation::Group::drained);
    return s;
  }();
  return schema;
}

const Schema<Written>& schema() {
  static const auto schema = [] {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const auto index = config::integer(0, kMost);
    const auto word = config::textWhere("text that is not empty",
                                        [](std::string_view text) { return !text.empty(); });
    Schema<Written> s("an expectation");
    s.required("event", index, &Written::event)
        .field("at", config::decimal(0, 1e9), &Written::at)
        .field("action",
               config::textWhere("forward, drop, pass, proxy or close",
                                 [](std::string_view t) {
                                   return t == "forward" || t == "drop" || t == "pass" ||
                                          t == "proxy" || t == "close";
                                 }),
               &Written::action)
        .field("service", word, &Written::service)
        .field("forwardingRule", word, &Written::forwardingRule)
        .field("route", word, &Written::route)
        .field("group", word, &Written::group)
        .field("endpoint", word, &Written::endpoint)
        .field("connection",
               config::textWhere(
                   "new, known or related",
                   [](std::string_view t) { return t == "new" || t == "known" || t == "related"; }),
               &Written::connection)
        .field("rule", word, &Written::rule)
        .field("reason", word, &Written::reason)
        .field("in", config::listOf(word), &Written::in)
        .field("sameAs", index, &Written::sameAs)
        .field("differsFrom", index, &Written::differsFrom)
        .field("approx", config::mapOf(config::decimal(0, kMostLoad)), &Written::approx)
        .field("groups", config::mapOf(config::mappingOf(groupSchema())), &Written::groups)
        .field("unserved", config::decimal(0, kMostLoad), &Written::unserved);
    return s;
  }();
  return schema;
}

// "has no endpoint", "endpoint is 10.2.0.1".
std::string describe(std::string_view name, const std::string& value) {
  return value.empty() ? fmt::format("there is no {}", name) : fmt::format("{} is {}", name, value);
}

std::string listed(const std::vector<std::string>& endpoints) {
  return fmt::format("{}", fmt::join(endpoints, ", "));
}

// Within 2%, and a hair where nothing is expected.
bool isNear(double value, double wanted) {
  return std::abs(value - wanted) <= std::max(0.02 * wanted, 1e-6);
}

void compareLoad(const Expectation& expectation, const Line& line,
                 std::vector<std::string>& found) {
  if (expectation.groups.empty() && !expectation.unserved) return;
  if (!line.load) {
    found.push_back("it is no load, expected one");
    return;
  }
  const auto near = [&](const std::string& what, double value, std::optional<double> wanted) {
    if (wanted && !isNear(value, *wanted))
      found.push_back(fmt::format("{} is {:.6g}, expected {:.6g}", what, value, *wanted));
  };
  for (const auto& entry : expectation.groups) {
    const std::string& name = entry.first;
    const Expectation::Group& wanted = entry.second;
    const auto& groups = line.load->groups;
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const Line::Group& g) { return g.name == name; });
    if (group == groups.end()) {
      found.push_back(fmt::format("the service has no group {}", name));
      continue;
    }
    near("connections of " + name, group->connections, wanted.connections);
    near("capacity of " + name, group->capacity, wanted.capacity);
    near("usable capacity of " + name, group->usable, wanted.usable);
    near("fill of " + name, group->fill, wanted.fill);
    if (wanted.drained && *wanted.drained != group->drained)
      found.push_back(fmt::format("{} is {}drained", name, group->drained ? "" : "not "));
  }
  near("unserved", line.load->unserved, expectation.unserved);
}

}  // namespace

std::optional<Expectation> readExpectation(const Value& value, Reader& reader) {
  const Reader::Scope scope(reader, "expect", true);
  const std::size_t before = reader.problems().errors();
  Written written;
  schema().read(value, written, reader);
  if (reader.problems().errors() != before) return std::nullopt;
  const auto* in = value.find("in");
  if (in != nullptr && written.in.empty()) {
    reader.error(in->value->mark, "in needs at least one endpoint");
    return std::nullopt;
  }

  Expectation expectation;
  expectation.groups = std::move(written.groups);
  for (const auto& [name, connections] : written.approx) {
    std::optional<double>& wanted = expectation.groups[name].connections;
    if (wanted && *wanted != connections)
      reader.error(value.find("approx")->value->mark,
                   fmt::format("approx and groups expect different connections of {}", name));
    wanted = connections;
  }
  if (reader.problems().errors() != before) return std::nullopt;
  expectation.unserved = written.unserved;
  expectation.place = value.mark;
  expectation.event = *written.event;
  expectation.at = written.at;
  expectation.sameAs = written.sameAs;
  expectation.differsFrom = written.differsFrom;
  for (const std::string& endpoint : written.in)
    expectation.in.push_back(canonicalEndpoint(endpoint));
  const auto want = [&](const char* name, const std::string& wanted) {
    if (!wanted.empty()) expectation.fields.emplace_back(name, wanted);
  };
  want("action", written.action);
  want("service", written.service);
  want("forwardingRule", written.forwardingRule);
  want("route", written.route);
  want("group", written.group);
  want("endpoint", canonicalEndpoint(written.endpoint));
  want("connection", written.connection);
  want("rule", written.rule);
  want("reason", written.reason);
  return expectation;
}

std::vector<std::string> differences(const Expectation& expectation, const Lines& lines) {
  const Line& line = lines.at(expectation.event);
  std::vector<std::string> found;
  if (expectation.at && *expectation.at != line.at)
    found.push_back(fmt::format("at is {}, expected {}", line.at, *expectation.at));
  for (const auto& [name, wanted] : expectation.fields)
    if (const std::string& value = *line.field(name); value != wanted)
      found.push_back(fmt::format("{}, expected {}", describe(name, value), wanted));

  const std::string endpoint = describe("endpoint", line.endpoint);
  if (!expectation.in.empty() && std::find(expectation.in.begin(), expectation.in.end(),
                                           line.endpoint) == expectation.in.end())
    found.push_back(fmt::format("{}, expected one of {}", endpoint, listed(expectation.in)));
  // An endpoint that is not there is neither the same as another nor different from it.
  const auto compare = [&](std::size_t other, bool wantSame) {
    const std::string& theirs = lines.at(other).endpoint;
    const bool comparable = !line.endpoint.empty() && !theirs.empty();
    if (comparable && (line.endpoint == theirs) == wantSame) return;
    found.push_back(fmt::format("{}, expected {} event {} ({})", endpoint,
                                wantSame ? "that of" : "another than that of", other,
                                theirs.empty() ? "which has none" : theirs));
  };
  compareLoad(expectation, line, found);
  if (expectation.sameAs) compare(*expectation.sameAs, true);
  if (expectation.differsFrom) compare(*expectation.differsFrom, false);
  return found;
}

}  // namespace weir::cli
