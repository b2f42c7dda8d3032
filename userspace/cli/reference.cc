// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/reference.h"

#include <fmt/format.h>

#include "cli/command_table.h"
#include "cli/help.h"
#include "cli/parse.h"

namespace weir::cli {

namespace {

// Bars end a cell of a table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string flagTable(std::span<const Flag> flags) {
  std::string rows;
  for (const Flag& flag : flags)
    if (flag.use == Flag::Use::read)
      rows += fmt::format("| `{}` | {} | {} |\n", spelling(flag), cell(meaning(flag)),
                          flag.path.empty() ? "" : "`" + flag.path + "`");
  if (rows.empty()) return "";
  return "\n| Flag | Meaning | Field |\n|---|---|---|\n" + rows;
}

std::string commandText(const Command& command) {
  std::string text = fmt::format("\n### `weirctl {}`\n\n{}.\n\n```\n{}\n```\n",
                                 joined(command.words), command.summary, usageLine(command));
  if (!command.details.empty()) text += "\n" + command.details + "\n";
  for (const Argument& argument : command.arguments)
    text += fmt::format("\n`{}`: {}.\n", argument.name, argument.help);
  text += flagTable(command.flags);
  std::vector<std::string> without;
  std::vector<std::string> refused;
  for (const Flag& flag : command.flags) {
    if (flag.use == Flag::Use::ignored) without.push_back("`" + flag.name + "`");
    if (flag.use == Flag::Use::refused)
      refused.push_back(fmt::format("`{}` ({})", flag.name, flag.help));
  }
  if (!without.empty()) text += "\nAccepted, without effect: " + joined(without, ", ") + ".\n";
  if (!refused.empty()) text += "\nRefused: " + joined(refused, ", ") + ".\n";
  return text + fmt::format("\n```sh\n{}\n```\n", exampleLines(command, 0));
}

}  // namespace

std::string reference() {
  std::string text = "## Flags of every command\n" + flagTable(globalFlags());
  std::string section;
  for (const Command& command : commands()) {
    if (isHidden(command)) continue;
    if (command.words.front() != section) {
      section = command.words.front();
      text += fmt::format("\n## {}\n", section);
      for (const Group& group : groups())
        if (group.words.size() == 1 && group.words.front() == section)
          text += fmt::format("\n{}.\n", group.summary);
    }
    text += commandText(command);
  }
  return text;
}

void addReferenceCommand(std::vector<Command>& commands) {
  commands.push_back({.words = {"__reference"},
                      .summary = "The reference of all commands",
                      .arguments = {},
                      .flags = {},
                      .example = "weirctl __reference",
                      .run = [](const Context& context, const Invocation&) {
                        context.out() << reference();
                        return Exit::done;
                      }});
}

}  // namespace weir::cli
