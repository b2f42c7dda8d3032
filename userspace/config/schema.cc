// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/schema.h"

#include <fmt/format.h>

#include "config/words.h"

namespace weir::config {
namespace {

std::vector<std::string> readableNames(const MappingInfo& info) {
  std::vector<std::string> names;
  for (const FieldInfo& field : info.fields)
    if (field.use == FieldInfo::Use::read) names.push_back(field.name);
  return names;
}

const FieldInfo* findField(const MappingInfo& info, std::string_view name) {
  for (const FieldInfo& field : info.fields)
    if (field.name == name) return &field;
  return nullptr;
}

void reportUnknown(const MappingInfo& info, const Value::Entry& entry, Reader& reader) {
  const auto names = readableNames(info);
  reader.error(entry.mark,
               fmt::format("unknown key {} in {}{}; allowed are {}", quote(entry.key), info.title,
                           didYouMean(entry.key, names), join(names, "and")));
}

}  // namespace

void Reader::mustBe(const Value& value, std::string_view allowed) {
  error(value.mark, fmt::format("{}{} must be {}, not {}", item_ ? "each of " : "", field_, allowed,
                                value.describe()));
}

void readMapping(const MappingInfo& info, const Value& value, Reader& reader,
                 const std::function<void(std::size_t, const Value&)>& readField) {
  if (value.kind != Value::Kind::mapping) {
    reader.mustBe(value, fmt::format("a mapping ({} with the keys {})", info.title,
                                     join(readableNames(info), "and")));
    return;
  }
  for (const Value::Entry& entry : value.entries) {
    const FieldInfo* field = findField(info, entry.key);
    if (field == nullptr) {
      reportUnknown(info, entry, reader);
    } else if (field->use == FieldInfo::Use::refused) {
      reader.error(entry.mark, fmt::format("{} is not supported: {}", field->name, field->allowed));
    } else if (field->use == FieldInfo::Use::read) {
      const Reader::Scope scope(reader, field->name);
      const auto index = static_cast<std::size_t>(field - info.fields.data());
      reader.watch(*entry.value, [&] { readField(index, *entry.value); });
    }
  }
  for (const FieldInfo& field : info.fields) {
    if (!field.required || value.find(field.name) != nullptr) continue;
    reader.error(value.mark,
                 fmt::format("{} needs the key '{}': {}", info.title, field.name, field.allowed));
  }
}

}  // namespace weir::config
