// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "proxy/stats.h"
#include "weir/dns_name.h"
#include "weir/model_words.h"

namespace weir::proxy {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kDefaultLimit = 1000;
constexpr std::uint64_t kMaxLimit = 100'000;
constexpr unsigned kTcp = 6;

std::string textAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string refusal(std::string_view why) { return Json{{"error", why}}.dump(); }

std::string_view toString(Session::Seen::State state) {
  switch (state) {
    case Session::Seen::State::opening:
      return "new";
    case Session::Seen::State::established:
      return "established";
    case Session::Seen::State::closing:
      return "closing";
  }
  return "";
}

Json json(const Session::Seen& seen, std::chrono::seconds idle, std::chrono::seconds age) {
  Json c{{"service", seen.service}};
  c["source"] = seen.connection.client.address.toString();
  c["sourcePort"] = seen.connection.client.port;
  c["destination"] = seen.connection.server.address.toString();
  c["destinationPort"] = seen.connection.server.port;
  c["protocol"] = kTcp;
  if (!seen.backend.empty()) {
    c["backend"] = seen.backend;
    c["group"] = seen.group;
  }
  c["idleSec"] = idle.count();
  c["ageSec"] = age.count();
  c["bytesUp"] = seen.bytesUp;
  c["bytesDown"] = seen.bytesDown;
  c["state"] = toString(seen.state);
  return c;
}

std::chrono::seconds secondsBetween(Time from, Time to) {
  return std::chrono::duration_cast<std::chrono::seconds>(to - from);
}

}  // namespace

bool SessionFilter::matches(const Session::Seen& seen) const {
  if (!service.empty() && seen.service != service) return false;
  if (clients && !clients->contains(seen.connection.client.address)) return false;
  if (backend.empty()) return true;
  // "10.2.0.11:80" itself, or its address alone.
  const std::size_t port = seen.backend.rfind(':');
  const std::string_view address = std::string_view(seen.backend).substr(0, port);
  return seen.backend == backend || (!seen.backend.empty() && address == backend);
}

Result<std::shared_ptr<ConnectionsQuestion>> ConnectionsQuestion::parse(std::string_view request,
                                                                        std::size_t threads) {
  const Json asked = Json::parse(request, nullptr, false);
  if (!asked.is_object()) return Error{"the request is not a JSON object"};
  auto question = std::make_shared<ConnectionsQuestion>();
  const std::string operation = textAt(asked, "op");
  question->kind_ = operation == "list"    ? Kind::list
                    : operation == "flush" ? Kind::flush
                                           : Kind::count;
  question->filter_.service = textAt(asked, "service");
  question->filter_.backend = textAt(asked, "backend");
  question->awaited_ = threads;
  if (const std::string client = textAt(asked, "client"); !client.empty()) {
    if (const auto address = Address::parse(client))
      question->filter_.clients = Prefix(*address, address->isIpv4() ? 32 : 128);
    else
      question->filter_.clients = Prefix::parse(client);
    if (!question->filter_.clients)
      return Error{fmt::format("'{}' is neither an address nor a range without host bits", client)};
  }
  const auto limit = asked.find("limit");
  question->limit_ = limit != asked.end() && limit->is_number_unsigned()
                         ? std::min(limit->get<std::uint64_t>(), kMaxLimit)
                         : kDefaultLimit;
  return question;
}

void ConnectionsQuestion::hear(Sessions& sessions, Time now) {
  std::vector<Session*> matching;
  std::vector<Found> found;
  for (Session& session : sessions) {
    Session::Seen seen = session.seen();
    if (!filter_.matches(seen)) continue;
    matching.push_back(&session);
    if (kind_ == Kind::list && found.size() < limit_)
      found.push_back(
          {seen, secondsBetween(seen.lastMoved, now), secondsBetween(seen.started, now)});
  }
  if (kind_ == Kind::flush)
    for (Session* session : matching)
      session->close(CloseReason::connectionTerminated, "flushed_by_operator");
  const std::lock_guard lock(mutex_);
  matching_ += matching.size();
  std::ranges::move(found, std::back_inserter(found_));
  --awaited_;
}

