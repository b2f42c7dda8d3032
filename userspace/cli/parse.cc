// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/command_table.h"
#include "cli/values.h"
#include "config/words.h"

namespace weir::cli {

namespace {

constexpr std::string_view kNo = "--no-";

bool isFlag(std::string_view token) { return token.size() > 1 && token.front() == '-'; }

// How a token names a flag of a list.
struct Match {
  const Flag* flag = nullptr;
  bool negated = false;
};

bool canBeNegated(const Flag& flag) {
  return flag.type == Value::onOff || flag.type == Value::offOn ||
         (flag.use == Flag::Use::ignored && isSwitch(flag.type));
}

Match findFlag(std::span<const Flag> flags, std::string_view name) {
  for (const Flag& flag : flags) {
    if (flag.name == name || (!flag.shortName.empty() && flag.shortName == name))
      return {&flag, false};
    if (canBeNegated(flag) && name.starts_with(kNo) &&
        name.substr(kNo.size()) == std::string_view(flag.name).substr(2))
      return {&flag, true};
  }
  return {};
}

Error unknownFlag(std::string_view name, std::span<const Flag> flags,
                  std::span<const Flag> moreFlags) {
  std::vector<std::string> known;
  for (const auto list : {flags, moreFlags}) {
    for (const Flag& flag : list) {
      if (flag.use == Flag::Use::refused) continue;
      known.push_back(flag.name);
      if (canBeNegated(flag)) known.push_back("--no-" + flag.name.substr(2));
    }
  }
  return Error{
      fmt::format("unknown flag {}{}", config::quote(name), config::didYouMean(name, known))};
}

// Reads the flag at `line[at]` and moves `at` behind it and its value.
Status takeFlag(std::span<const std::string> line, std::size_t& at, std::span<const Flag> flags,
                std::span<const Flag> moreFlags, Invocation& into) {
  const std::string& token = line[at++];
  const std::size_t equals = token.find('=');
  const std::string name = token.substr(0, equals);
  Match match = findFlag(flags, name);
  if (match.flag == nullptr) match = findFlag(moreFlags, name);
  if (match.flag == nullptr) return unknownFlag(name, flags, moreFlags);
  const Flag& flag = *match.flag;
  if (flag.use == Flag::Use::refused)
    return Error{fmt::format("{} is not supported: {}", flag.name, flag.help)};
  if (const auto* before = into.find(flag.name); before != nullptr && !flag.repeatable) {
    if (isSwitch(flag.type) && before->text != token)
      return Error{
          fmt::format("{} and {} contradict each other; give one of them", before->text, token)};
    return Error{fmt::format("{} is given twice", flag.name)};
  }
  if (isSwitch(flag.type)) {
    if (equals != std::string::npos)
      return Error{fmt::format(
          "{} takes no value{}", flag.name,
          canBeNegated(flag) ? "; --no-" + flag.name.substr(2) + " turns it off" : std::string())};
    into.add({&flag, token, switchValue(flag.type, match.negated)});
    return success();
  }
  std::string text;
  if (equals != std::string::npos) {
    text = token.substr(equals + 1);
  } else {
    if (at == line.size() || line[at].starts_with("--"))
      return Error{fmt::format("{} needs a value: {} {}", flag.name, flag.name, flag.value)};
    text = line[at++];
  }
  auto value = readValue(flag, text);
  if (!value) return value.error();
  into.add({&flag, std::move(text), std::move(*value)});
  return success();
}

// Two flags that settle the same field, such as --port and --use-serving-port.
Status checkContradictions(const Invocation& invocation) {
  std::map<std::string, const Flag*> settledBy;
  for (const auto& [flag, text, value] : invocation.given()) {
    std::vector<std::string> paths;
    if (!flag->path.empty()) paths.push_back(flag->path);
    for (const auto& [path, constant] : flag->sets) paths.push_back(path);
    if (flag->type == Value::ports)
      for (const auto& [path, field] : value.items()) paths.push_back(path);
    for (std::string& path : paths) {
      const auto [first, isNew] = settledBy.emplace(std::move(path), flag);
      if (!isNew && first->second != flag)
        return Error{fmt::format("{} and {} exclude each other; give one of them",
                                 first->second->name, flag->name)};
    }
  }
  return success();
}

Status takeArguments(const Command& command, std::vector<std::string> words, Invocation& into) {
  std::size_t next = 0;
  for (const Argument& argument : command.arguments) {
    if (argument.required && next == words.size())
      return Error{fmt::format("{} is missing: {}", argument.name, argument.help)};
    while (next < words.size()) {
      if (words[next].empty() && !argument.mayBeEmpty)
        return Error{fmt::format("{} must not be empty", argument.name)};
      into.add(std::move(words[next++]));
      if (!argument.repeated) break;
    }
  }
  if (next < words.size())
    return Error{fmt::format("unexpected argument {}", config::quote(words[next]))};
  return success();
}

}  // namespace

const std::vector<Flag>& globalFlags() {
  static const std::vector<Flag> kFlags{
      {.name = "--format",
       .value = "FORMAT",
       .help = "how the answer is printed: for people, or for programs",
       .type = Value::word,
       .choices = {"table", "json", "yaml"}},
      {.name = "--timeout",
       .value = "S",
       .help = "how long weirctl waits for the manager (default 5s; 15s for what lets the engine "
               "search its table or changes the configuration); in front of a command that has a "
               "--timeout of its own",
       .type = Value::seconds},
      {.name = "--run-dir",
       .value = "DIR",
       .help = "directory of the manager's socket (default /run/weir)",
       .names = Names::files},
      {.name = "--help",
       .value = "",
       .help = "explains the command and ends",
       .type = Value::on,
       .shortName = "-h"},
      {.name = "--version", .value = "", .help = "prints the version and ends", .type = Value::on},
  };
  return kFlags;
}

bool wantsHelp(std::span<const std::string> line) {
  for (const std::string& token : line) {
    if (token == "--") return false;
    if (token == "--help" || token == "-h") return true;
  }
  return false;
}

Result<Resolved> resolve(std::span<const std::string> line) {
  Resolved resolved;
  for (std::size_t at = 0; at < line.size();) {
    if (isFlag(line[at])) {
      if (const Status taken = takeFlag(line, at, globalFlags(), {}, resolved.globals); !taken)
        return taken.error();
      continue;
    }
    if (resolved.words.empty() && line[at] == "help") {
      resolved.help = true;
      ++at;
      continue;
    }
    const auto followers = followersOf(resolved.words);
    const auto follows = std::find_if(followers.begin(), followers.end(),
                                      [&](const Follower& f) { return f.word == line[at]; });
    if (follows == followers.end()) {
      resolved.unknown = line[at];
      return resolved;
    }
    resolved.words.push_back(line[at++]);
    if (follows->command == nullptr) continue;
    resolved.command = follows->command;
    resolved.rest.assign(line.begin() + static_cast<std::ptrdiff_t>(at), line.end());
    return resolved;
  }
  return resolved;
}

Result<Invocation> parse(const Command& command, std::span<const std::string> rest) {
  Invocation invocation(&command);
  std::vector<std::string> words;
  bool onlyWords = false;
  for (std::size_t at = 0; at < rest.size();) {
    if (!onlyWords && rest[at] == "--") {
      onlyWords = true;
      ++at;
    } else if (onlyWords || !isFlag(rest[at])) {
      words.push_back(rest[at++]);
    } else if (const Status taken = takeFlag(rest, at, command.flags, globalFlags(), invocation);
               !taken) {
      return taken.error();
    }
  }
  if (const Status taken = takeArguments(command, std::move(words), invocation); !taken)
    return taken.error();
  if (const Status fits = checkContradictions(invocation); !fits) return fits.error();
  for (const Flag& flag : command.flags)
    if (flag.required && !invocation.has(flag.name))
      return Error{fmt::format("{} is missing: {}", flag.name, flag.help)};
  return invocation;
}

}  // namespace weir::cli
