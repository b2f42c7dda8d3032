// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/edit_places.h"

#include <fmt/format.h>

#include <charconv>

#include "config/write.h"

namespace weir::config {

namespace {

std::string resourceText(const std::string& collection, const std::string& name) {
  return name.empty() ? collection : fmt::format("{}/{}", collection, name);
}

}  // namespace

std::string Finding::toString() const {
  if (diagnostic.line != 0 || collection.empty()) return diagnostic.toString();
  Diagnostic shown = diagnostic;
  shown.file = resourceText(collection, name) + (path.empty() ? "" : ": " + path);
  return shown.toString();
}

std::string Finding::summary() const {
  std::string place = collection.empty() ? std::string() : resourceText(collection, name);
  if (diagnostic.line != 0) place = fmt::format("{}:{}", diagnostic.file, diagnostic.line);
  return place.empty() ? diagnostic.message : fmt::format("{}: {}", place, diagnostic.message);
}

Mark EditPlaces::note(Place at, Mark mark) {
  at.mark = mark;
  places_.push_back(std::move(at));
  return {static_cast<unsigned>(places_.size() - 1), 0};
}

ValuePtr EditPlaces::copy(const Value& value, const Place& at) {
  Value out = value;
  out.mark = note(at, value.mark);
  for (std::size_t i = 0; i < out.items.size(); ++i) {
    Place inner = at;
    inner.path += fmt::format("[{}]", i);
    out.items[i] = copy(*out.items[i], inner);
  }
  for (Value::Entry& entry : out.entries) {
    Place inner = at;
    inner.path += (inner.path.empty() ? "" : ".") + entry.key;
    entry.mark = note(inner, entry.mark);
    entry.value = copy(*entry.value, inner);
  }
  return std::make_shared<const Value>(std::move(out));
}

ValuePtr EditPlaces::copyCollection(const Value& list, const Place& at) {
  if (list.kind != Value::Kind::sequence) return copy(list, at);
  Value out = list;
  out.mark = note(at, list.mark);
  for (ValuePtr& item : out.items) {
    Place inner = at;
    inner.name = nameOfResource(*item);
    item = copy(*item, inner);
  }
  return std::make_shared<const Value>(std::move(out));
}

ValuePtr EditPlaces::copyDocument(const Value& value, const Text* seen) {
  Place root;
  root.seen = seen;
  if (const auto exported = collectionOfExport(value)) {
    root.collection = exported->name;
    root.name = nameOfResource(value);
    return copy(value, root);
  }
  Value out = value;
  out.mark = note(root, value.mark);
  for (ValuePtr& item : out.items) item = copyDocument(*item, seen);
  for (Value::Entry& entry : out.entries) {
    Place inner = root;
    entry.mark = note(inner, entry.mark);
    if (collectionNamed(entry.key)) {
      inner.collection = entry.key;
      entry.value = copyCollection(*entry.value, inner);
    } else {
      inner.path = entry.key;
      entry.value = copy(*entry.value, inner);
    }
  }
  return std::make_shared<const Value>(std::move(out));
}

ValuePtr EditPlaces::add(const ValuePtr& document, const Text* seen) {
  return copyDocument(*document, seen);
}

Text EditPlaces::text() const {
  return Text({std::string(kName), std::string(places_.size(), '\n')});
}

// Messages name a second place as "<request>:LINE"; the resource there is meant.
std::string EditPlaces::withoutPlaces(std::string message) const {
  const std::string prefix = std::string(kName) + ":";
  for (std::size_t at; (at = message.find(prefix)) != std::string::npos;) {
    const char* const digits = message.data() + at + prefix.size();
    const char* const end = message.data() + message.size();
    unsigned line = 0;
    const auto [rest, error] = std::from_chars(digits, end, line);
    const bool isKnown = error == std::errc() && line >= 1 && line <= places_.size();
    const Place place = isKnown ? places_[line - 1] : Place{};
    const std::string shown = place.seen != nullptr ? Origin{place.seen, place.mark}.toString()
                                                    : resourceText(place.collection, place.name);
    message.replace(at, static_cast<std::size_t>(rest - (message.data() + at)), shown);
  }
  return message;
}

std::vector<Finding> EditPlaces::translate(std::vector<Diagnostic> diagnostics) const {
  std::vector<Finding> findings;
  for (Diagnostic& diagnostic : diagnostics) {
    Finding finding;
    diagnostic.message = withoutPlaces(std::move(diagnostic.message));
    if (isOwn(diagnostic.file)) {
      const bool isKnown = diagnostic.line >= 1 && diagnostic.line <= places_.size();
      const Place place = isKnown ? places_[diagnostic.line - 1] : Place{};
      finding.collection = place.collection;
      finding.name = place.name;
      finding.path = place.path;
      diagnostic.file.clear();
      diagnostic.line = diagnostic.column = 0;
      diagnostic.sourceLine.clear();
      if (place.seen != nullptr) {
        diagnostic.file = place.seen->name();
        diagnostic.line = place.seen->lineOf(place.mark);
        diagnostic.column = place.seen->columnOf(place.mark);
        diagnostic.sourceLine = place.seen->lineAt(place.mark);
      }
    }
    finding.diagnostic = std::move(diagnostic);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace weir::config