std::optional<std::string> ConnectionsQuestion::answer() const {
  const std::lock_guard lock(mutex_);
  if (awaited_ != 0) return std::nullopt;
  switch (kind_) {
    case Kind::count:
      return Json{{"count", matching_}}.dump();
    case Kind::flush:
      return Json{{"flushed", matching_}}.dump();
    case Kind::list:
      break;
  }
  Json answer{{"connections", Json::array()}, {"truncated", matching_ > limit_}};
  for (std::size_t i = 0; i < std::min<std::size_t>(found_.size(), limit_); ++i)
    answer["connections"].push_back(json(found_[i].seen, found_[i].idle, found_[i].age));
  return answer.dump();
}

namespace {

struct Asked {
  ProxyConnection ends;
  std::optional<std::string> sni;
  std::vector<std::string> protocols;
};

Result<Asked> askedIn(std::string_view request) {
  const Json whole = Json::parse(request, nullptr, false);
  const auto found = whole.is_object() ? whole.find("connection") : whole.end();
  if (!whole.is_object() || found == whole.end() || !found->is_object())
    return Error{"'connection' is missing"};
  const auto client = Address::parse(textAt(*found, "src"));
  const auto server = Address::parse(textAt(*found, "dst"));
  if (!client || !server) return Error{"'src' and 'dst' must be addresses"};
  const auto port = [&](const char* key) -> std::uint16_t {
    const auto given = found->find(key);
    const bool fits = given != found->end() && given->is_number_unsigned() && *given <= 65535u;
    return fits ? given->get<std::uint16_t>() : std::uint16_t{0};
  };
  Asked asked{{{*client, port("sport")}, {*server, port("dport")}}, std::nullopt, {}};
  if (found->contains("sni")) asked.sni = textAt(*found, "sni");
  if (const auto alpn = found->find("alpn"); alpn != found->end() && alpn->is_array())
    for (const Json& protocol : *alpn)
      if (protocol.is_string()) asked.protocols.push_back(protocol.get<std::string>());
  return asked;
}

void closed(Json& answer, CloseReason reason, std::string_view detail, std::string_view rule) {
  answer["action"] = "close";
  answer["rule"] = rule;
  answer["reason"] = weir::toString(reason);
  answer["detail"] = detail;
}

}  // namespace

std::string explainConnection(std::string_view request, const ProxyWorld& world,
                              const BackendsDirectory& directory, Time now) {
  const auto asked = askedIn(request);
  if (!asked.ok()) return refusal(asked.error().message);
  Json answer = Json::object();
  const ProxyWorld::Front* const front = world.frontOf(asked->ends.server);
  if (front == nullptr) {
    closed(answer, CloseReason::connectionRefused, close_detail::kNoListener, "X1.4");
    return answer.dump();
  }
  answer["forwardingRule"] = front->rule->rule;
  answer["targetProxy"] = front->proxy->name;
  answer["needsServerName"] = front->needsHello();

  HelloSeen hello;
  std::string name;
  if (!asked->sni) {
    hello.problem = HelloProblem::noServerName;
  } else if (auto normal = normalizeDnsName(*asked->sni)) {
    name = std::move(*normal);
    answer["serverName"] = name;
  } else {
    hello.problem = HelloProblem::badServerName;
  }
  hello.serverName = name;
  hello.protocols = asked->protocols;
  const ProxyRoute route = world.route(*front, front->needsHello() ? &hello : nullptr, asked->ends);
  if (!route.tlsRoute.empty()) answer["route"] = route.tlsRoute;
  if (!route) {
    closed(answer, route.reason, route.detail, route.rule);
    return answer.dump();
  }
  const auto service = world.service(route.service->name);
  const auto backends = directory.find(route.service->name);
  answer["service"] = route.service->name;
  answer["idleTimeoutSec"] = route.idleTimeout.count();
  if (service == nullptr || backends == nullptr) {
    closed(answer, CloseReason::destinationUnavailable, close_detail::kDestinationNotFound, "X6.2");
    return answer.dump();
  }
  answer["localityLbPolicy"] = weir::toString(service->locality);
  answer["sessionAffinity"] = weir::toString(service->affinity);
  const Backends::Choice choice = backends->preview({asked->ends, now});
  if (choice) {
    answer["action"] = "proxy";
    answer["rule"] = choice.rule;
    answer["group"] = choice.group;
    answer["endpoint"] = choice.endpoint;
    answer["address"] = choice.address.address.toString();
    answer["port"] = choice.address.port;
  } else {
    closed(answer, choice.reason, choice.detail, choice.rule);
  }
  answer["groups"] = groupLoads(*backends, now);
  return answer.dump();
}

}  // namespace weir::proxy
