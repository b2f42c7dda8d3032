// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/write.h"

#include <fmt/format.h>

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

// In double quotes, with escapes that YAML and JSON share for what cannot stand in a text: control
// characters, also those from U+0080 to U+009F, and the byte order mark.
std::string quotedText(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    if (byte == '"' || byte == '\\') {
      out += {'\\', text[i]};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else if (text.substr(i, 3) == "\xef\xbb\xbf") {
      out += "\\ufeff";
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out + '"';
}

std::string scalarText(const Value& value) {
  return value.quoted && !isPlainText(value.text) ? quotedText(value.text) : value.text;
}

// A value that stands behind its key or dash on the same line; nullopt: it has lines of its own.
std::optional<std::string> inlineText(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::scalar:
      return scalarText(value);
    case Value::Kind::sequence:
      return value.items.empty() ? std::optional<std::string>("[]") : std::nullopt;
    case Value::Kind::mapping:
      return value.entries.empty() ? std::optional<std::string>("{}") : std::nullopt;
  }
  return std::nullopt;
}

// The lines of a list or mapping; `first` stands before the first of them instead of the margin.
void emit(const Value& value, std::size_t indent, std::string_view first, std::string& out) {
  const std::string margin(indent, ' ');
  std::string_view before = first;
  for (const ValuePtr& item : value.items) {
    out += before;
    if (const auto text = inlineText(*item))
      out += fmt::format("- {}\n", *text);
    else
      emit(*item, indent + 2, "- ", out);
    before = margin;
  }
  for (const Value::Entry& entry : value.entries) {
    out += fmt::format("{}{}:", before, isPlainText(entry.key) ? entry.key : quotedText(entry.key));
    if (const auto text = inlineText(*entry.value)) {
      out += fmt::format(" {}\n", *text);
    } else {
      out += '\n';
      emit(*entry.value, indent + 2, std::string(indent + 2, ' '), out);
    }
    before = margin;
  }
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
  if (const auto text = inlineText(value)) return *text + '\n';
  std::string out;
  emit(value, 0, "", out);
  return out;
}

bool isSame(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.quoted != b.quoted || a.text != b.text) return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [](const ValuePtr& x, const ValuePtr& y) { return isSame(*x, *y); }) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const Value::Entry& x, const Value::Entry& y) {
                      return x.key == y.key && isSame(*x.value, *y.value);
                    });
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
    file.lines.push_back(line);
    const std::size_t begin = file.text.size();
    emit(*resource.value, 4, "  - ", file.text);
    line += linesOf(std::string_view(file.text).substr(begin));
  }
  return file;
}

}  // namespace weir::config
