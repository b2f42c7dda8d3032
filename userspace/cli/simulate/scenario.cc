// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "cli/simulate/plain_yaml.h"
#include "config/resources.h"
#include "config/words.h"

namespace weir::cli {
namespace {

using config::Mark;
using config::Problems;
using config::Reader;
using config::Value;
using config::ValuePtr;

// The lists of a scenario while its text is read.
class Lists {
 public:
  explicit Lists(const config::Text& text) : reader_(text, problems_) {}

  void take(std::string_view list, const ValuePtr& item) {
    if (list == "events")
      takeEvent(*item);
    else
      takeExpectation(*item);
  }

  // What expectations say about events, when all of both are known.
  void checkReferences() {
    const auto check = [&](const Expectation& expectation, std::size_t index, const char* key) {
      if (index < lines_.size() && lines_[index]) return;
      reader_.error(expectation.place,
                    index < lines_.size()
                        ? fmt::format("{} names event {}, which prints no line", key, index)
                        : fmt::format("{} names event {}, but there are {} events, counted from 0",
                                      key, index, lines_.size()));
    };
    for (const Expectation& expectation : expectations) {
      check(expectation, expectation.event, "event");
      if (expectation.sameAs) check(expectation, *expectation.sameAs, "sameAs");
      if (expectation.differsFrom) check(expectation, *expectation.differsFrom, "differsFrom");
    }
  }

  Problems& problems() noexcept { return problems_; }
  Reader& reader() noexcept { return reader_; }

  std::deque<Event> events;
  std::vector<Expectation> expectations;

 private:
  void takeEvent(const Value& item) {
    auto event = readEvent(item, reader_);
    // A wrong event keeps its place in the count.
    lines_.push_back(!event || event->prints());
    if (!event) return;
    checkIds(*event);
    if (!events.empty() && event->at < events.back().at)
      reader_.error(item.find("at")->value->mark,
                    fmt::format("time runs backwards: {} after {}", event->at, events.back().at));
    events.push_back(std::move(*event));
  }

  void takeExpectation(const Value& item) {
    if (auto expectation = readExpectation(item, reader_))
      expectations.push_back(std::move(*expectation));
  }

  // A connection's id is its own until an event closes it.
  void checkIds(const Event& event) {
    if (const auto* connection = std::get_if<ConnectionEvent>(&event.what)) {
      const auto [other, fresh] = connections_.emplace(connection->id, lines_.size() - 1);
      if (!fresh)
        reader_.error(connection->place,
                      fmt::format("connection {} is open already, since event {}; give this one "
                                  "another id, or close that one first",
                                  config::quote(connection->id), other->second));
    } else if (const auto* close = std::get_if<CloseEvent>(&event.what)) {
      if (connections_.erase(close->id) != 0) return;
      std::vector<std::string> open;
      for (const auto& [id, index] : connections_) open.push_back(id);
      reader_.error(close->place,
                    fmt::format("no connection {} is open at this time{}", config::quote(close->id),
                                config::didYouMean(close->id, open)));
    }
  }

  Problems problems_;
  Reader reader_;
  std::vector<bool> lines_;                                   // by event: does it print one?
  std::unordered_map<std::string, std::size_t> connections_;  // open ones, by id: their events
};

// The document by the full parser, its lists handed over; nullptr: it cannot be read as a mapping.
ValuePtr readFully(const config::Text& text, Mark plainUntil, Lists& lists) {
  if (text.bytes().size() > config::kMaxFileBytes) {
    lists.reader().error(
        plainUntil,
        fmt::format("a scenario larger than {} MiB must be plain YAML, without anchors, tags, "
                    "escapes, block scalars and empty values; here it is not",
                    config::kMaxFileBytes >> 20));
    return nullptr;
  }
  const config::Documents documents = config::parse(text, lists.problems());
  if (lists.problems().errors() != 0) return nullptr;
  if (documents.values.size() != 1 || documents.values[0]->kind != Value::Kind::mapping) {
    lists.reader().error(documents.values.size() > 1 ? documents.values[1]->mark : Mark{},
                         "a scenario is one YAML document, a mapping with the keys node, "
                         "resources, events and expect");
    return nullptr;
  }
  for (const Value::Entry& entry : documents.values[0]->entries) {
    if (entry.key != "events" && entry.key != "expect") continue;
    if (entry.value->kind == Value::Kind::sequence) {
      for (const ValuePtr& item : entry.value->items) lists.take(entry.key, item);
    } else if (entry.value->kind != Value::Kind::null) {
      const Reader::Scope scope(lists.reader(), entry.key);
      lists.reader().mustBe(*entry.value, "a list");
    }
  }
  return documents.values[0];
}

}  // namespace

ReadScenario readScenario(config::Source source) {
  ReadScenario result;
  const auto text = std::make_shared<const config::Text>(source);
  source = {};  // the text is a copy, and scenarios can be large
  auto lists = std::make_unique<Lists>(*text);
  const PlainDocument plain = readPlainYaml(
      *text, [&](std::string_view list, const ValuePtr& item) { lists->take(list, item); });
  ValuePtr root = plain.root;
  // What is not a list of a plain document has a message of the full parser's.
  const auto isList = [&](std::string_view key) {
    const auto* entry = root->find(key);
    return entry == nullptr || entry->value->kind == Value::Kind::sequence;
  };
  if (root == nullptr || !isList("events") || !isList("expect")) {
    lists = std::make_unique<Lists>(*text);
    root = readFully(*text, plain.stoppedAt, *lists);
  }

  config::Loaded loaded;
  if (root != nullptr) {
    lists->checkReferences();
    loaded = config::loadScenario(*text, root);
  }
  result.diagnostics = lists->problems().take();
  std::erase_if(loaded.diagnostics, [](const config::Diagnostic& d) {
    return d.severity != config::Diagnostic::Severity::error;
  });
  result.diagnostics.insert(result.diagnostics.end(), loaded.diagnostics.begin(),
                            loaded.diagnostics.end());
  std::stable_sort(result.diagnostics.begin(), result.diagnostics.end(),
                   [](const config::Diagnostic& a, const config::Diagnostic& b) {
                     return std::tie(a.line, a.column) < std::tie(b.line, b.column);
                   });
  if (!result.diagnostics.empty()) return result;
  result.scenario = Scenario{text, std::move(loaded.configuration), std::move(lists->events),
                             std::move(lists->expectations)};
  return result;
}

}  // namespace weir::cli
