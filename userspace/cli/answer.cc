// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/answer.h"

#include <fmt/format.h>

namespace weir::cli {

namespace {

constexpr std::chrono::seconds kLookTimeout{5};
// The manager itself waits for the engine for 5 s; it must have the time to say so.
constexpr std::chrono::seconds kWorkTimeout{15};

std::chrono::seconds timeoutOf(const Context& context, Effort effort) {
  if (context.timeoutSec) return std::chrono::seconds(*context.timeoutSec);
  return effort == Effort::work ? kWorkTimeout : kLookTimeout;
}

bool saysDiagnostic(const std::string& failure, const Json& body) {
  if (!body.is_object()) return false;
  for (const Json& diagnostic : body.value("diagnostics", Json::array())) {
    const std::string message =
        diagnostic.is_object() ? diagnostic.value("message", "") : std::string();
    if (!message.empty() && failure.find(message) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Answer ask(const Context& context, const Client::Request& request, Effort effort) {
  const auto timeout = timeoutOf(context, effort);
  const Client client(context.runDir, timeout, [&] {
    context.err() << fmt::format("weirctl: waiting for weir-manager, {} s at most\n",
                                 timeout.count());
    context.err().flush();
  });
  const auto reply = client.exchange(request);
  Answer answer;
  if (!reply) {
    answer.exit = Exit::absent;
    answer.failure = reply.error().message;
    return answer;
  }
  answer.status = reply->status;
  answer.body = Json::parse(reply->body, nullptr, false);
  if (answer.body.is_discarded()) {
    answer.exit = Exit::refused;
    answer.failure = "the manager's answer is not JSON; are both of the same version?";
    answer.body = nullptr;
  } else if (reply->status != 200 && reply->status != 201) {
    answer.exit = Exit::refused;
    answer.failure = fmt::format("the manager answered with status {}", reply->status);
    const auto message = Json::json_pointer("/error/message");
    if (answer.body.contains(message) && answer.body[message].is_string())
      answer.failure = answer.body[message].get<std::string>();
  }
  return answer;
}

Answer ask(const Context& context, std::string method, Client::Path path, const Json& body,
           Client::Query query, Effort effort) {
  return ask(context,
             {.method = std::move(method),
              .path = std::move(path),
              .query = std::move(query),
              .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)},
             effort);
}

bool confirm(const Context& context, const std::string& question) {
  if (!context.terminal.inIsTerminal) return true;
  context.err() << question << " (y/N) ";
  context.err().flush();
  std::string answer;
  std::getline(context.terminal.in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

void tellDiagnostics(const Context& context, const Json& body) {
  if (!body.is_object()) return;
  if (const auto list = body.find("diagnostics"); list != body.end() && list->is_array())
    for (const Json& diagnostic : *list)
      if (diagnostic.is_object()) context.err() << diagnostic.value("text", "") << '\n';
}

Exit complain(const Context& context, const Answer& answer) {
  tellDiagnostics(context, answer.body);
  // The failure is often the first diagnostic in one line; once is enough.
  return complain(
      context,
      saysDiagnostic(answer.failure, answer.body) ? "refused; nothing was changed" : answer.failure,
      answer.exit);
}

Exit complain(const Context& context, const std::string& message, Exit exit) {
  context.err() << "weirctl: " << message << '\n';
  return exit;
}

}  // namespace weir::cli
