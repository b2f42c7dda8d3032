// SPDX-License-Identifier: GPL-2.0-or-later
//
// Cases made from the declarations themselves: every field that is declared refuses what it must.
#include "config/schema.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "config/collections.h"
#include "config/resource_schemas.h"
#include "fixture.h"

namespace weir::config::test {
namespace {

using Json = nlohmann::ordered_json;
using Use = FieldInfo::Use;

// JSON is YAML; one value a line, so that lines tell values apart.
Json validDocument() {
  return Json::parse(R"({
    "healthChecks": [{"name": "hc"}],
    "networkEndpointGroups": [{"name": "g", "endpoints": [{"ipAddress": "10.2.0.1"}]}],
    "backendServices": [{"name": "s", "healthChecks": ["hc"], "backends": [{"group": "g"}]}],
    "forwardingRules": [{"name": "r", "IPAddress": "10.9.9.9", "ports": [80], "backendService": "s"}],
    "routes": [{"name": "x", "destRange": "10.0.0.0/8", "nextHopIlb": "r"}],
    "zones": [{"name": "za"}]
  })");
}

// A declared field: where it is in a document.
struct Place {
  std::string path;  // "/backendServices/0/backends/0/group"
  const FieldInfo* info;
};

void collect(const MappingInfo& mapping, const std::string& path, std::vector<Place>& out) {
  for (const FieldInfo& field : mapping.fields) {
    const std::string here = path + "/" + field.name;
    out.push_back({here, &field});
    if (field.mapping != nullptr) collect(*field.mapping, here + (field.list ? "/0" : ""), out);
  }
}

std::vector<Place> places() {
  std::vector<Place> out;
  for (const CollectionInfo& c : collections())
    collect(c.item(), fmt::format("/{}/0", c.name), out);
  collect(nodeFields(), "", out);
  return out;
}

struct Outcome {
  std::string text;
  std::vector<Diagnostic> errors;
};

Outcome loadWith(const std::string& path, const Json& value) {
  Json document = validDocument();
  document[Json::json_pointer(path)] = value;
  Outcome outcome{document.dump(1), {}};
  outcome.errors = errors(loadText(outcome.text));
  return outcome;
}

bool mentions(const std::vector<Diagnostic>& errors, const std::string& name,
              const std::string& text) {
  for (const auto& d : errors)
    if (d.message.find(name) != std::string::npos && d.message.find(text) != std::string::npos)
      return true;
  return false;
}

unsigned lineOf(const std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  return 1 + static_cast<unsigned>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

TEST(Schema, TheDocumentThatIsChangedIsValid) {
  const auto found = errors(loadText(validDocument().dump(1)));
  EXPECT_TRUE(found.empty()) << all(found);
}

TEST(Schema, C1_EveryFieldRefusesAWrongType) {
  std::size_t tried = 0;
  for (const Place& place : places()) {
    if (place.info->use != Use::read) continue;
    SCOPED_TRACE(place.path);
    const bool wantsMapping =
        !place.info->list && (place.info->mapping != nullptr || place.info->name == "proximity");
    const Json wrong = wantsMapping ? Json("sentinel") : Json{{"sentinel", 1}};
    const Outcome outcome = loadWith(place.path, wrong);
    // A mapping in the place of a value begins in the line before its first key.
    const unsigned line = lineOf(outcome.text, "\"sentinel\"") - (wantsMapping ? 0 : 1);
    const bool found =
        std::any_of(outcome.errors.begin(), outcome.errors.end(), [&](const Diagnostic& d) {
          return d.line == line && d.message.find(place.info->name) != std::string::npos;
        });
    EXPECT_TRUE(found) << outcome.text << all(outcome.errors);
    ++tried;
  }
  EXPECT_GT(tried, 100u);
}

TEST(Schema, C1_EveryFieldRefusesNothing) {
  for (const Place& place : places()) {
    if (place.info->use != Use::read) continue;
    const Outcome outcome = loadWith(place.path, Json());
    EXPECT_TRUE(mentions(outcome.errors, place.info->name, "not nothing")) << place.path << "\n"
                                                                           << all(outcome.errors);
  }
}

TEST(Schema, C1_EveryListRefusesAWrongItem) {
  std::size_t tried = 0;
  for (const Place& place : places()) {
    if (place.info->use != Use::read || !place.info->list) continue;
    const Outcome outcome = loadWith(place.path, Json{Json{Json{1}}});
    EXPECT_TRUE(mentions(outcome.errors, "each of " + place.info->name, "not a list"))
        << place.path << "\n"
        << all(outcome.errors);
    ++tried;
  }
  EXPECT_GE(tried, 6u);
}

TEST(Schema, C1_EveryRangeEndsWhereItSays) {
  static const std::regex range("number from (-?[0-9]+) to ([0-9]+)$");
  std::size_t tried = 0;
  for (const Place& place : places()) {
    std::smatch match;
    if (place.info->use != Use::read || !std::regex_search(place.info->allowed, match, range))
      continue;
    for (const std::int64_t outside : {std::stoll(match[1]) - 1, std::stoll(match[2]) + 1}) {
      for (const Json& written : {Json(outside), Json(std::to_string(outside))}) {
        const Json value = place.info->list ? Json::array({written}) : written;
        const Outcome outcome = loadWith(place.path, value);
        EXPECT_TRUE(mentions(outcome.errors, place.info->name, place.info->allowed))
            << place.path << " " << written << "\n"
            << all(outcome.errors);
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 100u);
}

TEST(Schema, C1_EveryNumberIsReadStrictly) {
  std::size_t tried = 0;
  for (const Place& place : places()) {
    if (place.info->use != Use::read || place.info->list ||
        place.info->allowed.find("number from") == std::string::npos)
      continue;
    for (const char* text : {"010", "1e3", "+5", "5.", "five", "", " 5", "5 ", "0x", "1_0"}) {
      const Outcome outcome = loadWith(place.path, text);
      EXPECT_TRUE(mentions(outcome.errors, place.info->name, place.info->allowed))
          << place.path << " " << text << "\n"
          << all(outcome.errors);
      ++tried;
    }
  }
  EXPECT_GT(tried, 200u);
}

TEST(Schema, C1_EveryChoiceSaysWhatIsAllowed) {
  static const std::regex choice("^[A-Za-z0-9_]+(, [A-Za-z0-9_]+)* or [A-Za-z0-9_]+$");
  std::size_t tried = 0;
  for (const Place& place : places()) {
    if (place.info->use != Use::read || !std::regex_match(place.info->allowed, choice)) continue;
    const Outcome outcome = loadWith(place.path, "Something");
    EXPECT_TRUE(mentions(outcome.errors, place.info->name, place.info->allowed))
        << place.path << "\n"
        << all(outcome.errors);
    ++tried;
  }
  EXPECT_GT(tried, 20u);
}

TEST(Schema, H5_EveryTextHasItsLimit) {
  static const std::regex limit("at most ([0-9]+)( printable ASCII)? characters");
  std::size_t tried = 0;
  for (const Place& place : places()) {
    std::smatch match;
    if (place.info->use != Use::read || !std::regex_search(place.info->allowed, match, limit))
      continue;
    const auto most = static_cast<std::size_t>(std::stoul(match[1]));
    const std::string slash = place.info->name == "requestPath" ? "/" : "";
    const Outcome over = loadWith(place.path, slash + std::string(most + 1 - slash.size(), 'x'));
    EXPECT_TRUE(mentions(over.errors, place.info->name, place.info->allowed)) << place.path << "\n"
                                                                              << all(over.errors);
    const Outcome full = loadWith(place.path, slash + std::string(most - slash.size(), 'x'));
    EXPECT_FALSE(mentions(full.errors, place.info->name, place.info->allowed)) << place.path << "\n"
                                                                               << all(full.errors);
    ++tried;
  }
  EXPECT_GE(tried, 10u);
}

TEST(Schema, C1_WhatIsIgnoredMayHoldAnything) {
  std::size_t tried = 0;
  for (const Place& place : places()) {
    // `kind` makes a top-level mapping an export, `proxy` and `interfaces` are told about.
    if (place.info->use != Use::ignored) continue;
    for (const Json& value : {Json("x"), Json{{"a", Json::array({1})}}, Json()}) {
      const Outcome outcome = loadWith(place.path, value);
      EXPECT_TRUE(outcome.errors.empty()) << place.path << "\n" << all(outcome.errors);
    }
    ++tried;
  }
  EXPECT_GT(tried, 50u);
}

TEST(Schema, C1_WhatIsRefusedIsRefusedByName) {
  std::size_t tried = 0;
  for (const Place& place : places()) {
    if (place.info->use != Use::refused) continue;
    const Outcome outcome = loadWith(place.path, "x");
    EXPECT_TRUE(
        mentions(outcome.errors, place.info->name + " is not supported: ", place.info->allowed))
        << place.path << "\n"
        << all(outcome.errors);
    ++tried;
  }
  EXPECT_GT(tried, 40u);
}

TEST(Schema, C1_EveryRequiredFieldIsMissed) {
  std::size_t tried = 0;
  for (const Place& place : places()) {
    if (!place.info->required) continue;
    Json document = validDocument();
    const Json::json_pointer pointer(place.path);
    ASSERT_TRUE(document.contains(pointer)) << place.path;
    document[pointer.parent_pointer()].erase(place.info->name);
    const auto found = errors(loadText(document.dump(1)));
    EXPECT_TRUE(mentions(found, "needs the key '" + place.info->name + "'", place.info->allowed))
        << place.path << "\n"
        << all(found);
    ++tried;
  }
  EXPECT_GE(tried, 10u);
}

TEST(Schema, EveryFieldIsDeclaredOnce) {
  const auto check = [](const auto& self, const MappingInfo& mapping) -> void {
    std::set<std::string> names;
    for (const FieldInfo& field : mapping.fields) {
      EXPECT_TRUE(names.insert(field.name).second) << mapping.title << " " << field.name;
      EXPECT_EQ(field.use == Use::ignored, field.allowed.empty()) << field.name;
      if (field.mapping != nullptr) self(self, *field.mapping);
    }
  };
  for (const CollectionInfo& c : collections()) check(check, c.item());
  check(check, nodeFields());
}

}  // namespace
}  // namespace weir::config::test
