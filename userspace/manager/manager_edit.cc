// SPDX-License-Identifier: GPL-2.0-or-later
//
// The manager's configuration changed by a reload or by command, and tried out without a change.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <functional>
#include <utility>

#include "base/log.h"
#include "base/replace_file.h"
#include "manager/clock.h"
#include "manager/manager.h"
#include "manager/route_check.h"

namespace weir::manager {

namespace {

// The first error, and how many there are besides.
std::string refusalOf(const std::vector<config::Diagnostic>& diagnostics) {
  std::string text;
  std::size_t errors = 0;
  for (const config::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != config::Diagnostic::Severity::error || ++errors > 1) continue;
    // Line 0: the file as a whole.
    const std::string place =
        diagnostic.line == 0 ? "" : fmt::format(":{}:{}", diagnostic.line, diagnostic.column);
    text = fmt::format("{}{}: {}", diagnostic.file, place, diagnostic.message);
  }
  if (errors > 1)
    text += fmt::format("; and {} more error{} (weirctl check shows all)", errors - 1,
                        errors == 2 ? "" : "s");
  return text + " (the running configuration goes on)";
}

// Settings by which a running engine and the kernel's state are laid out. A change in flight would
// send packets to queues that nobody serves, or with marks that nobody routes.
std::string changedFixedSettings(const Node& running, const Node& wanted) {
  std::string changed;
  const auto compare = [&](std::string_view name, auto member) {
    if (running.*member != wanted.*member)
      changed += fmt::format("{}{}", changed.empty() ? "" : ", ", name);
  };
  compare("queues", &Node::queues);
  compare("queueBase", &Node::queueBase);
  compare("fwmarkMask", &Node::fwmarkMask);
  compare("trackingTable.ipv4Entries", &Node::trackedIpv4);
  compare("trackingTable.ipv6Entries", &Node::trackedIpv6);
  return changed;
}

// What a start would do that finds the directory lost, when the file could not be written.
std::string notKeptBecause(const std::string& reason, const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0)
    return fmt::format(
        "{}: a start that finds the configuration's directory lost would withdraw everything; "
        "writing is tried again",
        reason);
  return fmt::format(
      "{}: a start that finds the configuration's directory lost would go on with an older one, of "
      "{:%F %T} UTC, in {}; writing is tried again",
      reason, fmt::gmtime(status.st_mtime), file.string());
}

}  // namespace

Manager::Reload Manager::refuse(std::string why, std::vector<config::Diagnostic> diagnostics) {
  ++reloads_.refused;
  lastReload_ = "refused: " + why;
  log::warning("configuration refused", {{"REASON", why}});
  return {false, false, std::move(why), std::move(diagnostics)};
}

Manager::Reload Manager::reload() { return take(load_()); }

Manager::Reload Manager::take(config::Loaded loaded) {
  // First: what is lost may be missed by what is left.
  if (std::string lost = loss(); !lost.empty())
    return refuse(std::move(lost), std::move(loaded.diagnostics));
  if (!loaded.ok()) {
    std::string why = refusalOf(loaded.diagnostics);
    return refuse(std::move(why), std::move(loaded.diagnostics));
  }
  if (loaded.configuration == controlPlane_.configuration()) {
    ++reloads_.accepted;
    lastReload_ = "unchanged";
    define(std::move(loaded.definitions));
    log::info("configuration is unchanged");
    kernel_.announceAgain();
    reconcileKernel();
    return {true, false, {}, std::move(loaded.diagnostics)};
  }
  const std::string fixed = fixedSettingsRefusal(loaded.configuration.node);
  if (!fixed.empty()) return refuse(fixed, std::move(loaded.diagnostics));
  if (const Status fits = checkRoutes(kernel_, loaded.configuration, loaded.definitions); !fits)
    return refuse(fits.error().message, std::move(loaded.diagnostics));
  auto changes = applyConfiguration(std::move(loaded.configuration));
  if (!changes.ok()) return refuse(changes.error().message, std::move(loaded.diagnostics));
  ++reloads_.accepted;
  lastReload_ = "applied";
  define(std::move(loaded.definitions));
  const Configuration& configuration = controlPlane_.configuration();
  kernel_.announceAgain();
  log::info("configuration applied",
            {{"SERVICES", std::to_string(configuration.services.size())},
             {"FORWARDING_RULES", std::to_string(configuration.rules.size())}});
  carryOut(std::move(changes).value());
  if (onConfiguration_) onConfiguration_(configuration);
  return {true, true, {}, std::move(loaded.diagnostics)};
}

