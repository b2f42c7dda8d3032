// SPDX-License-Identifier: GPL-2.0-or-later
//
// The commands that are not about one collection.
#pragma once

#include <vector>

#include "cli/command.h"

namespace weir::cli {

void addStatusCommands(std::vector<Command>&);         // status, top
void addConfigurationCommands(std::vector<Command>&);  // check, diff, reload, apply, export, import
void addDrainingCommands(std::vector<Command>&);       // drain, undrain
void addConnectionCommands(std::vector<Command>&);     // connections list, count, flush
void addExplainCommand(std::vector<Command>&);
void addSimulateCommand(std::vector<Command>&);

}  // namespace weir::cli
