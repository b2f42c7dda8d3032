// SPDX-License-Identifier: GPL-2.0-or-later
//
// Questions to the manager, and what comes back.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/client.h"
#include "cli/context.h"

namespace weir::cli {

// How long a question may take when --timeout does not say.
enum class Effort : unsigned char {
  look,  // the manager knows: 5 s
  work,  // the engine searches its table, or the configuration changes: 15 s
};

struct Answer {
  Exit exit = Exit::done;
  std::string failure;  // one line, when not ok()
  long status = 0;      // of HTTP; 0: there was no answer
  Json body;            // of a failure too, where there is one
  bool ok() const noexcept { return exit == Exit::done; }
};

Answer ask(const Context&, const Client::Request&, Effort = Effort::look);
// With a JSON body.
Answer ask(const Context&, std::string method, Client::Path, const Json& body, Client::Query = {},
           Effort = Effort::work);

// Tells a failure as the manager words it, with what is wrong in a refused configuration.
Exit complain(const Context&, const Answer&);
// One line of weirctl's own.
Exit complain(const Context&, const std::string& message, Exit = Exit::refused);

// Asks a person "... (y/N)"; without one at the terminal the answer is yes.
bool confirm(const Context&, const std::string& question);

// Warnings and hints about a change that was made, to err.
void tellDiagnostics(const Context&, const Json& body);

// The answer by `print`, or for programs as --format says.
template <class Print>
Exit present(const Context& context, const Answer& answer, Print print) {
  if (!answer.ok()) return complain(context, answer);
  if (context.format == Format::table)
    print(answer.body, context);
  else
    printValue(answer.body, context.format, context.out());
  return Exit::done;
}

}  // namespace weir::cli
