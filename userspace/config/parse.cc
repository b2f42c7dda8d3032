// SPDX-License-Identifier: GPL-2.0-or-later
//
// yaml-cpp's events become Values. Two things are done here that yaml-cpp 0.7 leaves undone: it
// accepts a quote that is never closed, and it looks arbitrarily far ahead of an open bracket.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "config/value.h"
#include "config/words.h"

namespace weir::config {
namespace {

// Follows the text handed to yaml-cpp; only a quote that is never closed can swallow it.
constexpr std::string_view kEndOfText = "# end of text, not of a quote 7d1f\n";
// No sane text has more unclosed brackets than this, wherever they stand.
constexpr std::ptrdiff_t kMaxUnclosedBrackets = 10'000;

// Ends the reading of a text.
struct Refusal {
  Mark mark;
  std::string message;
};

Mark markOf(const YAML::Mark& mark) noexcept {
  return {static_cast<unsigned>(std::max(mark.line, 0)),
          static_cast<unsigned>(std::max(mark.column, 0))};
}

std::string tooDeep() { return fmt::format("nested deeper than {} levels", kMaxDepth); }
std::string tooMany() {
  return fmt::format("more than {} values, aliases expanded; split the file", kMaxValues);
}

// Puts values together; shared by both sources of them.
class Assembler {
 public:
  Assembler(const Text& text, Problems& problems) : text_(text), problems_(problems) {}

  void error(Mark mark, std::string message) {
    problems_.error({&text_, mark}, std::move(message));
  }

  void checkTag(const std::string& tag, Mark mark) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    error(mark, "YAML tags are not supported; quote what must be text");
  }

  // Adds a child to a collection that is being made. Throws Refusal when it gets too big.
  void account(Value& parent, const Value& child) {
    parent.size += child.size;
    parent.height = std::max(parent.height, child.height + 1);
    if (parent.size > kMaxValues) throw Refusal{parent.mark, tooMany()};
    if (parent.height > kMaxDepth) throw Refusal{parent.mark, tooDeep()};
  }

  // Checks a finished mapping's keys and drops what cannot stay.
  void finish(Value& mapping) {
    std::unordered_map<std::string_view, Mark> seen;
    std::vector<bool> drop(mapping.entries.size(), false);
    for (std::size_t i = 0; i < mapping.entries.size(); ++i) {
      const auto& entry = mapping.entries[i];
      const auto [first, isNew] = seen.try_emplace(entry.key, entry.mark);
      if (isNew) continue;
      drop[i] = true;
      error(entry.mark, fmt::format("duplicate key {}: it stands in line {} already",
                                    quote(entry.key), text_.lineOf(first->second)));
    }
    std::size_t index = 0;
    std::erase_if(mapping.entries, [&](const auto&) { return drop[index++]; });
  }

  // A key's text; empty optional: it was refused and its value must be left out.
  std::optional<std::string> key(const Value& value) {
    if (value.kind != Value::Kind::scalar) {
      error(value.mark, fmt::format("a key must be text, not {}", value.describe()));
      return std::nullopt;
    }
    if (value.text == "<<" && !value.quoted) {
      error(value.mark, "merge keys (<<) are not supported; write the keys out");
      return std::nullopt;
    }
    return value.text;
  }

  const Text& text() const noexcept { return text_; }

 private:
  const Text& text_;
  Problems& problems_;
};

class Builder : public YAML::EventHandler {
 public:
  Builder(const Text& text, Problems& problems) : assembler_(text, problems) {}

