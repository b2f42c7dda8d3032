// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cli/answer.h"
#include "config/collections.h"
#include "config/load.h"
#include "config/resource_schemas.h"
#include "config/write.h"

namespace weir::cli {

namespace {

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

char signOf(const std::string& change) {
  if (change == "added") return '+';
  return change == "removed" ? '-' : '~';
}

// "endpoints" of "endpoints[10.2.0.12]", "healthChecks" of "healthChecks[[fd02::1]:80]": the list
// that the path names an item of; empty: it names none.
std::string listOf(const std::string& path) {
  if (!path.ends_with(']')) return {};
  std::size_t depth = 0;
  for (std::size_t at = path.size(); at-- > 0;) {
    if (path[at] == ']') ++depth;
    if (path[at] == '[' && --depth == 0) return path.substr(0, at);
  }
  return {};
}

// Does a field go back to a default, or is there just nothing any more?
bool hasDefault(std::string_view collection, std::string_view path) {
  const config::MappingInfo* mapping = nullptr;
  if (collection == "node") mapping = &config::nodeFields();
  for (const config::CollectionInfo& known : config::collections())
    if (known.name == collection) mapping = &known.item();
  while (mapping != nullptr) {
    const std::size_t end = std::min(path.find('.'), path.size());
    const std::string_view name = path.substr(0, std::min(path.find('['), end));
    const auto field = std::ranges::find(mapping->fields, name, &config::FieldInfo::name);
    if (field == mapping->fields.end()) return false;
    if (end == path.size()) return !field->defaultValue.empty();
    mapping = field->mapping;
    path.remove_prefix(end + 1);
  }
  return false;
}

// The items of lists below the path of their list, which is written once.
class FieldPrinter {
 public:
  FieldPrinter(std::string collection, std::ostream& out)
      : collection_(std::move(collection)), out_(out) {}

  void print(const Json& field) {
    const std::string path = field.value("path", "");
    const Json before = field.value("old", Json()), after = field.value("new", Json());
    const bool comesOrGoes = before.is_null() || after.is_null();
    if (const std::string list = listOf(path); comesOrGoes && !list.empty()) {
      item(list, before, '-');
      item(list, after, '+');
    } else if (comesOrGoes && (before.is_array() || after.is_array())) {
      for (const Json& gone : before) item(path, gone, '-');
      for (const Json& present : after) item(path, present, '+');
    } else {
      list_.clear();
      const std::string nothing = hasDefault(collection_, path) ? "the default" : "nothing";
      out_ << fmt::format("    {}: {} -> {}\n", path, before.is_null() ? nothing : shown(before),
                          after.is_null() ? nothing : shown(after));
    }
  }

 private:
  void item(const std::string& list, const Json& value, char sign) {
    if (value.is_null()) return;
    if (list != list_) out_ << fmt::format("    {}\n", list);
    list_ = list;
    out_ << fmt::format("      {} {}\n", sign, shown(value));
  }

  const std::string collection_;
  std::ostream& out_;
  std::string list_;  // whose path was written last
};

// What was said of each resource, so that it is not said again: by "COLLECTION/NAME".
using Told = std::map<std::string, std::set<std::string>>;

void printResource(const Json& resource, Told& told, std::ostream& out) {
  const std::string change = resource.value("change", "");
  const std::string collection = resource.value("collection", "");
  const std::string name = fmt::format("{}/{}", collection, resource.value("name", ""));
  out << fmt::format("{} {} {}\n", signOf(change), name, change);
  FieldPrinter fields(collection, out);
  for (const Json& field : resource.value("fields", Json::array())) fields.print(field);
  for (const Json& effect : resource.value("effects", Json::array())) {
    out << fmt::format("    {}\n", effect.get<std::string>());
    // A group's name its endpoints: they say the same of every service.
    told[collection == "networkEndpointGroups" ? collection : name].insert(effect);
  }
}

std::string changeOf(const Json& difference, std::string_view collection, const std::string& name) {
  for (const Json& resource : difference.value("resources", Json::array()))
    if (resource.value("collection", "") == collection && resource.value("name", "") == name)
      return resource.value("change", "");
  return {};
}

void printService(const Json& service, const std::string& change, const Told& told,
                  std::ostream& out) {
  const std::string name = service.value("name", "");
  const Json removed = service.value("entriesRemoved", Json());
  const std::string ended = fmt::format(
      "{} tracked connections end", removed.is_number() ? removed.dump() : "an unknown number of");
  if (change == "added")
    out << fmt::format("  {}: new, no connection moves\n", name);
  else if (change == "removed")
    out << fmt::format("  {}: removed, {}\n", name, ended);
  else
    out << fmt::format("  {}: {:.1f}% of new connections move, {}\n", name,
                       service.value("newConnectionsMoved", 0.0) * 100, ended);
  const auto isTold = [&](const std::string& where, const std::string& effect) {
    const auto found = told.find(where);
    return found != told.end() && found->second.contains(effect);
  };
  for (const Json& effect : service.value("effects", Json::array()))
    if (!isTold("backendServices/" + name, effect) && !isTold("networkEndpointGroups", effect))
      out << fmt::format("    {}\n", effect.get<std::string>());
}

Exit difference(const Context& context, const Invocation& invocation) {
  Client::Request request{.method = "POST", .path = {"v1", "diff"}};
  if (!invocation.arguments().empty()) {
    const std::string path = invocation.argument(0);
    const config::Loaded loaded = config::loadDirectory(path);
    if (!loaded.ok()) {
      for (const auto& diagnostic : loaded.diagnostics)
        context.err() << diagnostic.toString() << '\n';
      return complain(context, fmt::format("{} has errors; nothing was compared", path));
    }
    const Configuration& wanted = loaded.configuration;
    request.body = config::yamlText(
        *config::writtenConfiguration(config::writtenResources(wanted), &wanted.node));
    request.contentType = "application/yaml";
  }
  const Answer answer = ask(context, request, Effort::work);
  const Exit exit = present(context, answer, printDifference);
  const bool differs = answer.ok() && answer.body.value("changed", false);
  return exit == Exit::done && differs && invocation.has("--exit-code") ? Exit::refused : exit;
}

}  // namespace

void printDifference(const Json& difference, const Context& context) {
  std::ostream& out = context.out();
  if (!difference.value("changed", false)) {
    out << "No difference: a reload would do nothing.\n";
    return;
  }
  Told told;
  for (const Json& resource : difference.value("resources", Json::array()))
    printResource(resource, told, out);
  const Json services = difference.value("services", Json::array());
  if (services.empty())
    out << "\nNo connection would move.\n";
  else
    out << "\nTraffic\n";
  for (const Json& service : services)
    printService(service, changeOf(difference, "backendServices", service.value("name", "")), told,
                 out);
  if (const std::string refusal = difference.value("refusal", ""); !refusal.empty())
    out << "\nA reload would be refused: " << refusal << '\n';
}

Command differenceCommand() {
  return {.words = {"diff"},
          .summary = "Show what a reload would change, and what share of connections would move",
          .arguments = {{.name = "PATH",
                         .help = "directory or file with a whole configuration (default: what the "
                                 "manager would reload)",
                         .names = Names::files,
                         .required = false}},
          .flags = {{.name = "--exit-code",
                     .value = "",
                     .help = "exit status 1 when there is a difference, for scripts",
                     .type = Value::on}},
          .example = "weirctl diff /root/new-weir",
          .run = difference,
          .details = "Without --exit-code the exit status is 0 with and without a difference."};
}

}  // namespace weir::cli
