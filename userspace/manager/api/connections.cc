// SPDX-License-Identifier: GPL-2.0-or-later
//
// Questions about connections: passthrough ones are the engine's, those of proxies the proxy's.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "manager/api/body.h"
#include "manager/api/handlers.h"
#include "manager/api/views.h"
#include "manager/manager.h"

namespace weir::manager {

namespace {

constexpr std::chrono::milliseconds kPatience{5000};
constexpr std::string_view kEngine = "weir-engine";
constexpr std::string_view kProxy = "weir-proxy";
constexpr std::uint64_t kDefaultLimit = 1000;

using Answer = std::variant<Json, HttpResponse>;

void ask(Manager& manager, std::string_view program, const Json& question,
         std::function<void(Answer)> done) {
  manager.dataPlanes().request(program, dump(question), kPatience,
                               [done = std::move(done)](DataPlaneReply reply) {
                                 switch (reply.kind) {
                                   case DataPlaneReply::Kind::answered:
                                     return done(Json::parse(reply.text, nullptr, false));
                                   case DataPlaneReply::Kind::refused:
                                     return done(errorResponse(400, reply.text));
                                   case DataPlaneReply::Kind::absent:
                                     return done(errorResponse(503, reply.text));
                                 }
                               });
}

// An unset variable in a script must not become "all connections".
Error emptyFilter(const std::string& name) {
  return Error{"\"" + name + "\" must be text that is not empty; leave it out to mean all"};
}

// The filter's members from a query, or from a body.
Result<Json> filterOf(const HttpRequest& request, const char* operation) {
  Json filter{{"op", operation}};
  for (const auto& [key, value] : request.query) {
    if (value.empty()) return emptyFilter(key);
    if (key != "limit") {
      filter[key] = value;
      continue;
    }
    unsigned limit = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), limit);
    if (error != std::errc{} || end != value.data() + value.size())
      return Error{"\"limit\" must be a number"};
    filter[key] = limit;
  }
  const auto body = objectIn(request, {"service", "client", "backend"});
  if (!body.ok()) return body.error();
  for (const auto& [key, value] : body->items()) {
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) return emptyFilter(key);
    filter[key] = value;
  }
  return filter;
}

// Whose connections are meant: those of the named service, or of all there are.
std::vector<std::string_view> programsFor(const Manager& manager, const Json& filter) {
  const auto& services = manager.controlPlane().configuration().services;
  const std::string name = filter.value("service", "");
  const auto any = [&](bool managed) {
    return std::ranges::any_of(services, [&](const BackendService& service) {
      return service.isManaged() == managed && (name.empty() || service.name == name);
    });
  };
  std::vector<std::string_view> programs;
  if (any(false) || !any(true)) programs.push_back(kEngine);
  if (any(true)) programs.push_back(kProxy);
  return programs;
}

// One answer of several: lists one after the other, numbers as their sum.
void add(Json& sum, const Json& part, std::uint64_t limit) {
  for (const auto& [key, value] : part.items()) {
    const auto known = sum.find(key);
    if (known == sum.end()) {
      sum[key] = value;
    } else if (value.is_number_unsigned()) {
      *known = known->get<std::uint64_t>() + value.get<std::uint64_t>();
    } else if (value.is_boolean()) {
      *known = known->get<bool>() || value.get<bool>();
    } else if (value.is_array()) {
      for (const Json& item : value) known->push_back(item);
    }
  }
  const auto connections = sum.find("connections");
  if (connections == sum.end() || connections->size() <= limit) return;
  connections->erase(connections->begin() + static_cast<std::ptrdiff_t>(limit), connections->end());
  sum["truncated"] = true;
}

// Why a program gave no part of an answer.
Json missingPart(std::string_view program, const HttpResponse& failed) {
  const Json body = Json::parse(failed.body, nullptr, false);
  return {{"program", program}, {"reason", body.at("error").at("message")}};
}

// `partial`: what one program says is an answer while another one is away ("missing" says so).
void connections(Manager& manager, const HttpRequest& request, const char* operation, bool partial,
                 HttpRespond respond) {
  const auto filter = filterOf(request, operation);
  if (!filter.ok()) return respond(errorResponse(400, filter.error().message));
  struct Gathered {
    std::size_t awaited = 0;
    Json sum = Json::object();
    bool answered = false;
    Json missing = Json::array();
    std::optional<HttpResponse> absent, refused;
    HttpRespond respond;
  };
  const auto programs = programsFor(manager, *filter);
  auto gathered = std::make_shared<Gathered>();
  gathered->awaited = programs.size();
  gathered->respond = std::move(respond);
  const std::uint64_t limit = filter->value("limit", kDefaultLimit);
  for (const std::string_view program : programs)
    ask(manager, program, *filter, [gathered, limit, partial, program](Answer answer) {
      if (auto* failed = std::get_if<HttpResponse>(&answer)) {
        if (failed->status == 503) gathered->missing.push_back(missingPart(program, *failed));
        // One of two may well not know a backend that the other has.
        (failed->status == 400 ? gathered->refused : gathered->absent) = std::move(*failed);
      } else {
        gathered->answered = true;
        add(gathered->sum, std::get<Json>(answer), limit);
      }
      if (--gathered->awaited != 0) return;
      const bool complete = !gathered->absent || (partial && gathered->answered);
      if (!complete) return gathered->respond(std::move(*gathered->absent));
      if (!gathered->answered) return gathered->respond(std::move(*gathered->refused));
      if (!gathered->missing.empty()) gathered->sum["missing"] = std::move(gathered->missing);
      gathered->respond(ok(gathered->sum));
    });
}

// Does a proxy listen where this packet goes?
bool goesToProxy(const Manager& manager, const Json& packet) {
  if (packet.contains("sni")) return true;
  const auto text = packet.find("dst"), port = packet.find("dport");
  if (text == packet.end() || !text->is_string() || port == packet.end() ||
      !port->is_number_unsigned())
    return false;
  const auto address = Address::parse(text->get<std::string>());
  const auto& rules = manager.controlPlane().configuration().rules;
  return address && std::ranges::any_of(rules, [&](const ForwardingRule& rule) {
           return !rule.target.empty() && rule.address == *address && !rule.ports.empty() &&
                  *port == rule.ports[0].first;  // X1.1: exactly one
         });
}

}  // namespace

void askEngine(Manager& manager, const Json& question, std::function<void(Answer)> done) {
  ask(manager, kEngine, question, std::move(done));
}

void listConnections(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  connections(manager, request, "list", true, std::move(respond));
}
void countConnections(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  connections(manager, request, "count", true, std::move(respond));
}
void flushConnections(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  connections(manager, request, "flush", false, std::move(respond));
}

void explain(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  auto packet = objectIn(request, {"src", "dst", "proto", "sport", "dport", "flags", "fragment",
                                   "inner", "sni", "alpn"});
  if (!packet.ok()) return respond(errorResponse(400, packet.error().message));
  const bool proxied = goesToProxy(manager, *packet);
  const Json question = proxied ? Json{{"op", "explain"}, {"connection", std::move(*packet)}}
                                : Json{{"op", "explain"}, {"packet", std::move(*packet)}};
  ask(manager, proxied ? kProxy : kEngine, question,
      [&manager, proxied, respond = std::move(respond)](Answer answer) {
        if (auto* failed = std::get_if<HttpResponse>(&answer)) return respond(std::move(*failed));
        auto& json = std::get<Json>(answer);
        if (!proxied) completeExplanation(manager.controlPlane(), json);
        respond(ok(json));
      });
}

}  // namespace weir::manager
