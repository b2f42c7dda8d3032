// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/answer.h"
#include "cli/command_table.h"
#include "cli/completion_scripts.h"
#include "cli/help.h"
#include "cli/parse.h"

namespace weir::cli {

namespace {

// Whoever presses a key does not want to wait for a manager that hangs.
constexpr unsigned kTimeoutSec = 1;
// What the scripts replace by their shell's own completion of files.
constexpr std::string_view kFiles = "__files__";

void addNames(const Client::Path& path, const char* list, const char* key, const Context& context,
              std::vector<std::string>& out) {
  Context hasty = context;
  hasty.timeoutSec = kTimeoutSec;
  const Answer answer = ask(hasty, {.path = path});
  if (!answer.ok() || !answer.body.is_object()) return;
  for (const Json& item : answer.body.value(list, Json::array()))
    out.push_back(item.value(key, ""));
}

void addBackends(const std::string& service, const Context& context,
                 std::vector<std::string>& out) {
  if (!service.empty())
    addNames({"v1", "backendServices", service, "health"}, "healthStatus", "endpoint", context,
             out);
}

std::vector<std::string> valuesOf(const Flag& flag, const std::string& service,
                                  const Context& context) {
  std::vector<std::string> out = flag.choices;
  switch (flag.names) {
    case Names::none:
    case Names::commands:
      break;
    case Names::files:
      out.emplace_back(kFiles);
      break;
    case Names::resources:
      addNames({"v1", flag.collection}, "items", "name", context, out);
      break;
    case Names::backends:
      addBackends(service, context, out);
      break;
  }
  return out;
}

void addFlags(std::span<const Flag> flags, std::vector<std::string>& out) {
  for (const Flag& flag : flags) {
    if (flag.use != Flag::Use::read) continue;
    out.push_back(flag.name);
    if (flag.type == Value::onOff || flag.type == Value::offOn)
      out.push_back("--no-" + flag.name.substr(2));
  }
}

const Flag* named(std::string_view name, const Command* command) {
  if (command != nullptr)
    for (const Flag& flag : command->flags)
      if (flag.name == name || flag.shortName == name) return &flag;
  for (const Flag& flag : globalFlags())
    if (flag.name == name || flag.shortName == name) return &flag;
  return nullptr;
}

// A line that may be wrong or unfinished, as far as it goes.
struct Begun {
  const Command* command = nullptr;
  std::vector<std::string> words;      // that lead to the command
  std::vector<std::string> arguments;  // of the command
  const Flag* open = nullptr;          // the last flag, when its value comes next
  std::string service;                 // --service, or the first argument
};

Begun follow(std::span<const std::string> words) {
  Begun begun;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    begun.open = nullptr;
    if (word.size() > 1 && word.front() == '-') {
      const std::size_t equals = word.find('=');
      const Flag* flag = named(std::string_view(word).substr(0, equals), begun.command);
      if (flag == nullptr || isSwitch(flag->type)) continue;
      if (equals == std::string::npos && i + 1 == words.size()) begun.open = flag;
      const std::string value = equals != std::string::npos ? word.substr(equals + 1)
                                : i + 1 < words.size()      ? words[i + 1]
                                                            : std::string();
      if (flag->name == "--service") begun.service = value;
      if (equals == std::string::npos) ++i;
    } else if (begun.command != nullptr) {
      begun.arguments.push_back(word);
    } else {
      begun.words.push_back(word);
      for (const Follower& follower :
           followersOf(std::span(begun.words).first(begun.words.size() - 1)))
        if (follower.word == word) begun.command = follower.command;
    }
  }
  if (begun.service.empty() && !begun.arguments.empty()) begun.service = begun.arguments.front();
  return begun;
}

std::vector<std::string> argumentsOf(const Begun& begun, const Context& context) {
  const auto& known = begun.command->arguments;
  if (known.empty()) return {};
  const std::size_t at = begun.arguments.size();
  if (at >= known.size() && !known.back().repeated) return {};
  const Argument& argument = known[std::min(at, known.size() - 1)];
  const Flag asFlag{.name = argument.name,
                    .value = "",
                    .help = "",
                    .names = argument.names,
                    .collection = argument.collection};
  return valuesOf(asFlag, begun.service, context);
}

std::vector<std::string> everythingFor(std::span<const std::string> before, const std::string& last,
                                       std::string& prefix, const Context& context) {
  const Begun begun = follow(before);
  if (begun.open != nullptr) return valuesOf(*begun.open, begun.service, context);
  if (const std::size_t equals = last.find('='); last.starts_with("-") && equals != last.npos) {
    prefix = last.substr(0, equals + 1);
    const Flag* flag = named(last.substr(0, equals), begun.command);
    return flag == nullptr ? std::vector<std::string>{} : valuesOf(*flag, begun.service, context);
  }
  std::vector<std::string> out;
  if (last.starts_with("-")) {
    if (begun.command != nullptr) addFlags(begun.command->flags, out);
    addFlags(globalFlags(), out);
  } else if (begun.command == nullptr) {
    for (const Follower& follower : followersOf(begun.words))
      if (follower.command == nullptr || !isHidden(*follower.command)) out.push_back(follower.word);
  } else {
    out = argumentsOf(begun, context);
  }
  return out;
}

Exit complete(const Context& context, const Invocation& invocation) {
  for (const std::string& candidate : candidates(invocation.arguments(), context))
    context.out() << candidate << '\n';
  return Exit::done;
}

Command scriptCommand(const char* shell, std::string_view script, const char* example) {
  return {.words = {"completion", shell},
          .summary = fmt::format("Print the completion script of {}", shell),
          .arguments = {},
          .flags = {},
          .example = example,
          .run = [script](const Context& context, const Invocation&) {
            context.out() << script;
            return Exit::done;
          }};
}

}  // namespace

std::vector<std::string> candidates(std::span<const std::string> words, const Context& context) {
  const std::string last = words.empty() ? std::string() : words.back();
  const auto before = words.first(words.empty() ? 0 : words.size() - 1);
  std::string prefix;  // of the last word, which no candidate has
  std::vector<std::string> out;
  for (std::string& candidate : everythingFor(before, last, prefix, context)) {
    std::string whole = prefix + candidate;
    if (candidate == kFiles || whole.starts_with(last)) out.push_back(std::move(whole));
  }
  return out;
}

void addCompletionCommands(std::vector<Command>& commands) {
  commands.push_back(
      scriptCommand("bash", kBashCompletion,
                    "weirctl completion bash > /usr/share/bash-completion/completions/weirctl"));
  commands.push_back(
      scriptCommand("zsh", kZshCompletion,
                    "weirctl completion zsh > /usr/share/zsh/vendor-completions/_weirctl"));
  commands.push_back({.words = {"__complete"},
                      .summary = "What can stand for the last of the words",
                      .arguments = {{.name = "WORD",
                                     .help = "of a command line; behind --",
                                     .names = Names::commands,
                                     .required = false,
                                     .repeated = true,
                                     .mayBeEmpty = true}},
                      .flags = {},
                      .example = "weirctl __complete -- backend-services ''",
                      .run = complete});
}

}  // namespace weir::cli
