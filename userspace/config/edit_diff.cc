// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/edit_diff.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>

#include "config/resource_schemas.h"
#include "config/write.h"

namespace weir::config {
namespace {

std::string textOf(const Value& mapping, std::string_view key) {
  const auto* entry = mapping.find(key);
  return entry == nullptr ? std::string() : entry->value->text;
}

// What an item of a list is known by; empty: nothing.
std::string identityOf(const Value& item) {
  if (item.kind == Value::Kind::scalar) return item.text;
  for (const std::string_view key : {"group", "name", "serviceName"})
    if (const std::string text = textOf(item, key); !text.empty()) return text;
  std::string endpoint;
  for (const std::string_view key : {"ipAddress", "ipv6Address", "fqdn"})
    if (endpoint.empty()) endpoint = textOf(item, key);
  const std::string port = textOf(item, "port");
  if (endpoint.empty() || port.empty()) return endpoint;
  return endpoint.find(':') == endpoint.npos ? endpoint + ":" + port
                                             : fmt::format("[{}]:{}", endpoint, port);
}

// The items of a list by their identities; nullopt: they have none, or not each its own.
std::optional<std::map<std::string, ValuePtr>> itemsOf(const Value& list) {
  std::map<std::string, ValuePtr> items;
  for (const ValuePtr& item : list.items) {
    std::string identity = identityOf(*item);
    if (identity.empty() || !items.emplace(std::move(identity), item).second) return std::nullopt;
  }
  return items;
}

void compare(const std::string& path, const ValuePtr& before, const ValuePtr& after,
             std::vector<FieldDifference>& out);

void compareNamed(const std::map<std::string, ValuePtr>& before,
                  const std::map<std::string, ValuePtr>& after,
                  const std::function<std::string(const std::string&)>& pathOf,
                  std::vector<FieldDifference>& out) {
  for (const auto& [name, value] : before) {
    const auto other = after.find(name);
    compare(pathOf(name), value, other == after.end() ? nullptr : other->second, out);
  }
  for (const auto& [name, value] : after)
    if (!before.contains(name)) compare(pathOf(name), nullptr, value, out);
}

void compareLists(const std::string& path, const ValuePtr& before, const ValuePtr& after,
                  std::vector<FieldDifference>& out) {
  const auto old = itemsOf(*before), present = itemsOf(*after);
  const std::size_t found = out.size();
  if (old && present)
    compareNamed(
        *old, *present, [&](const std::string& name) { return fmt::format("{}[{}]", path, name); },
        out);
  // Items without identities, or the same ones in another order.
  if (out.size() == found) out.push_back({path, before, after});
}

std::map<std::string, ValuePtr> membersOf(const Value& mapping) {
  std::map<std::string, ValuePtr> members;
  for (const Value::Entry& entry : mapping.entries) members.emplace(entry.key, entry.value);
  return members;
}

void compare(const std::string& path, const ValuePtr& before, const ValuePtr& after,
             std::vector<FieldDifference>& out) {
  const bool both = before != nullptr && after != nullptr;
  if (both && isSame(*before, *after)) return;
  // A mapping that comes or goes is told field by field; an item of a list as a whole.
  const ValuePtr& there = before != nullptr ? before : after;
  if (!both && there->kind == Value::Kind::mapping && path.back() != ']') {
    const std::map<std::string, ValuePtr> none;
    compareNamed(
        before ? membersOf(*before) : none, after ? membersOf(*after) : none,
        [&](const std::string& key) { return path + "." + key; }, out);
    return;
  }
  const auto areBoth = [&](Value::Kind kind) {
    return both && before->kind == kind && after->kind == kind;
  };
  if (areBoth(Value::Kind::sequence)) {
    compareLists(path, before, after, out);
  } else if (areBoth(Value::Kind::mapping)) {
    compareNamed(
        membersOf(*before), membersOf(*after),
        [&](const std::string& key) { return path.empty() ? key : path + "." + key; }, out);
  } else {
    out.push_back({path, before, after});
  }
}

using Key = std::pair<std::string, std::string>;

// In the order of an export, the node's settings first.
std::vector<std::pair<Key, ValuePtr>> written(const Configuration& configuration) {
  std::vector<std::pair<Key, ValuePtr>> out{{{"node", "node"}, writeNode(configuration.node)}};
  for (WrittenResource& r : writtenResources(configuration))
    out.emplace_back(Key{r.collection.name, r.name}, std::move(r.value));
  return out;
}

}  // namespace

std::vector<ResourceDifference> differences(const Configuration& before,
                                            const Configuration& after) {
  const auto old = written(before), present = written(after);
  const std::map<Key, ValuePtr> oldByKey(old.begin(), old.end());
  const std::map<Key, ValuePtr> presentByKey(present.begin(), present.end());
  std::vector<ResourceDifference> out;
  for (const auto& [key, value] : old) {
    const auto other = presentByKey.find(key);
    ResourceDifference difference{key.first, key.second, value, nullptr, {}};
    if (other != presentByKey.end()) {
      difference.after = other->second;
      compare("", value, other->second, difference.fields);
      if (difference.fields.empty()) continue;
    }
    out.push_back(std::move(difference));
  }
  for (const auto& [key, value] : present)
    if (!oldByKey.contains(key)) out.push_back({key.first, key.second, nullptr, value, {}});
  return out;
}

}  // namespace weir::config
