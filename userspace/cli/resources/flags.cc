// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/resources/flags.h"

#include <iterator>

namespace weir::cli {

std::string valueName(std::string_view flag) {
  std::string out;
  for (const char c : flag.substr(2)) {
    if (c == '-')
      out += '_';
    else
      out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

Flag field(std::string name, Value type, std::string path, std::string help) {
  std::string value = valueName(name);
  return {.name = std::move(name),
          .value = std::move(value),
          .help = std::move(help),
          .type = type,
          .path = std::move(path)};
}

Flag word(std::string name, std::string path, std::string help, std::vector<std::string> choices) {
  Flag flag = field(std::move(name), Value::word, std::move(path), std::move(help));
  flag.choices = std::move(choices);
  return flag;
}

Flag toggle(std::string name, Value type, std::string path, std::string help) {
  Flag flag = field(std::move(name), type, std::move(path), std::move(help));
  flag.value.clear();
  return flag;
}

Flag reference(std::string name, Value type, std::string path, std::string help,
               std::string collection) {
  Flag flag = field(std::move(name), type, std::move(path), std::move(help));
  flag.names = Names::resources;
  flag.collection = std::move(collection);
  return flag;
}

Flag ignored(std::string name) {
  Flag flag = field(std::move(name), Value::text, "", "accepted, without effect");
  flag.use = Flag::Use::ignored;
  flag.repeatable = true;
  return flag;
}

Flag ignoredSwitch(std::string name) {
  Flag flag = ignored(std::move(name));
  flag.type = Value::on;
  flag.value.clear();
  return flag;
}

Flag refused(std::string name, std::string reason) {
  Flag flag = field(std::move(name), Value::text, "", std::move(reason));
  flag.use = Flag::Use::refused;
  return flag;
}

std::vector<Flag> gcloudWide() {
  Flag quiet = ignoredSwitch("--quiet");
  quiet.shortName = "-q";
  return {ignoredSwitch("--global"), ignored("--region"),  ignored("--location"),
          ignored("--project"),      ignored("--account"), ignored("--configuration"),
          ignored("--verbosity"),    std::move(quiet)};
}

Flag dryRun() {
  return toggle("--dry-run", Value::on, "", "checks everything and says what would be done");
}

void append(std::vector<Flag>& to, std::vector<Flag> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void refuse(std::vector<Flag>& to, std::initializer_list<const char*> names, const char* reason) {
  for (const char* name : names) to.push_back(refused(name, reason));
}

void ignore(std::vector<Flag>& to, std::initializer_list<const char*> names) {
  for (const char* name : names) to.push_back(ignored(name));
}

}  // namespace weir::cli
