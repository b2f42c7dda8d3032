// SPDX-License-Identifier: GPL-2.0-or-later
//
// The manager's configuration changed by command, and tried out without a change.
#include "base/log.h"
#include "base/replace_file.h"
#include "manager/clock.h"
#include "manager/kernel_wish.h"
#include "manager/manager.h"

namespace weir::manager {

Result<std::unique_ptr<ControlPlane>> Manager::tryOut(const Configuration& configuration) const {
  if (std::string fixed = fixedSettingsRefusal(configuration.node); !fixed.empty())
    return Error{std::move(fixed)};
  if (Status fits = kernel_.checkRoutes(divertedRoutes(configuration)); !fits.ok())
    return fits.error();
  auto trial = std::make_unique<ControlPlane>();
  if (Status restored = trial->restore(controlPlane_.save()); !restored.ok())
    return restored.error();
  if (auto changes = trial->apply(configuration, now()); !changes.ok()) return changes.error();
  return trial;
}

Manager::Edited Manager::edit(const config::EditRequest& request, bool dryRun) {
  using Why = config::EditRefusal::Why;
  if (configDir_.empty())
    return config::EditRefusal{Why::notNow, "this manager has no configuration directory", {}};
  Edited edited = config::planEdit(configDir_, request);
  auto* const plan = std::get_if<config::EditPlan>(&edited);
  if (plan == nullptr || !plan->changes()) return edited;
  // What may be refused comes before what is written.
  if (const auto trial = tryOut(plan->loaded.configuration); !trial.ok())
    return config::EditRefusal{Why::notNow, trial.error().message, {}};
  if (dryRun) return edited;
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
  definitions_.clear();
  for (config::Definition& definition : definitions)
    definitions_.emplace(std::pair(definition.collection, definition.name), std::move(definition));
}

const config::Definition* Manager::definitionOf(std::string_view collection,
                                                std::string_view name) const {
  const auto found = definitions_.find(std::pair(std::string(collection), std::string(name)));
  return found == definitions_.end() ? nullptr : &found->second;
}

}  // namespace weir::manager
