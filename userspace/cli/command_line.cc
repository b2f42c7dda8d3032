// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/command_line.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "cli/command_table.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "config/words.h"

namespace weir::cli {

namespace {

int code(Exit exit) noexcept { return static_cast<int>(exit); }

int printVersion(const Terminal& terminal) {
  terminal.out << "weirctl " WEIR_VERSION "\n";
  return code(Exit::done);
}

// What follows the words so far does not exist, or is missing.
int misuse(const Resolved& line, const Terminal& terminal) {
  std::string prefix = "weirctl";
  for (const std::string& word : line.words) prefix += " " + word;
  std::vector<std::string> known;
  for (const Follower& follower : followersOf(line.words))
    if (follower.command == nullptr || !isHidden(*follower.command)) known.push_back(follower.word);
  if (line.unknown.empty()) {
    terminal.err << fmt::format("{}: a command is missing\n", prefix);
  } else {
    terminal.err << fmt::format("{}: unknown command {}{}\n", prefix, config::quote(line.unknown),
                                config::didYouMean(line.unknown, known));
  }
  terminal.err << fmt::format("commands: {}; {} --help explains them\n", joined(known, ", "),
                              prefix);
  return code(Exit::usage);
}

int misuse(const std::string& what, const Terminal& terminal) {
  terminal.err << fmt::format("weirctl: {}\nusage: weirctl COMMAND ...; weirctl --help shows all\n",
                              what);
  return code(Exit::usage);
}

// Takes over the flags of every command; the error is about usage.
Status configure(Context& context, const Invocation& invocation) {
  for (const Invocation::Given& given : invocation.given()) {
    bool isGlobal = false;
    for (const Flag& flag : globalFlags()) isGlobal = isGlobal || &flag == given.flag;
    if (!isGlobal) continue;
    if (given.flag->name == "--run-dir") context.runDir = given.text;
    if (given.flag->name == "--timeout") {
      const auto seconds = given.value.get<std::uint64_t>();
      if (seconds < 1 || seconds > 3600) return Error{"--timeout must be from 1s to 1h"};
      context.timeoutSec = static_cast<unsigned>(seconds);
    }
    if (given.flag->name == "--format") {
      const auto format = formatOf(given.text);
      if (!format)
        return Error{fmt::format("--format must be {}, not {}", config::join(given.flag->choices),
                                 config::quote(given.text))};
      context.format = *format;
    }
  }
  return success();
}

int runLine(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const auto resolved = resolve(arguments);
  if (!resolved) return misuse(resolved.error().message, terminal);
  if (resolved->globals.has("--version")) return printVersion(terminal);
  if (!resolved->unknown.empty()) return misuse(*resolved, terminal);
  const bool help = resolved->help || wantsHelp(arguments);
  if (help && resolved->command != nullptr)
    return printHelp(*resolved->command, terminal.out), code(Exit::done);
  if (help) return printHelp(resolved->words, terminal.out), code(Exit::done);
  if (resolved->command == nullptr) return misuse(*resolved, terminal);

  const Command& command = *resolved->command;
  const auto invocation = parse(command, resolved->rest);
  if (!invocation) return code(misused(command, invocation.error().message, terminal.err));
  if (invocation->has("--version")) return printVersion(terminal);
  Context context{.terminal = terminal};
  for (const Invocation* given : {&resolved->globals, &*invocation})
    if (const Status configured = configure(context, *given); !configured)
      return code(misused(command, configured.error().message, terminal.err));
  return code(command.run(context, *invocation));
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const int result = runLine(arguments, terminal);
  errno = 0;
  terminal.out.flush();
  if (terminal.out) return result;
  // What nobody got is not done, whatever came before.
  terminal.err << fmt::format("weirctl: the output cannot be written{}{}\n", errno == 0 ? "" : ": ",
                              errno == 0 ? "" : std::strerror(errno));
  return result == code(Exit::done) ? code(Exit::refused) : result;
}

}  // namespace weir::cli