std::string Manager::fixedSettingsRefusal(const Node& wanted) const {
  const std::string fixed = changedFixedSettings(controlPlane_.configuration().node, wanted);
  if (fixed.empty()) return {};
  return fixed +
         " cannot change while weir runs: stop weir-engine and weir-manager, then start both";
}

Result<std::unique_ptr<ControlPlane>> Manager::tryOut(const Configuration& configuration) const {
  if (std::string fixed = fixedSettingsRefusal(configuration.node); !fixed.empty())
    return Error{std::move(fixed)};
  if (Status fits = checkRoutes(kernel_, configuration, {}); !fits) return fits.error();
  auto trial = std::make_unique<ControlPlane>();
  if (Status restored = trial->restore(controlPlane_.save()); !restored.ok())
    return restored.error();
  if (auto changes = trial->apply(configuration, now()); !changes.ok()) return changes.error();
  return trial;
}

std::string Manager::loss() const { return config::lossOf(origins_); }

Manager::Edited Manager::edit(const config::EditRequest& request, bool dryRun) {
  using Why = config::EditRefusal::Why;
  if (configDir_.empty())
    return config::EditRefusal{Why::notNow, "this manager has no configuration directory", {}};
  if (std::string lost = loss(); !lost.empty())
    return config::EditRefusal{Why::notNow, std::move(lost), {}};
  Edited edited = config::planEdit(configDir_, request);
  auto* const plan = std::get_if<config::EditPlan>(&edited);
  if (plan == nullptr || !plan->changes()) return edited;
  // What may be refused comes before what is written.
  if (const auto trial = tryOut(plan->loaded.configuration); !trial.ok())
    return config::EditRefusal{Why::notNow, trial.error().message, {}};
  if (dryRun) return edited;
  std::error_code ignored;  // replaceFile() says why it cannot write
  std::filesystem::create_directory(plan->file.parent_path(), ignored);
  if (const Status written = replaceFile(plan->file, plan->text); !written.ok()) {
    log::error("a change by command could not be written", {{"REASON", written.error().message}});
    return config::EditRefusal{Why::notWritten, written.error().message, {}};
  }
  const auto record = [](const char* what, const std::vector<std::string>& names) {
    for (const std::string& name : names) log::info(what, {{"RESOURCE", name}});
  };
  record("created by command", plan->created);
  record("changed by command", plan->replaced);
  record("deleted by command", plan->removed);
  if (const Reload taken = take(plan->loaded); !taken.accepted)
    return config::EditRefusal{Why::notNow, taken.refusal, {}};
  return edited;
}

void Manager::define(std::vector<config::Definition> definitions) {
  origins_ = config::originsOf(definitions, configDir_);
  keep();
  definitions_.clear();
  for (config::Definition& definition : definitions)
    definitions_.emplace(std::pair(definition.collection, definition.name), std::move(definition));
}

void Manager::keep() {
  if (stateDir_.empty()) return;
  std::string text = config::keptText(controlPlane_.configuration(), configDir_, origins_);
  std::error_code ignored;
  if (std::hash<std::string>{}(text) == keptHash_ &&
      std::filesystem::exists(stateDir_ / config::kKeptName, ignored)) {
    unkept_.clear();
    notKept_.clear();
    return;
  }
  unkept_ = std::move(text);
  keepAgain();
}

void Manager::keepAgain() {
  if (unkept_.empty()) return;
  const std::filesystem::path file = stateDir_ / config::kKeptName;
  std::error_code ignored;  // replaceFile() says why it cannot write
  std::filesystem::create_directories(stateDir_, ignored);
  if (const Status written = replaceFile(file, unkept_); !written) {
    std::string why = notKeptBecause(written.error().message, file);
    if (why != notKept_) log::warning("what is in force is not kept", {{"REASON", why}});
    notKept_ = std::move(why);
    return;
  }
  keptHash_ = std::hash<std::string>{}(unkept_);
  unkept_ = {};
  if (!std::exchange(notKept_, {}).empty()) log::info("what is in force is kept again");
}

const config::Definition* Manager::definitionOf(std::string_view collection,
                                                std::string_view name) const {
  const auto found = definitions_.find(std::pair(std::string(collection), std::string(name)));
  return found == definitions_.end() ? nullptr : &found->second;
}

}  // namespace weir::manager
