// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/edit_values.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "config/write.h"
#include "config/write_value.h"

namespace weir::config {
namespace {

ValuePtr shared(Value value) { return std::make_shared<const Value>(std::move(value)); }

Value emptyMapping() {
  Value value;
  value.kind = Value::Kind::mapping;
  return value;
}

ValuePtr without(const ValuePtr& mapping, std::initializer_list<std::string_view> keys) {
  const auto isUnwanted = [&](const Value::Entry& entry) {
    return std::find(keys.begin(), keys.end(), entry.key) != keys.end();
  };
  if (std::none_of(mapping->entries.begin(), mapping->entries.end(), isUnwanted)) return mapping;
  Value out = *mapping;
  std::erase_if(out.entries, isUnwanted);
  return shared(std::move(out));
}

// Makes another document by `make(collection, resource)` for every resource in it; where that gives
// nullptr the resource is left out.
using Make = std::function<ValuePtr(const CollectionName&, const ValuePtr&)>;

ValuePtr eachResource(const ValuePtr& document, const Make& make) {
  if (const auto collection = collectionOfExport(*document)) return make(*collection, document);
  Value out = *document;
  out.items.clear();
  for (const ValuePtr& item : document->items)
    if (ValuePtr made = eachResource(item, make)) out.items.push_back(std::move(made));
  for (Value::Entry& entry : out.entries) {
    const auto collection = collectionNamed(entry.key);
    if (!collection || entry.value->kind != Value::Kind::sequence) continue;
    Value list = *entry.value;
    list.items.clear();
    for (const ValuePtr& item : entry.value->items)
      if (ValuePtr made = make(*collection, item)) list.items.push_back(std::move(made));
    entry.value = shared(std::move(list));
  }
  return shared(std::move(out));
}

}  // namespace

ValuePtr mergePatch(const ValuePtr& target, const ValuePtr& patch) {
  if (patch->kind != Value::Kind::mapping) return patch;
  Value out = target != nullptr && target->kind == Value::Kind::mapping ? *target : emptyMapping();
  for (const Value::Entry& change : patch->entries) {
    const auto present =
        std::find_if(out.entries.begin(), out.entries.end(),
                     [&](const Value::Entry& entry) { return entry.key == change.key; });
    if (change.value->kind == Value::Kind::null) {
      if (present != out.entries.end()) out.entries.erase(present);
    } else if (present != out.entries.end()) {
      present->value = mergePatch(present->value, change.value);
      present->mark = change.mark;
    } else {
      out.entries.push_back({change.key, change.mark, mergePatch(nullptr, change.value)});
    }
  }
  return shared(std::move(out));
}

ValuePtr withoutOutputFields(const ValuePtr& resource) {
  return without(resource, {"kind", "fingerprint", "status", "changed", "diagnostics"});
}

ValuePtr withoutOutputFieldsInside(const ValuePtr& document) {
  return eachResource(document, [](const CollectionName&, const ValuePtr& resource) {
    return without(resource, {"fingerprint", "status", "changed", "diagnostics"});
  });
}

ValuePtr withName(const ValuePtr& resource, const std::string& name) {
  if (resource->kind != Value::Kind::mapping || resource->find("name") != nullptr) return resource;
  Value out = *resource;
  out.entries.insert(out.entries.begin(), {"name", resource->mark, textValue(name)});
  return shared(std::move(out));
}

ValuePtr collectionOf(std::string_view collection, const ValuePtr& resource) {
  Value list;
  list.kind = Value::Kind::sequence;
  list.mark = resource->mark;
  list.items.push_back(resource);
  Value out = emptyMapping();
  out.mark = resource->mark;
  addEntry(out, collection, shared(std::move(list)));
  return shared(std::move(out));
}

ValuePtr withoutResources(
    const ValuePtr& document,
    const std::function<bool(std::string_view collection, const std::string& name)>& isUnwanted) {
  ValuePtr out =
      eachResource(document, [&](const CollectionName& collection, const ValuePtr& resource) {
        return isUnwanted(collection.name, nameOfResource(*resource)) ? nullptr : resource;
      });
  return out != nullptr ? out : shared(Value());
}

}  // namespace weir::config
