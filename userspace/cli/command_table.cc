// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/command_table.h"

#include <algorithm>

#include "cli/completion.h"
#include "cli/operations/operations.h"
#include "cli/reference.h"
#include "cli/resources/collections.h"

namespace weir::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = [] {
    std::vector<Command> all;
    addStatusCommands(all);
    addResourceCommands(all);
    addConfigurationCommands(all);
    addDrainingCommands(all);
    addConnectionCommands(all);
    addExplainCommand(all);
    addSimulateCommand(all);
    addCompletionCommands(all);
    addReferenceCommand(all);
    return all;
  }();
  return kCommands;
}

const std::vector<Group>& groups() {
  static const std::vector<Group> kGroups = [] {
    std::vector<Group> all = resourceGroups();
    all.push_back({{"connections"}, "Entries of the connection-tracking table"});
    all.push_back({{"completion"}, "Completion scripts for shells"});
    return all;
  }();
  return kGroups;
}

std::vector<Follower> followersOf(std::span<const std::string> words) {
  std::vector<Follower> followers;
  for (const Command& command : commands()) {
    if (command.words.size() <= words.size() ||
        !std::equal(words.begin(), words.end(), command.words.begin()))
      continue;
    const std::string& word = command.words[words.size()];
    const bool isLast = command.words.size() == words.size() + 1;
    if (std::any_of(followers.begin(), followers.end(),
                    [&](const Follower& f) { return f.word == word; }))
      continue;
    Follower follower{word, isLast ? &command : nullptr, command.summary};
    if (!isLast) {
      follower.summary.clear();
      for (const Group& group : groups())
        if (std::equal(group.words.begin(), group.words.end(), command.words.begin(),
                       command.words.begin() + static_cast<std::ptrdiff_t>(words.size()) + 1))
          follower.summary = group.summary;
    }
    followers.push_back(std::move(follower));
  }
  return followers;
}

}  // namespace weir::cli
