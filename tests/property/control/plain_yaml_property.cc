// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the plain reader reads, it reads as the full parser does; it may only ever stop early.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "cli/simulate/plain_yaml.h"

namespace weir::cli {
namespace {

using config::Value;
using config::ValuePtr;

bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.quoted != b.quoted || a.text != b.text || a.mark != b.mark)
    return false;
  if (a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same(*a.items[i], *b.items[i])) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i)
    if (a.entries[i].key != b.entries[i].key || a.entries[i].mark != b.entries[i].mark ||
        !same(*a.entries[i].value, *b.entries[i].value))
      return false;
  return true;
}

// The plain reader's document with its lists put back; nullptr: it stopped.
ValuePtr plainly(const config::Text& text) {
  std::map<std::string, std::vector<ValuePtr>, std::less<>> lists;
  const PlainDocument plain = readPlainYaml(text, [&](std::string_view list, ValuePtr item) {
    lists[std::string(list)].push_back(std::move(item));
  });
  if (plain.root == nullptr) return nullptr;
  auto root = std::make_shared<Value>(*plain.root);
  for (Value::Entry& entry : root->entries) {
    const auto list = lists.find(entry.key);
    if (list == lists.end()) continue;
    auto whole = std::make_shared<Value>(*entry.value);
    whole->items = list->second;
    entry.value = whole;
  }
  return root;
}

enum class Reading { stopped, alike, differs };

Reading compare(const std::string& yaml) {
  const config::Text text({"s.yaml", yaml});
  const ValuePtr plain = plainly(text);
  if (plain == nullptr) return Reading::stopped;
  config::Problems problems;
  const config::Documents full = config::parse(text, problems);
  const bool alike = problems.errors() == 0 && full.complete && full.values.size() == 1 &&
                     same(*plain, *full.values[0]);
  return alike ? Reading::alike : Reading::differs;
}

const std::vector<std::string>& samples() {
  static const std::vector<std::string> all{
      "node: {location: {region: r1, zone: za}, zones: [{name: za, clientRanges: [10.1.0.0/16]}]}\n"
      "resources:\n"
      "  healthChecks: [{name: hc, type: TCP, tcpHealthCheck: {port: 80}}]\n"
      "  routes:\n"
      "    - {name: any, destRange: 0.0.0.0/0}   # everything\n"
      "\n"
      "events:\n"
      "  - {at: 0, health: {10.2.0.11: UNHEALTHY, \"10.2.0.12:8080\": HEALTHY}}\n"
      "  - {at: 1, packet: {src: fd00::7, dst: 'fd00::9', proto: TCP, sport: 4, flags: [SYN, "
      "ACK]}}\n"
      "  - {at: 2, packet: {src: 10.1.0.7,\n"
      "       dst: 10.9.9.9}}\n"
      "expect:\n"
      "  - {event: 0, in: [a-b, c_d], rule: P2.1}\n",
      "---\n"
      "events:\n"
      "- at: 0.5\n"
      "  packet:\n"
      "    src: 10.1.0.7\n"
      "    flags:\n"
      "    - SYN\n"
      "    - ACK\n"
      "- at: 1\n"
      "  apply:\n"
      "    backendServices:\n"
      "      - name: web\n"
      "        description: a service, of two words\n"
      "        backends:\n"
      "        -   group: g\n"
      "            failover: true\n"
      "  # done\n"
      "expect: []\n",
      "{\"node\": {\"a\": 1}, \"events\": [{\"at\": 0, \"packet\": {\"src\": \"10.1.0.7\"}}, "
      "{\"at\": "
      "-1.5}],\n \"expect\": [{\"event\": 0, \"in\": [\"x\"]}]}\n"};
  return all;
}

TEST(PlainYaml, ReadsItsOwnSamples) {
  for (const std::string& sample : samples()) EXPECT_EQ(compare(sample), Reading::alike) << sample;
}

TEST(PlainYaml, StopsAtWhatIsNotPlain) {
  for (const char* yaml : {"",
                           "a: &x 1\nb: *x\n",
                           "a: |\n  b\n",
                           "a: >\n  b\n",
                           "a: !t b\n",
                           "a: \"b\\n\"\n",
                           "a: 'it''s'\n",
                           "a:\n",
                           "a: ~\n",
                           "a: null\n",
                           "a: 1\na: 2\n",
                           "a: b\n  c\n",
                           "? a\n: b\n",
                           "a: [1, ]\n",
                           "a: {b}\n",
                           "a: b: c\n",
                           "a: [b\n",
                           "\ta: b\n",
                           "a: @b\n",
                           "a: `b\n",
                           "a: %b\n",
                           "- a\n",
                           "a: 1\n---\nb: 2\n",
                           "a: \"b\" c\n",
                           "a: [b]c\n",
                           "a: b #\nc\n",
                           "a: \xc3\xa9\n"})
    EXPECT_EQ(compare(yaml), Reading::stopped) << yaml;
}

// A sample with a few characters and words removed, put in or replaced.
std::string damaged() {
  static const std::string kCharacters = " \n:,-[]{}#\"'a1.&*!|>%@?~/\\\t";
  static const std::vector<std::string> kWords{"\n  ", "\n", ": ",   ", ",  "  ",
                                               "- ",   " #", "null", "a: b"};
  std::string text = *rc::gen::elementOf(samples());
  for (int edits = *rc::gen::inRange(1, 5); edits > 0; --edits) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        text.erase(at, 1);
        break;
      case 1:
        text.insert(at, 1, *rc::gen::elementOf(kCharacters));
        break;
      case 2:
        text[at] = *rc::gen::elementOf(kCharacters);
        break;
      case 3:
        text.insert(at, *rc::gen::elementOf(kWords));
        break;
    }
  }
  return text;
}

TEST(PlainYaml, AgreesWithTheFullParserOnDamagedText) {
  std::size_t read = 0;
  EXPECT_TRUE(rc::check("damaged samples", [&] {
    for (int i = 0; i < 50; ++i) {
      const std::string text = damaged();
      const Reading reading = compare(text);
      if (reading == Reading::alike) ++read;
      if (reading == Reading::differs) RC_FAIL(text);
    }
  }));
  EXPECT_GT(read, 0u) << "nothing was read, so nothing was compared";
}

}  // namespace
}  // namespace weir::cli
