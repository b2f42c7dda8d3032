// SPDX-License-Identifier: GPL-2.0-or-later
//
// Short ways to write the flags of resources.
#pragma once

#include <initializer_list>

#include "cli/command.h"

namespace weir::cli {

// What stands for a flag's value in help, as gcloud writes it: "IDLE_TIMEOUT_SEC".
std::string valueName(std::string_view flag);

// A flag whose value of `type` goes to the field at `path`.
Flag field(std::string name, Value type, std::string path, std::string help);
Flag word(std::string name, std::string path, std::string help, std::vector<std::string> choices);
Flag toggle(std::string name, Value type, std::string path, std::string help);
// The name of another resource, or several.
Flag reference(std::string name, Value type, std::string path, std::string help,
               std::string collection);
Flag ignored(std::string name);
Flag ignoredSwitch(std::string name);
Flag refused(std::string name, std::string reason);

// gcloud's flags for where a resource lives and how gcloud itself behaves.
std::vector<Flag> gcloudWide();
Flag dryRun();

void append(std::vector<Flag>& to, std::vector<Flag> more);
void refuse(std::vector<Flag>& to, std::initializer_list<const char*> names, const char* reason);
void ignore(std::vector<Flag>& to, std::initializer_list<const char*> names);

}  // namespace weir::cli
