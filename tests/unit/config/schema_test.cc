// SPDX-License-Identifier: GPL-2.0-or-later
//
// Cases made from the declarations themselves: every field that is declared refuses every way to be
// wrong that matters, at its very place, with a message that says what is allowed.
#include "config/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>
#include <set>

#include "config/collections.h"
#include "config/resource_schemas.h"
#include "every_field.h"
#include "fixture.h"

namespace weir::config::test {
namespace {

using Use = FieldInfo::Use;

std::vector<Field> readFields() {
  std::vector<Field> fields = allFields();
  std::erase_if(fields, [](const Field& f) { return f.info->use != Use::read; });
  return fields;
}

bool isMapping(const FieldInfo& info) { return info.mapping != nullptr && !info.list; }
bool isFreeMapping(const FieldInfo& info) { return info.allowed.find("a mapping from") == 0; }

// What one value may be; for a list, one item.
std::string allowedOf(const FieldInfo& info) {
  return info.list ? info.allowed.substr(0, info.allowed.find(", at most ")) : info.allowed;
}

struct Outcome {
  Written written;
  Loaded loaded;
  std::vector<Diagnostic> errors;
};

Outcome loadIt(const Json& document, const std::string& repeated = "") {
  Outcome outcome;
  outcome.written = write(document, repeated);
  outcome.loaded = loadText(outcome.written.text);
  outcome.errors = errors(outcome.loaded);
  return outcome;
}

Json changed(const Field& field, const Json& value) {
  Json document = *field.document;
  document[field.pointer] = value;
  return document;
}

Place placeOf(const Diagnostic& d) { return {d.line, d.column}; }

std::string shown(const Place& place) { return fmt::format("{}:{}", place.line, place.column); }

// Exactly one error, at `place`, that has all of `words`.
void expectOnly(const Outcome& outcome, const Place& place, const std::vector<std::string>& words) {
  ASSERT_EQ(outcome.errors.size(), 1u) << outcome.written.text << all(outcome.errors);
  const Diagnostic& error = outcome.errors.front();
  EXPECT_EQ(shown(placeOf(error)), shown(place)) << error.toString();
  for (const std::string& word : words) EXPECT_THAT(error.message, testing::HasSubstr(word));
}

// An error at `place` that has all of `words`; others may follow from the same mistake.
void expectAmong(const Outcome& outcome, const Place& place,
                 const std::vector<std::string>& words) {
  const bool found =
      std::any_of(outcome.errors.begin(), outcome.errors.end(), [&](const Diagnostic& d) {
        return placeOf(d) == place &&
               std::all_of(words.begin(), words.end(), [&](const std::string& word) {
                 return d.message.find(word) != std::string::npos;
               });
      });
  EXPECT_TRUE(found) << fmt::format("{}", fmt::join(words, " ... ")) << " at " << shown(place)
                     << "\n"
                     << all(outcome.errors);
}

// The error of a field's wrong value. It is the only one, but that a resource with a wrong name is
// missed by those that refer to it.
void expectError(const Field& field, const Outcome& outcome, const Place& place,
                 const std::vector<std::string>& words) {
  if (field.info->name == "name")
    expectAmong(outcome, place, words);
  else
    expectOnly(outcome, place, words);
}

// The field with a wrong value in its place (for a list, in the place of its first item).
std::size_t refuses(const Field& field, const std::string& yaml, const std::string& word) {
  SCOPED_TRACE(fmt::format("{}: {}", field.pattern, yaml.substr(0, 100)));
  const Json::json_pointer at = field.info->list ? field.pointer / 0 : field.pointer;
  Json document = *field.document;
  document[at] = raw(yaml);
  const Outcome outcome = loadIt(document);
  expectError(field, outcome, outcome.written.values.at(at.to_string()), {field.info->name, word});
  return 1;
}

// What may be written for a type whose `allowed` is this text, and what may not.
struct Examples {
  std::regex allowed;
  std::vector<std::string> wrong;
  std::vector<std::string> right;
};

std::string quoted(std::size_t length, char c = 'x') { return '"' + std::string(length, c) + '"'; }

const std::vector<Examples>& examples() {
  static const std::vector<Examples> all{
      {std::regex("^true or false$"),
       {"yes", "no", "on", "True", "FALSE", "1", "0", "'true'", "\"false\"", "\"\"", "x"},
       {"true", "false"}},
      {std::regex("^false$"), {"yes", "0", "'false'", "False"}, {"false"}},
      {std::regex("^1 to 63 characters of a-z"),
       {"A", "aB", "1a", "-a", "a-", "a_b", "a.b", "\"\"", "\"a b\"", "\xc3\xa9", "a/b",
        quoted(64, 'a')},
       {}},
      {std::regex("^a name or a URL"),
       {"A", "\"\"", "x/", "a_b", "\xc3\xa9", "a/B", "\"a b\""},
       {}},
      {std::regex("whole number"),
       {"010", "00", "1e3", "1.0", "+5", "five", "\"\"", "' 5'", "'5 '", "0x10", "1_0", "5s",
        "99999999999999999999", "-99999999999999999999", "\xd9\xa1", "true", ".inf"},
       {}},
      {std::regex("decimal or with 0x|contiguous bits"),
       {"0x", "0xg", "-1", "0b1", "1e3", "\"\"", "0x1ffffffffffffffff", "99999999999999999999999"},
       {}},
      {std::regex("(^|or )a number from"),
       {"00.5", "1e-1", "+0.5", ".5", "0.", "half", "\"\"", "' 0.5'", "0,5", ".nan", ".inf", "-0.5",
        "50%", "0.5.0"},
       {}},
      {std::regex("address of a host"),
       {"x", "\"\"", "10.2", "10.2.0.256", "010.2.0.1", "10.2.0.1.", "0.0.0.0", "127.0.0.1",
        "224.0.0.1", "255.255.255.255", "'::'", "'::1'", "'ff02::1'", "'fd00::g'", "10.2.0.1/24"},
       {}},
      {std::regex("^a range of addresses"),
       {"x", "\"\"", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/08", "'fd00::/129'",
        "'fd00::1/8'", "10.0.0.0-10.0.0.9"},
       {"0.0.0.0/0", "'::/0'", "10.77.0.0/16", "192.0.2.1"}},
      {std::regex("^a range of ports"),
       {"0", "0-80", "80-65536", "90-80", "80-", "-80", "080-90", "\"\"", "80..90", "http"},
       {"1-65535", "80", "'443'", "80-80"}},
      {std::regex("^a DNS name"),
       {"\"\"", "a..b", ".a", "a b", "-a.b", "a-.b", "10.0.0.1", "\xc3\xa9.example.com", "a/b",
        "\"a\\u0000b\"", quoted(64, 'a')},
       {"a", "A.B.", "_a.b", "x-1.example.com", quoted(63, 'a')}},
      {std::regex("^an address and port"),
       {"127.0.0.1", "localhost:1", "'::1:9147'", "'127.0.0.1:0'", "'127.0.0.1:65536'", "':9147'",
        "'[127.0.0.1]:1'", "\"\""},
       {"'127.0.0.1:1'", "'[fd00::1]:65535'", "'0.0.0.0:9147'"}},
      {std::regex("^whole seconds"),
       {"3600", "1m", "1.5s", "-1s", "-0s", "010s", "s", "\"\"", "1 s", "1S", "2147483648s", "+1s"},
       {"0s", "1s", "2147483647s"}},
      {std::regex("^the name of a network interface"),
       {"\"\"", "abcdefghijklmnop", "a/b", "'a b'", "'a:1'", ".", "..", "\xc3\xa9"},
       {"eth9.100", "abcdefghijklmno", "br-lan_1"}},
      {std::regex("^a path that begins"), {"\"\"", "x", "'/a b'", "/\xc3\xa9", "\"/\\n\""}, {"/"}},
      {std::regex("^a host name or address"),
       {"'a b'", "a/b", "\xc3\xa9", "\"a\\r\\nb\"", quoted(256)},
       {"a.example.com", "'[::1]'", quoted(255)}},
      {std::regex("^a protocol name"), {"\"\"", quoted(256), "\"a\\t\""}, {"h2", quoted(255)}},
      {std::regex("printable ASCII characters"),
       {"\"a\\u0001\"", "\"a\\n\"", "\xc3\xa9", "\"\\x7f\""},
       {}},
      {std::regex("^the name, URL or IP address"), {"\"\"", "A", "'a b'", "x/", "10.0.0.256"}, {}},
  };
  return all;
}

TEST(Schema, TheFullConfigurationsAreValidAndHaveEveryField) {
  for (const Json& document : fullConfigurations()) {
    const Outcome outcome = loadIt(document);
    EXPECT_TRUE(outcome.errors.empty()) << outcome.written.text << all(outcome.errors);
  }
  EXPECT_GT(readFields().size(), 150u);
}

TEST(Schema, C1_EveryFieldRefusesAnotherKindOfValue) {
  std::size_t tried = 0;
  for (const Field& field : readFields()) {
    const FieldInfo& info = *field.info;
    const auto refusesWhole = [&](const std::string& yaml, const std::string& word) {
      SCOPED_TRACE(field.pattern + ": " + yaml);
      const Outcome outcome = loadIt(changed(field, raw(yaml)));
      expectError(field, outcome, outcome.written.values.at(field.pointer.to_string()),
                  {info.name + " must be", word});
      ++tried;
    };
    refusesWhole("~", "not nothing");
    if (info.list) {
      refusesWhole("x", "a list, each item");
      refusesWhole("{a: 1}", "a list, each item");
      tried += refuses(field, "[[1]]", "each of " + info.name + " must be");
      tried += refuses(field, "~", "each of " + info.name + " must be");
      if (info.mapping == nullptr) tried += refuses(field, "{a: 1}", "not a mapping");
      if (info.mapping != nullptr) tried += refuses(field, "x", "a mapping");
    } else if (isMapping(info) || isFreeMapping(info)) {
      refusesWhole("x", "a mapping");
      refusesWhole("[1]", "not a list");
      refusesWhole("80", "not '80'");
    } else {
      refusesWhole("[x]", "not a list");
      refusesWhole("{a: 1}", "not a mapping");
    }
  }
  EXPECT_GT(tried, 500u);
}

TEST(Schema, C1_EveryTypeRefusesWhatIsNoneOfItsValues) {
  std::size_t tried = 0;
  for (const Field& field : readFields()) {
    const FieldInfo& info = *field.info;
    if (info.mapping != nullptr || isFreeMapping(info)) continue;
    for (const Examples& e : examples()) {
      if (!std::regex_search(info.allowed, e.allowed)) continue;
      for (const std::string& wrong : e.wrong) {
        tried += refuses(field, wrong, info.name + " must be");
      }
      break;
    }
  }
  EXPECT_GT(tried, 900u);
  RecordProperty("cases", std::to_string(tried));
}

// Fields for which a value that is right by itself breaks a rule about several.
bool dependsOnOthers(const Field& field) {
  static const std::set<std::string> names{"timeoutSec",  // H2: at most the interval
                                           "checkIntervalSec",
                                           "queues",  // the last queue's number
                                           "queueBase",
                                           "allPorts",  // P8.2: exactly one way to say which ports
                                           "destRange"};  // N5: the family of the rule
  return names.contains(field.info->name) || field.pattern.ends_with("destinations/*/weight");
}

TEST(Schema, C1_EveryTypeAcceptsWhatItSays) {
  std::size_t tried = 0;
  for (const Field& field : readFields()) {
    if (field.info->mapping != nullptr || isFreeMapping(*field.info) || dependsOnOthers(field))
      continue;
    for (const Examples& e : examples()) {
      if (!std::regex_search(field.info->allowed, e.allowed)) continue;
      for (const std::string& right : e.right) {
        Json document = *field.document;
        document[field.info->list ? field.pointer / 0 : field.pointer] = raw(right);
        const Outcome outcome = loadIt(document);
        EXPECT_TRUE(outcome.errors.empty()) << field.pattern << ": " << right << "\n"
                                            << all(outcome.errors);
        ++tried;
      }
      break;
    }
  }
  EXPECT_GT(tried, 60u);
}

// A little beyond a bound, as it is written.
std::string beyond(const std::string& bound, int by, bool whole) {
  if (whole) return std::to_string(std::stoll(bound) + by);
  return fmt::format("{:.4f}", std::stod(bound) + by * 0.0005);
}

TEST(Schema, C1_EveryRangeEndsWhereItSays) {
  static const std::regex range("number from ([0-9.]+) to ([0-9.]+)($|, at most)");
  std::size_t tried = 0;
  for (const Field& field : readFields()) {
    std::smatch match;
    const FieldInfo& info = *field.info;
    if (isFreeMapping(info) || !std::regex_search(info.allowed, match, range)) continue;
    const bool whole = info.allowed.find("whole") != std::string::npos;
    const std::string min = match[1], max = match[2];
    tried += refuses(field, beyond(min, -1, whole), allowedOf(info));
    tried += refuses(field, beyond(max, 1, whole), allowedOf(info));
    if (whole) tried += refuses(field, "'" + beyond(max, 1, whole) + "'", allowedOf(info));
    for (const std::string& bound : {min, max, "'" + max + "'"}) {
      Json document = *field.document;
      document[info.list ? field.pointer / 0 : field.pointer] = raw(bound);
      const Outcome outcome = loadIt(document);
      ++tried;
      if (!dependsOnOthers(field)) {
        EXPECT_TRUE(outcome.errors.empty()) << field.pattern << ": " << bound << "\n"
                                            << all(outcome.errors);
      }
      for (const Diagnostic& error : outcome.errors)
        EXPECT_THAT(error.message, testing::Not(testing::HasSubstr(allowedOf(info))));
    }
  }
  EXPECT_GT(tried, 200u);
}

TEST(Schema, C1_EveryChoiceSaysWhatIsAllowedAndWhatIsNear) {
  static const std::regex choice("^[A-Za-z0-9_]+(, [A-Za-z0-9_]+)* or [A-Za-z0-9_]+$");
  static const std::regex word("[A-Za-z0-9_]+");
  std::size_t tried = 0;
  for (const Field& field : readFields()) {
    const std::string& allowed = field.info->allowed;
    if (field.info->mapping != nullptr || allowed == "true or false" ||
        !std::regex_match(allowed, choice))
      continue;
    tried += refuses(field, "Something-else-entirely", allowed);
    for (std::sregex_iterator it(allowed.begin(), allowed.end(), word), end; it != end; ++it) {
      std::string near = it->str();
      if (near == "or") continue;
      std::swap(near[near.size() - 1], near[near.size() - 2]);
      if (near == it->str()) near += "X";
      if (near.size() < 4) continue;  // too short to be near anything
      tried += refuses(field, near, "did you mean '");
    }
  }
  EXPECT_GT(tried, 100u);
}

TEST(Schema, H5_EveryTextHasItsLimit) {
  static const std::regex limit("(at most|1 to) ([0-9]+)( printable ASCII)? characters");
  std::size_t tried = 0;
  for (const Field& field : readFields()) {
    std::smatch match;
    const std::string& allowed = field.info->allowed;
    if (!std::regex_search(allowed, match, limit)) continue;
    const auto most = static_cast<std::size_t>(std::stoul(match[2]));
    const std::string first = field.info->name == "requestPath" ? "/" : "a";
    tried += refuses(field, first + std::string(most, 'x'), allowed);
    Json document = *field.document;
    document[field.info->list ? field.pointer / 0 : field.pointer] =
        raw(first + std::string(most - 1, 'x'));
    for (const Diagnostic& error : loadIt(document).errors)
      EXPECT_THAT(error.message, testing::Not(testing::HasSubstr(allowed))) << field.pattern;
  }
  EXPECT_GE(tried, 25u);
}

TEST(Schema, C1_EveryMisspeltKeyIsToldWithTheNearOne) {
  std::size_t tried = 0;
  for (const Field& field : readFields()) {
    const std::string& name = field.info->name;
    for (const int mistake : {0, 1, 2}) {
      std::string wrong = name;
      if (mistake == 0) wrong += "s";
      if (mistake == 1) std::swap(wrong[1], wrong[2]);
      if (mistake == 2) wrong[0] = static_cast<char>(wrong[0] ^ 0x20);
      SCOPED_TRACE(field.pattern + " as " + wrong);
      Json document = *field.document;
      const Json::json_pointer parent = field.pointer.parent_pointer();
      if (wrong == name || document[parent].contains(wrong)) continue;
      document[parent][wrong] = document[field.pointer];
      document[parent].erase(name);
      const Outcome outcome = loadIt(document);
      const Place place = outcome.written.keys.at((parent / wrong).to_string());
      expectAmong(outcome, place,
                  {fmt::format("unknown key '{}'", wrong), "did you mean '", "allowed are "});
      ++tried;
    }
  }
  EXPECT_GT(tried, 400u);
}

TEST(Schema, C1_EveryKeyStandsOnce) {
  std::size_t tried = 0;
  for (const Field& field : readFields()) {
    SCOPED_TRACE(field.pattern);
    const Outcome once = loadIt(*field.document);
    const Outcome outcome = loadIt(*field.document, field.pointer.to_string());
    const std::string pointer = field.pointer.to_string();
    expectOnly(outcome, outcome.written.keys.at(pointer),
               {fmt::format("duplicate key '{}'", field.info->name),
                fmt::format("line {}", once.written.keys.at(pointer).line)});
    ++tried;
  }
  EXPECT_GT(tried, 150u);
}

TEST(Schema, C1_EveryRequiredFieldIsMissed) {
  std::size_t tried = 0;
  for (const Field& field : readFields()) {
    if (!field.info->required) continue;
    SCOPED_TRACE(field.pattern);
    Json document = *field.document;
    const Json::json_pointer parent = field.pointer.parent_pointer();
    document[parent].erase(field.info->name);
    const Outcome outcome = loadIt(document);
    const std::string needs = fmt::format("needs the key '{}'", field.info->name);
    if (document[parent].empty()) {
      expectAmong(outcome, outcome.written.values.at(parent.to_string()), {needs});
    } else {
      const std::string first = document[parent].begin().key();
      expectAmong(outcome, outcome.written.keys.at((parent / first).to_string()), {needs});
    }
    EXPECT_THAT(all(outcome.errors), testing::HasSubstr(field.info->allowed));
    ++tried;
  }
  EXPECT_GE(tried, 18u);
}

TEST(Schema, C1_WhatIsIgnoredMayHoldAnything) {
  std::size_t tried = 0;
  for (const Field& field : allFields()) {
    if (field.info->use != Use::ignored) continue;
    for (const std::string value : {"x", "{a: [1]}", "~"}) {
      const Outcome outcome = loadIt(changed(field, raw(value)));
      EXPECT_TRUE(outcome.errors.empty()) << field.pattern << "\n" << all(outcome.errors);
    }
    ++tried;
  }
  EXPECT_GT(tried, 70u);
}

TEST(Schema, C1_WhatIsRefusedIsRefusedByName) {
  std::size_t tried = 0;
  for (const Field& field : allFields()) {
    if (field.info->use != Use::refused) continue;
    SCOPED_TRACE(field.pattern);
    const Outcome outcome = loadIt(changed(field, raw("x")));
    expectOnly(outcome, outcome.written.keys.at(field.pointer.to_string()),
               {field.info->name + " is not supported: ", field.info->allowed});
    ++tried;
  }
  EXPECT_GT(tried, 40u);
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