  std::vector<ValuePtr> takeDocuments() { return std::move(documents_); }
  // Where the innermost collection that is still open begins.
  std::optional<Mark> openCollection() const {
    return open_.empty() ? std::nullopt : std::optional(open_.back().value->mark);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp makes empty documents without end of a comma or bracket that closes nothing.
    if (std::exchange(lastStart_, mark.pos) == mark.pos)
      throw Refusal{markOf(mark), "this does not belong here: what it could be part of has ended"};
    open_.clear();
    anchors_.clear();
    isEmpty_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto value = std::make_shared<Value>();
    value->mark = markOf(mark);
    // The place of a value that is not written at all is that of whatever follows it.
    const char c = assembler_.text().byteAt(value->mark);
    const bool written = c == '~' || c == 'n' || c == 'N';
    if (!written && !open_.empty()) {
      const Frame& frame = open_.back();
      value->mark = frame.key ? frame.key->second : frame.value->mark;
    }
    add(std::move(value), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    auto value = std::make_shared<Value>();
    value->kind = Value::Kind::scalar;
    value->mark = markOf(mark);
    value->text = text;
    value->quoted = tag == "!";
    if (value->quoted && text.size() + 1 >= kEndOfText.size() &&
        text.find(kEndOfText.substr(0, kEndOfText.size() - 1)) != std::string::npos)
      throw Refusal{value->mark, "this quote is never closed"};
    assembler_.checkTag(tag, value->mark);
    add(std::move(value), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw Refusal{markOf(mark), "this alias stands inside of what it refers to"};
    attach(found->second);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(Value::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(Value::Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override {
    assembler_.finish(*open_.back().value);
    end();
  }

 private:
  struct Frame {
    std::shared_ptr<Value> value;
    YAML::anchor_t anchor = 0;
    bool expectsKey = true;                           // of a mapping
    std::optional<std::pair<std::string, Mark>> key;  // of the value that comes next
  };

  void begin(Value::Kind kind, const YAML::Mark& mark, const std::string& tag,
             YAML::anchor_t anchor) {
    auto value = std::make_shared<Value>();
    value->kind = kind;
    value->mark = markOf(mark);
    assembler_.checkTag(tag, value->mark);
    if (open_.size() >= kMaxDepth) throw Refusal{value->mark, tooDeep()};
    open_.push_back({std::move(value), anchor, true, std::nullopt});
  }

  void end() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    add(std::move(frame.value), frame.anchor);
  }

  void add(ValuePtr value, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = value;
    attach(std::move(value));
  }

  void attach(ValuePtr value) {
    if (open_.empty()) {
      if (isEmpty_) documents_.push_back(std::move(value));
      isEmpty_ = false;
      return;
    }
    Frame& frame = open_.back();
    if (frame.value->kind == Value::Kind::sequence) {
      assembler_.account(*frame.value, *value);
      frame.value->items.push_back(std::move(value));
    } else if (frame.expectsKey) {
      if (auto key = assembler_.key(*value)) frame.key = {std::move(*key), value->mark};
      frame.expectsKey = false;
    } else {
      assembler_.account(*frame.value, *value);
      if (frame.key)
        frame.value->entries.push_back(
            {std::move(frame.key->first), frame.key->second, std::move(value)});
      frame.key.reset();
      frame.expectsKey = true;
    }
  }

  Assembler assembler_;
  std::vector<Frame> open_;
  std::unordered_map<YAML::anchor_t, ValuePtr> anchors_;
  std::vector<ValuePtr> documents_;
  int lastStart_ = -1;  // place of the document begun last
  bool isEmpty_ = true;
};

// yaml-cpp's words for the mistakes that are made most, in words that help.
Refusal explain(const YAML::Exception& exception, const Text& text, const Builder& builder) {
  const Mark mark = markOf(exception.mark);
  const std::string& what = exception.msg;
  const std::string line = text.lineAt(mark);
  const std::string_view indent = std::string_view(line).substr(0, line.find_first_not_of(" \t"));
  if (indent.find('\t') != std::string_view::npos)
    return {{mark.line, static_cast<unsigned>(indent.find('\t'))},
            "a tab cannot indent YAML; use spaces"};
  if (what == "illegal flow end") return {mark, "this bracket does not close the one before it"};
  if (what.find("flow not found") != std::string::npos)
    if (const auto open = builder.openCollection())
      return {*open, "this list or mapping in brackets is never closed, or a comma is missing"};
  if (what == "illegal map value")
    return {mark, "a ':' cannot stand here: check the indentation, or quote the text"};
  if (what == "unknown token")
    return {mark,
            "not valid YAML: quote text that holds one of ? : , [ ] { } # & * ! | > ' \" % @ `"};
  return {mark, fmt::format("not valid YAML: {}", what)};
}

std::optional<Refusal> tooManyBrackets(const Text& text) {
  std::ptrdiff_t open = 0;
  Mark mark;
  for (const char c : text.bytes()) {
    if (c == '[' || c == '{') ++open;
    if (c == ']' || c == '}') open = std::max<std::ptrdiff_t>(open - 1, 0);
    if (open > kMaxUnclosedBrackets) return Refusal{mark, tooDeep()};
    mark = c == '\n' ? Mark{mark.line + 1, 0} : Mark{mark.line, mark.byte + 1};
  }
  return std::nullopt;
}

// Throws Refusal.
ValuePtr convert(const YAML::Node& node, Assembler& assembler, std::size_t depth,
                 std::size_t& budget) {
  auto value = std::make_shared<Value>();
  value->mark = markOf(node.Mark());
  if (depth > kMaxDepth) throw Refusal{value->mark, tooDeep()};
  if (budget-- == 0) throw Refusal{value->mark, tooMany()};
  if (node.IsScalar()) {
    value->kind = Value::Kind::scalar;
    value->text = node.Scalar();
    value->quoted = node.Tag() == "!";
  } else if (node.IsSequence()) {
    value->kind = Value::Kind::sequence;
    for (const auto& item : node) {
      value->items.push_back(convert(item, assembler, depth + 1, budget));
      assembler.account(*value, *value->items.back());
    }
  } else if (node.IsMap()) {
    value->kind = Value::Kind::mapping;
    for (const auto& item : node) {
      const ValuePtr key = convert(item.first, assembler, depth + 1, budget);
      const ValuePtr child = convert(item.second, assembler, depth + 1, budget);
      assembler.account(*value, *child);
      if (auto text = assembler.key(*key))
        value->entries.push_back({std::move(*text), key->mark, child});
    }
    assembler.finish(*value);
  }
  assembler.checkTag(node.Tag(), value->mark);
  return value;
}

}  // namespace

Documents parse(const Text& text, Problems& problems) {
  Builder builder(text, problems);
  const auto refuse = [&](Refusal refusal) {
    problems.error({&text, refusal.mark}, std::move(refusal.message));
    return Documents{builder.takeDocuments(), false};
  };
  if (auto fault = text.firstFault()) return refuse({fault->mark, std::move(fault->message)});
  if (auto refusal = tooManyBrackets(text)) return refuse(std::move(*refusal));

  std::string whole = text.bytes();
  if (!whole.empty() && whole.back() != '\n') whole += '\n';
  whole += kEndOfText;
  std::istringstream stream(std::move(whole));
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (Refusal& refusal) {
    return refuse(std::move(refusal));
  } catch (const YAML::Exception& exception) {
    return refuse(explain(exception, text, builder));
  }
  return {builder.takeDocuments(), true};
}

ValuePtr fromYaml(const YAML::Node& node, const Text& text, Problems& problems) {
  Assembler assembler(text, problems);
  std::size_t budget = kMaxValues;
  try {
    return convert(node, assembler, 1, budget);
  } catch (Refusal& refusal) {
    problems.error({&text, refusal.mark}, std::move(refusal.message));
  } catch (const YAML::Exception& exception) {
    problems.error({&text, markOf(exception.mark)}, exception.msg);
  }
  return nullptr;
}

}  // namespace weir::config
