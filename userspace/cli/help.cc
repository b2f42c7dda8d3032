// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command_table.h"
#include "cli/parse.h"
#include "cli/values.h"
#include "config/words.h"

namespace weir::cli {

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kLeft = 30;  // where the meanings begin

// Words of `text` in lines that end before kWidth, each behind `indent` blanks; the first line
// continues what stands there already.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > indent && column + 1 + end > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void printRow(std::string left, std::string_view right, std::ostream& out) {
  left.insert(0, "  ");
  if (right.empty()) {
    out << left << '\n';
    return;
  }
  if (left.size() + 2 > kLeft)
    left += "\n" + std::string(kLeft, ' ');
  else
    left.resize(kLeft, ' ');
  out << left << wrapped(right, kLeft) << '\n';
}

void printFlags(std::string_view title, std::span<const Flag> flags, Flag::Use use,
                std::ostream& out) {
  bool first = true;
  for (const Flag& flag : flags) {
    if (flag.use != use) continue;
    if (first) out << '\n' << title << '\n';
    first = false;
    printRow(spelling(flag), meaning(flag), out);
  }
}

// gcloud's flags that change nothing here, in one paragraph.
void printIgnored(const Command& command, std::ostream& out) {
  std::vector<std::string> names;
  for (const Flag& flag : command.flags)
    if (flag.use == Flag::Use::ignored) names.push_back(spelling(flag));
  if (names.empty()) return;
  out << "\nAccepted because gcloud has them, without effect on one machine\n  "
      << wrapped(joined(names, ", "), 2) << '\n';
}

}  // namespace

std::string exampleLines(const Command& command, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  std::string_view rest = command.example;
  while (!rest.empty()) {
    // A flag stays with its value.
    const std::size_t end = std::min(rest.find(" --", 1), rest.size());
    if (column > indent && column + end + 2 > kWidth) {
      out += " \\\n" + std::string(indent + 3, ' ');
      column = indent + 3;
    }
    out += rest.substr(0, end);
    column += end;
    rest.remove_prefix(end);
  }
  return out;
}

bool isHidden(const Command& command) { return command.words.front().starts_with("__"); }

std::string usageLine(const Command& command) {
  std::string line = "weirctl " + joined(command.words);
  for (const Argument& argument : command.arguments) {
    std::string text = argument.name + (argument.repeated ? "..." : "");
    line += argument.required ? " " + text : " [" + text + "]";
  }
  bool more = false;
  for (const Flag& flag : command.flags) {
    if (flag.required) line += " " + spelling(flag);
    more = more || (!flag.required && flag.use == Flag::Use::read);
  }
  return more ? line + " [FLAGS]" : line;
}

std::string spelling(const Flag& flag) {
  std::string text = flag.name;
  if (flag.type == Value::onOff || flag.type == Value::offOn)
    text = "--[no-]" + flag.name.substr(2);
  if (!flag.shortName.empty()) text = flag.shortName + ", " + text;
  return isSwitch(flag.type) ? text : text + " " + flag.value;
}

std::string meaning(const Flag& flag) {
  std::string text = flag.help;
  if (!flag.choices.empty()) text += ": " + config::join(flag.choices);
  if (const auto allowed = allowedText(flag.type);
      flag.type == Value::seconds || flag.type == Value::ports)
    text += fmt::format("; {}", allowed);
  if (flag.repeatable) text += "; may be repeated";
  return text;
}

void printHelp(const Command& command, std::ostream& out) {
  out << "usage: " << wrapped(usageLine(command), 7) << "\n\n"
      << wrapped(command.summary + ".", 0) << '\n';
  if (!command.details.empty()) out << '\n' << wrapped(command.details, 0) << '\n';
  if (!command.arguments.empty()) out << "\nArguments\n";
  for (const Argument& argument : command.arguments) printRow(argument.name, argument.help, out);
  printFlags("Flags", command.flags, Flag::Use::read, out);
  printIgnored(command, out);
  printFlags("Refused", command.flags, Flag::Use::refused, out);
  printFlags("Flags of every command", globalFlags(), Flag::Use::read, out);
  out << "\nExample\n  " << exampleLines(command, 2) << '\n';
}

Exit misused(const Command& command, const std::string& what, std::ostream& err) {
  err << fmt::format("weirctl {}: {}\nusage: {}; --help explains it\n", joined(command.words), what,
                     usageLine(command));
  return Exit::usage;
}

void printHelp(std::span<const std::string> words, std::ostream& out) {
  std::string line = "weirctl";
  for (const std::string& word : words) line += " " + word;
  out << "usage: " << line << " COMMAND ...\n\n";
  if (words.empty())
    out << "Looks at and operates weir, the load balancer, through its running manager.\n\n";
  for (const Group& group : groups())
    if (std::equal(words.begin(), words.end(), group.words.begin(), group.words.end()))
      out << group.summary << ".\n\n";
  out << "Commands\n";
  for (const Follower& follower : followersOf(words))
    if (follower.command == nullptr || !isHidden(*follower.command))
      printRow(follower.word, follower.summary, out);
  out << "\n`" << line << " COMMAND --help` explains a command.\n";
  if (!words.empty()) return;
  printFlags("Flags of every command", globalFlags(), Flag::Use::read, out);
  out << "\nExit status: 0 done; 1 refused or failed, with the reason; 2 wrong usage; 3 the "
         "manager does not\nanswer.\n";
}

}  // namespace weir::cli
