// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a command of weirctl is. Parsing, help, completion and the reference in docs/weirctl.md all
// come from these descriptions; there is no second list of flags anywhere.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/context.h"

namespace weir::cli {

// How the text behind a flag is read, and what becomes of it in JSON.
enum class Value : unsigned char {
  on,        // a switch: true
  onOff,     // a switch: true; --no-FLAG: false
  offOn,     // a switch for a field that says the opposite
  reset,     // a switch that puts a field back to its default: null
  text,      // as it is
  word,      // one of an enumeration; letter case and - for _ do not matter
  number,    // a whole number, not negative
  decimal,   // a number, not negative
  seconds,   // a duration: 30s, 5m, 1h, 1h30m, or a number of seconds
  names,     // a,b,c: a list of texts
  ports,     // 80,443 or 8000-8999 or ALL: the three port fields of a forwarding rule
  endpoint,  // ip=10.0.0.1,port=80: a member of a group
  flow,      // src=10.0.0.1,dst=10.0.0.2,proto=TCP,sport=1,dport=2: a quoted packet
};
constexpr bool isSwitch(Value value) noexcept { return value <= Value::reset; }

// What completion offers for a value.
enum class Names : unsigned char { none, files, resources, backends, commands };

struct Flag {
  enum class Use : unsigned char {
    read,
    ignored,  // gcloud's, without meaning on one machine
    refused,  // gcloud's, and weir does not have it; `help` is the reason
  };
  std::string name;   // "--session-affinity"
  std::string value;  // what stands for the value in help: "SESSION_AFFINITY"; empty for switches
  std::string help;
  Value type = Value::text;
  std::string path = {};                  // of the field, dots between levels; empty: none
  std::vector<std::string> choices = {};  // offered by help and completion; the manager decides
  Names names = Names::none;
  std::string collection = {};  // of Names::resources: "backendServices"
  std::string shortName = {};   // "-f"
  bool required = false;
  bool repeatable = false;
  Use use = Use::read;
  // Other fields that the flag settles: path and value.
  std::vector<std::pair<std::string, Json>> sets = {};
};

// A word of a command line that is not a flag.
struct Argument {
  std::string name;  // "NAME"
  std::string help;
  Names names = Names::none;
  std::string collection = {};
  bool required = true;
  bool repeated = false;
  bool mayBeEmpty = false;
};

class Invocation;

struct Command {
  std::vector<std::string> words;  // {"backend-services", "create"}
  std::string summary;
  std::vector<Argument> arguments;
  std::vector<Flag> flags;
  std::string example;
  std::function<Exit(const Context&, const Invocation&)> run;
  std::string details = {};  // paragraphs for help and reference
};

// A word that has commands behind it.
struct Group {
  std::vector<std::string> words;
  std::string summary;
};

// A command line that was understood.
class Invocation {
 public:
  struct Given {
    const Flag* flag;
    std::string text;
    Json value;
  };

  const std::vector<Given>& given() const noexcept { return given_; }
  const std::vector<std::string>& arguments() const noexcept { return arguments_; }
  // The argument at an index; empty when it is optional and was left out.
  std::string argument(std::size_t index) const {
    return index < arguments_.size() ? arguments_[index] : std::string();
  }
  // The last one given of this name; nullptr: none.
  const Given* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string text(std::string_view name, std::string otherwise = "") const;
  std::optional<std::uint64_t> number(std::string_view name) const;

  explicit Invocation(const Command* command = nullptr) : command_(command) {}
  const Command& command() const noexcept { return *command_; }
  void add(Given given) { given_.push_back(std::move(given)); }
  void add(std::string argument) { arguments_.push_back(std::move(argument)); }

 private:
  const Command* command_;
  std::vector<Given> given_;
  std::vector<std::string> arguments_;
};

// "backend-services create"
std::string joined(const std::vector<std::string>& words, std::string_view separator = " ");

}  // namespace weir::cli
