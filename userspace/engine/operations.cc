// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/explain.h"
#include "engine/flow_filter.h"

namespace weir::engine {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kDefaultLimit = 1000;
constexpr std::uint64_t kMaxLimit = 100'000;

Json refusal(std::string_view why) { return {{"error", why}}; }

// A member that must be text when it is there.
Result<std::string> textOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::string();
  if (!found->is_string()) return Error{fmt::format("'{}' must be a string", name)};
  return found->get<std::string>();
}

Result<FlowFilter> filterOf(const Json& request, const World& world) {
  auto service = textOf(request, "service");
  auto client = textOf(request, "client");
  auto backend = textOf(request, "backend");
  for (const auto* text : {&service, &client, &backend})
    if (!*text) return text->error();
  return FlowFilter::make(world, *service, *client, *backend);
}

Json connectionJson(const World& world, const TrackingTable::Visited& flow, Time now) {
  Json c;
  const Service* service = world.service(flow.service);
  if (service != nullptr) c["service"] = service->snapshot().name;
  putKey(c, flow.key);
  if (service != nullptr) {
    if (const SnapshotBackend* backend = service->describe(flow.entry.backend)) {
      c["backend"] = backend->endpoint;
      c["group"] = backend->group;
    }
  }
  c["generation"] = flow.entry.madeIn.value();
  c["idleSec"] =
      std::chrono::duration_cast<std::chrono::seconds>(now - flow.entry.lastUsed).count();
  c["state"] = flow.entry.onlySynSeen ? "new" : "established";
  return c;
}

Json count(const FlowFilter& filter, const OperationContext& context) {
  std::uint64_t matching = 0;
  context.table->visit([&](const TrackingTable::Visited& flow) {
    if (filter.matches(*context.world, flow) && isLive(*context.world, flow, context.now))
      ++matching;
    return true;
  });
  return {{"count", matching}};
}

Json flush(const FlowFilter& filter, const OperationContext& context) {
  std::uint64_t flushed = 0;
  std::vector<TrackingTable::Visited> gone;
  context.table->visit([&](const TrackingTable::Visited& flow) {
    if (!filter.matches(*context.world, flow)) return true;
    if (isLive(*context.world, flow, context.now)) ++flushed;
    if (context.onFlushed) gone.push_back(flow);
    return false;
  });
  if (context.onFlushed) context.onFlushed(gone);
  return {{"flushed", flushed}};
}

Json list(const FlowFilter& filter, const OperationContext& context, std::uint64_t limit) {
  // Only copies are made under the shards' locks; text is made afterwards.
  std::vector<TrackingTable::Visited> found;
  bool truncated = false;
  context.table->visit([&](const TrackingTable::Visited& flow) {
    if (truncated || !filter.matches(*context.world, flow) ||
        !isLive(*context.world, flow, context.now))
      return true;
    if (found.size() < limit)
      found.push_back(flow);
    else
      truncated = true;
    return true;
  });
  Json answer{{"connections", Json::array()}, {"truncated", truncated}};
  for (const auto& flow : found)
    answer["connections"].push_back(connectionJson(*context.world, flow, context.now));
  return answer;
}

Json overFlows(const std::string& op, const Json& request, const OperationContext& context) {
  const auto filter = filterOf(request, *context.world);
  if (!filter) return refusal(filter.error().message);
  if (op == "count") return count(*filter, context);
  if (op == "flush") return flush(*filter, context);
  std::uint64_t limit = kDefaultLimit;
  if (const auto given = request.find("limit"); given != request.end() && !given->is_null()) {
    if (!given->is_number_unsigned()) return refusal("'limit' must be a whole number");
    limit = std::min(given->get<std::uint64_t>(), kMaxLimit);
  }
  return list(*filter, context, limit);
}

std::string answer(const Json& request, const OperationContext& context) {
  if (!request.is_object()) return refusal("the request is not a JSON object").dump();
  const auto op = textOf(request, "op");
  if (!op) return refusal(op.error().message).dump();
  if (*op == "stats") return context.stats();
  const bool isFlowOperation = *op == "count" || *op == "list" || *op == "flush";
  if (!isFlowOperation && *op != "explain")
    return refusal(fmt::format("unknown operation '{}'", *op)).dump();
  if (context.table == nullptr)
    return refusal("the engine has not been synchronised yet; try again").dump();
  if (isFlowOperation) return overFlows(*op, request, context).dump();
  const auto packet = request.find("packet");
  if (packet == request.end()) return refusal("'packet' is missing").dump();
  const auto question = packetFromJson(*packet);
  if (!question) return refusal(question.error().message).dump();
  return explain(*context.world, *context.table, *question, context.now).dump();
}

}  // namespace

std::string answerRequest(std::span<const std::uint8_t> request, const OperationContext& context) {
  const Json parsed = Json::parse(request.begin(), request.end(), nullptr, false);
  // Texts of the request may come back in an error; bytes that are not UTF-8 do not parse at all.
  if (parsed.is_discarded()) return refusal("the request is not JSON").dump();
  return answer(parsed, context);
}

}  // namespace weir::engine
