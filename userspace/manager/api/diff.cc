// SPDX-License-Identifier: GPL-2.0-or-later
//
// POST /v1/diff: what a reload would change, and what that would do to traffic.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>

#include "config/edit_diff.h"
#include "config/edit_values.h"
#include "config/resource_schemas.h"
#include "config/resources.h"
#include "manager/api/body.h"
#include "manager/api/effects.h"
#include "manager/api/handlers.h"
#include "manager/api/views.h"
#include "manager/clock.h"
#include "manager/manager.h"

namespace weir::manager {

namespace {

using config::ResourceDifference;
using Key = std::pair<std::string, std::string>;
using EffectsOfResources = std::map<Key, std::vector<std::string>>;

// More questions to the engine than this are not asked; their number is then not known.
constexpr std::size_t kMaxQuestions = 200;

// --- the wanted configuration ---

bool hasNodeSettings(const Body& body) {
  const auto isSetting = [](const config::Value::Entry& entry) {
    const auto& fields = config::nodeFields().fields;
    return std::any_of(fields.begin(), fields.end(),
                       [&](const config::FieldInfo& f) { return f.name == entry.key; });
  };
  for (const auto& document : body.documents)
    if (!config::collectionOfExport(*document) &&
        std::any_of(document->entries.begin(), document->entries.end(), isSetting))
      return true;
  return false;
}

struct Wanted {
  Configuration configuration;
  std::vector<config::Finding> remarks;
  std::string loss;  // why a reload would not take it, whatever it is
};

std::variant<Wanted, HttpResponse> wantedBy(const Manager& manager, const HttpRequest& request) {
  auto read = bodyOf(request);
  if (auto* response = std::get_if<HttpResponse>(&read)) return std::move(*response);
  const auto& body = std::get<Body>(read);
  config::EditPlaces places;
  config::Loaded loaded;
  std::string loss;
  if (body.documents.empty() && request.body.empty()) {
    loaded = manager.loadAgain();
    loss = manager.loss();
  } else {
    std::vector<config::ValuePtr> documents;
    for (const auto& document : body.documents)
      documents.push_back(places.add(config::withoutOutputFieldsInside(document), body.seen.get()));
    const config::Text text = places.text();
    const Node node = hasNodeSettings(body) ? Node{} : manager.controlPlane().configuration().node;
    loaded = config::loadDocuments(node, text, documents);
  }
  auto findings = places.translate(loaded.diagnostics);
  if (loaded.ok())
    return Wanted{std::move(loaded.configuration), std::move(findings), std::move(loss)};
  if (!loss.empty()) return refusal(422, loss, findings);
  const auto first = std::find_if(findings.begin(), findings.end(), [](const auto& f) {
    return f.diagnostic.severity == config::Diagnostic::Severity::error;
  });
  return refusal(422, first->summary(), findings);
}

// --- effects of single resources ---

constexpr PortRange kEveryPort{0, 65535};

std::vector<PortRange> portsOf(const ForwardingRule& rule) {
  return rule.ports.empty() ? std::vector{kEveryPort} : rule.ports;
}

// The ports of `all` that are not among the `others`.
std::vector<PortRange> without(std::vector<PortRange> all, const std::vector<PortRange>& others) {
  for (const PortRange& other : others) {
    std::vector<PortRange> left;
    for (const PortRange& range : all) {
      if (other.last < range.first || other.first > range.last) {
        left.push_back(range);
        continue;
      }
      if (range.first < other.first)
        left.push_back({range.first, static_cast<std::uint16_t>(other.first - 1)});
      if (other.last < range.last)
        left.push_back({static_cast<std::uint16_t>(other.last + 1), range.last});
    }
    all = std::move(left);
  }
  return all;
}

// "10.9.9.9 TCP 80,443", of the rule's address and protocol and these ports.
std::string destinationOf(const ForwardingRule& rule, const std::vector<PortRange>& ports) {
  std::string text;
  if (ports != std::vector{kEveryPort})
    for (const PortRange& range : ports)
      text +=
          fmt::format("{}{}", text.empty() ? " " : ",",
                      range.first == range.last ? std::to_string(range.first)
                                                : fmt::format("{}-{}", range.first, range.last));
  const std::string_view protocol = rule.protocol == Protocol::none  ? "of every protocol"
                                    : rule.protocol == Protocol::udp ? "UDP"
                                                                     : "TCP";
  return fmt::format("{} {}{}", rule.address.toString(), protocol, text);
}

std::string targetOf(const ForwardingRule& rule) {
  return rule.backendService.empty() ? "target " + rule.target : "service " + rule.backendService;
}

template <class T>
const T* find(const std::vector<T>& list, const std::string& name) {
  for (const T& item : list)
    if (item.name == name) return &item;
  return nullptr;
}

void addRuleEffects(const std::string& name, const Configuration& before,
                    const Configuration& after, std::vector<std::string>& effects) {
  const ForwardingRule* old = find(before.rules, name);
  const ForwardingRule* present = find(after.rules, name);
  // Ports that stay are nobody's news unless they go elsewhere.
  const bool samePlace =
      old && present && old->address == present->address && old->protocol == present->protocol;
  const auto was = old ? portsOf(*old) : std::vector<PortRange>{};
  const auto is = present ? portsOf(*present) : std::vector<PortRange>{};
  const auto gone = samePlace ? without(was, is) : was;
  const auto come = samePlace ? without(is, was) : is;
  const auto kept = samePlace ? without(is, come) : std::vector<PortRange>{};
  if (!gone.empty())
    effects.push_back(
        fmt::format("packets to {} are no longer balanced by it", destinationOf(*old, gone)));
  if (!come.empty())
    effects.push_back(
        fmt::format("packets to {} go to {}", destinationOf(*present, come), targetOf(*present)));
  if (!kept.empty() && targetOf(*present) != targetOf(*old))
    effects.push_back(fmt::format("packets to {} go to {} instead of {}",
                                  destinationOf(*present, kept), targetOf(*present),
                                  targetOf(*old)));
}

void addRouteEffects(const std::string& name, const Configuration& before,
                     const Configuration& after, std::vector<std::string>& effects) {
  const Route* old = find(before.routes, name);
  const Route* present = find(after.routes, name);
  if (old && (!present || old->destRange != present->destRange))
    effects.push_back(
        fmt::format("packets to {} are no longer routed by it", old->destRange.toString()));
  if (present)
    effects.push_back(fmt::format("packets to {} go to forwarding rule {} with priority {}",
                                  present->destRange.toString(), present->nextHopIlb,
                                  present->priority));
}

void addCheckEffects(const std::string& name, const Configuration& after,
                     std::vector<std::string>& effects) {
  for (const BackendService& service : after.services)
    if (service.healthCheck == name)
      effects.push_back(
          fmt::format("the backends of {} are probed by the new settings", service.name));
}

Json resourcesJson(const Configuration& before, const Configuration& after,
                   const EffectsOfResources& traffic) {
  Json list = Json::array();
  for (const ResourceDifference& difference : config::differences(before, after)) {
    std::vector<std::string> effects;
    if (const auto found = traffic.find({difference.collection, difference.name});
        found != traffic.end())
      effects = found->second;
    if (difference.collection == "forwardingRules")
      addRuleEffects(difference.name, before, after, effects);
    if (difference.collection == "routes") addRouteEffects(difference.name, before, after, effects);
    if (difference.collection == "healthChecks") addCheckEffects(difference.name, after, effects);
    Json item{{"collection", difference.collection},
              {"name", difference.name},
              {"change", !difference.before  ? "added"
                         : !difference.after ? "removed"
                                             : "changed"}};
    if (difference.before && difference.after) {
      item["fields"] = Json::array();
      for (const config::FieldDifference& field : difference.fields)
        item["fields"].push_back({{"path", field.path},
                                  {"old", field.before ? jsonOf(*field.before) : Json()},
                                  {"new", field.after ? jsonOf(*field.after) : Json()}});
    }
    item["effects"] = std::move(effects);
    list.push_back(std::move(item));
  }
  return list;
}

// --- tracked connections that would end: the engine counts them ---

// Asks the engine one question after the other, then answers.
class Counting : public std::enable_shared_from_this<Counting> {
 public:
  Counting(Manager& manager, Json answer, std::vector<ServiceEffects> services, HttpRespond respond)
      : manager_(manager), answer_(std::move(answer)), respond_(std::move(respond)) {
    std::size_t questions = 0;
    for (const ServiceEffects& service : services)
      questions += service.allEnd ? 1 : service.endingEndpoints.size();
    answer_["services"] = Json::array();
    for (ServiceEffects& service : services) {
      const std::size_t index = answer_["services"].size();
      const bool isKnown = !service.moreMayEnd && questions <= kMaxQuestions;
      answer_["services"].push_back({{"name", service.service},
                                     {"newConnectionsMoved", service.moved},
                                     {"entriesRemoved", isKnown ? Json(0) : Json()},
                                     {"effects", service.effects}});
      if (!isKnown) continue;
      if (service.allEnd)
        questions_.push_back({index, {{"op", "count"}, {"service", service.service}}});
      for (const std::string& endpoint : service.endingEndpoints)
        questions_.push_back(
            {index, {{"op", "count"}, {"service", service.service}, {"backend", endpoint}}});
    }
  }

