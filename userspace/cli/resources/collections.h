// SPDX-License-Identifier: GPL-2.0-or-later
//
// The collections of C1 as groups of commands. Each collection's flags and table are in a file of
// its name; what all collections do alike is here.
#pragma once

#include <functional>

#include "cli/answer.h"
#include "cli/command.h"

namespace weir::cli {

struct Column {
  std::string title;
  std::function<std::string(const Json& resource)> cell;
};

struct Collection {
  std::string command;   // "backend-services"
  std::string api;       // "backendServices"
  std::string singular;  // "backend service"
  std::string summary;   // of the group
  std::vector<Column> columns;
  std::string exampleName;  // of a resource, for examples
};

// All commands of all collections, and their groups.
void addResourceCommands(std::vector<Command>&);
std::vector<Group> resourceGroups();

// Of each file.
void addBackendServices(std::vector<Command>&);
void addBackendMembers(std::vector<Command>&);  // add-backend and its like
void addForwardingRules(std::vector<Command>&);
void addHealthChecks(std::vector<Command>&);
void addNetworkEndpointGroups(std::vector<Command>&);
void addRoutes(std::vector<Command>&);
void addTargetTcpProxies(std::vector<Command>&);
void addTlsRoutes(std::vector<Command>&);
void addServiceLbPolicies(std::vector<Command>&);

const Collection& backendServices();
const Collection& forwardingRules();
const Collection& healthChecks();
const Collection& networkEndpointGroups();
const Collection& routes();
const Collection& targetTcpProxies();
const Collection& tlsRoutes();
const Collection& serviceLbPolicies();

// The commands that every collection has. A collection lives for ever.
Command listCommand(const Collection&);
Command describeCommand(const Collection&);
Command createCommand(const Collection&, std::vector<Flag> flags, std::string example);
Command updateCommand(const Collection&, std::vector<Flag> flags, std::string example);
Command deleteCommand(const Collection&);
Command exportCommand(const Collection&);
Command importCommand(const Collection&);

// NAME, completed with the names there are.
Argument nameArgument(const Collection&);
Client::Path pathOf(const Collection&, const std::string& name);
// {"dryRun": "true"} with --dry-run.
Client::Query changeQuery(const Invocation&);
// "backend service web: updated", or the resource, and what there is to say about it.
Exit presentChange(const Context&, const Collection&, const std::string& name, const Invocation&,
                   const Answer&, std::string_view done);

// Changes a resource that is read first: `change` edits it and returns the patch to send. When
// somebody else changes the resource meanwhile, it is read and edited again.
using Edit = std::function<Result<Json>(const Json& resource)>;
Exit edit(const Context&, const Collection&, const std::string& name, const Invocation&,
          const Edit& change, std::string_view done);

// Cells: the text or number at a path, "" when there is none; lists with commas between.
std::string cellText(const Json& value);
Column column(std::string title, std::string path);

}  // namespace weir::cli
