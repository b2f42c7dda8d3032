// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/expectation.h"

#include <fmt/format.h>

#include <algorithm>
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
};

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
               config::textWhere(
                   "forward, drop or pass",
                   [](std::string_view t) { return t == "forward" || t == "drop" || t == "pass"; }),
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
        .refused({"approx"},
                 "it is about load events of the TCP proxy, which this version of weir "
                 "does not have");
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
  if (expectation.sameAs) compare(*expectation.sameAs, true);
  if (expectation.differsFrom) compare(*expectation.differsFrom, false);
  return found;
}

}  // namespace weir::cli