  void next() {
    if (questions_.empty()) return respond_(ok(answer_));
    askEngine(manager_, questions_.front().question,
              [self = shared_from_this()](std::variant<Json, HttpResponse> answer) {
                self->take(answer);
                self->questions_.pop_front();
                self->next();
              });
  }

 private:
  struct Question {
    std::size_t service;
    Json question;
  };

  void take(const std::variant<Json, HttpResponse>& answer) {
    Json& removed = answer_["services"][questions_.front().service]["entriesRemoved"];
    const Json* counted = std::get_if<Json>(&answer);
    const auto count = counted ? counted->find("count") : Json::const_iterator();
    const bool isKnown = counted && count != counted->end() && count->is_number_unsigned();
    if (isKnown && !removed.is_null())
      removed = removed.get<std::uint64_t>() + count->get<std::uint64_t>();
    else
      removed = nullptr;
  }

  Manager& manager_;
  Json answer_;
  HttpRespond respond_;
  std::deque<Question> questions_;
};

}  // namespace

void diff(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  auto wished = wantedBy(manager, request);
  if (auto* response = std::get_if<HttpResponse>(&wished)) return respond(std::move(*response));
  const auto& wanted = std::get<Wanted>(wished);
  const Configuration& running = manager.controlPlane().configuration();

  Json answer{{"changed", !config::differences(running, wanted.configuration).empty()}};
  Effects effects;
  if (const auto trial = manager.tryOut(wanted.configuration); trial.ok())
    effects = effectsOf(manager.controlPlane(), **trial, now());
  else
    answer["refusal"] = trial.error().message;
  if (!wanted.loss.empty()) answer["refusal"] = wanted.loss;
  answer["resources"] = resourcesJson(running, wanted.configuration, effects.byResource);
  answer["services"] = Json::array();
  answer["diagnostics"] = findingsJson(wanted.remarks);
  std::make_shared<Counting>(manager, std::move(answer), std::move(effects.services),
                             std::move(respond))
      ->next();
}

}  // namespace weir::manager
