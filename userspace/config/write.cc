// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/write.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

#include "config/collections.h"
#include "config/resource_schemas.h"
#include "config/types.h"
#include "config/write_value.h"
#include "core/hash.h"

namespace weir::config {
namespace {

ValuePtr write(const HealthCheck& check) { return writeHealthCheck(check); }
ValuePtr write(const NetworkEndpointGroup& group) { return writeGroup(group); }
ValuePtr write(const BackendService& service) { return writeService(service); }
ValuePtr write(const ForwardingRule& rule) { return writeRule(rule); }
ValuePtr write(const Route& route) { return writeRoute(route); }
ValuePtr write(const TargetTcpProxy& proxy) { return writeTargetProxy(proxy); }
ValuePtr write(const TlsRoute& route) { return writeTlsRoute(route); }
ValuePtr write(const ServiceLbPolicy& policy) { return writeLbPolicy(policy); }

// A collection's resources by name.
template <class T>
void append(std::string_view collection, const std::vector<T>& resources,
            std::vector<WrittenResource>& out) {
  const CollectionName name = *collectionNamed(collection);
  const auto begin = static_cast<std::ptrdiff_t>(out.size());
  for (const T& resource : resources) out.push_back({name, resource.name, write(resource)});
  std::sort(out.begin() + begin, out.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

// Text that no reader of YAML takes for anything else when it stands without quotes.
bool isPlainText(const std::string& text) {
  if (Address::parse(text) || Prefix::parse(text))
    return text.front() != ':' && (text.find('.') != text.npos || text.find("::") != text.npos);
  const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || text.size() > 200 || !isLetter(text.front()) || text.back() == ':')
    return false;
  for (const char c : text)
    if (!isLetter(c) && (c < '0' || c > '9') && std::string_view("-_./:").find(c) == text.npos)
      return false;
  std::string lower = text;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  constexpr std::array<std::string_view, 9> kWords{"null", "true", "false", "yes", "no",
                                                   "on",   "off",  "y",     "n"};
  return std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

void emit(YAML::Emitter& out, const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      out << YAML::Null;
      return;
    case Value::Kind::scalar:
      if (value.quoted && !isPlainText(value.text)) out << YAML::DoubleQuoted;
      out << value.text;
      return;
    case Value::Kind::sequence:
      if (value.items.empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const ValuePtr& item : value.items) emit(out, *item);
      out << YAML::EndSeq;
      return;
    case Value::Kind::mapping:
      if (value.entries.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const Value::Entry& entry : value.entries) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(out, *entry.value);
      }
      out << YAML::EndMap;
      return;
  }
}

// The lines of a text, each behind `margin`, the first behind `first`.
std::string indented(std::string_view text, std::string_view first, std::string_view margin) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += fmt::format("{}{}\n", out.empty() ? first : margin, text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace

std::optional<CollectionName> collectionNamed(std::string_view name) {
  for (const CollectionInfo& c : collections())
    if (c.name == name) return CollectionName{c.name, c.kind};
  return std::nullopt;
}

std::optional<CollectionName> collectionOfExport(const Value& resource) {
  if (const auto* kind = resource.find("kind")) {
    for (const CollectionInfo& c : collections())
      if (c.kind == kind->value->text) return CollectionName{c.name, c.kind};
    return std::nullopt;
  }
  const auto* name = resource.find("name");
  const std::string_view path = name != nullptr ? name->value->text : std::string_view();
  const std::size_t end = path.rfind('/');
  return end == path.npos ? std::nullopt : collectionNamed(lastSegment(path.substr(0, end)));
}

std::string nameOfResource(const Value& resource) {
  const auto* name = resource.find("name");
  return name != nullptr ? std::string(lastSegment(name->value->text)) : std::string();
}

std::vector<WrittenResource> writtenResources(const Configuration& configuration) {
  std::vector<WrittenResource> out;
  forEachCollection(configuration, [&](std::string_view collection, const auto& resources) {
    append(collection, resources, out);
  });
  return out;
}

std::vector<WrittenResource> writtenCollection(const Configuration& configuration,
                                               std::string_view collection) {
  std::vector<WrittenResource> out;
  forEachCollection(configuration, [&](std::string_view name, const auto& resources) {
    if (name == collection) append(name, resources, out);
  });
  return out;
}

std::optional<WrittenResource> writtenResource(const Configuration& configuration,
                                               std::string_view collection, std::string_view name) {
  std::optional<WrittenResource> out;
  forEachCollection(configuration, [&](std::string_view candidate, const auto& resources) {
    if (candidate != collection) return;
    for (const auto& resource : resources)
      if (resource.name == name)
        out = WrittenResource{*collectionNamed(collection), resource.name, write(resource)};
  });
  return out;
}

ValuePtr writtenConfiguration(const std::vector<WrittenResource>& resources, const Node* node) {
  Value whole = node ? *writeNode(*node) : Value();
  whole.kind = Value::Kind::mapping;
  for (std::size_t i = 0; i < resources.size();) {
    const std::string_view collection = resources[i].collection.name;
    Value list;
    list.kind = Value::Kind::sequence;
    for (; i < resources.size() && resources[i].collection.name == collection; ++i)
      list.items.push_back(resources[i].value);
    addEntry(whole, collection, std::make_shared<const Value>(std::move(list)));
  }
  return std::make_shared<const Value>(std::move(whole));
}

std::string fingerprint(const Value& value) {
  return fmt::format("{:016x}", hashText(yamlText(value), 0));
}

std::string yamlText(const Value& value) {
  YAML::Emitter out;
  emit(out, value);
  return out.c_str() + std::string("\n");
}

WrittenFile writtenFile(std::string_view header, const std::vector<WrittenResource>& resources) {
  WrittenFile file{std::string(header), {}};
  const auto linesOf = [](std::string_view text) {
    return static_cast<unsigned>(std::count(text.begin(), text.end(), '\n'));
  };
  unsigned line = 1 + linesOf(file.text);
  std::string_view collection;
  for (const WrittenResource& resource : resources) {
    if (resource.collection.name != collection) {
      collection = resource.collection.name;
      file.text += fmt::format("{}:\n", collection);
      ++line;
    }
    const std::string item = indented(yamlText(*resource.value), "  - ", "    ");
    file.lines.push_back(line);
    line += linesOf(item);
    file.text += item;
  }
  return file;
}

}  // namespace weir::config
