// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/stats.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace weir::engine {

namespace {

using Json = nlohmann::ordered_json;

// The numbers of one thread, or the sums of several.
struct QueueTotals {
  std::uint64_t packets = 0, bytes = 0;
  std::uint64_t fresh = 0, known = 0, related = 0, passed = 0;
  std::array<std::uint64_t, kDropReasons> dropped{};
  std::array<std::uint64_t, kMalformedKinds> malformed{};
  std::uint64_t batches = 0, receiveErrors = 0, sendErrors = 0, verdictErrors = 0, unreadable = 0;

  void add(const ThreadCounters& c) {
    packets += c.packets.value();
    bytes += c.bytes.value();
    fresh += c.forwardedNew.value();
    known += c.forwardedKnown.value();
    related += c.forwardedRelated.value();
    passed += c.passed.value();
    for (std::size_t i = 0; i < dropped.size(); ++i) dropped[i] += c.dropped[i].value();
    for (std::size_t i = 0; i < malformed.size(); ++i) malformed[i] += c.malformed[i].value();
    batches += c.batches.value();
    receiveErrors += c.receiveErrors.value();
    sendErrors += c.sendErrors.value();
    verdictErrors += c.verdictErrors.value();
    unreadable += c.unreadable.value();
  }
};

// One member for each value of the enumeration but the first, which is `none`.
template <class Label, std::size_t N>
Json labelled(const std::array<std::uint64_t, N>& numbers) {
  Json object = Json::object();
  for (std::size_t i = 1; i < N; ++i)
    object[std::string(toString(static_cast<Label>(i)))] = numbers[i];
  return object;
}

void put(Json& object, const QueueTotals& t) {
  object["packets"] = t.packets;
  object["bytes"] = t.bytes;
  object["forwarded"] = {{"new", t.fresh}, {"known", t.known}, {"related", t.related}};
  object["passed"] = t.passed;
  object["dropped"] = labelled<DropReason>(t.dropped);
  object["malformed"] = labelled<Malformed>(t.malformed);
  object["batches"] = t.batches;
  object["receiveErrors"] = t.receiveErrors;
  object["sendErrors"] = t.sendErrors;
  object["verdictErrors"] = t.verdictErrors;
  object["unreadable"] = t.unreadable;
}

Json kernelJson(const std::map<std::uint16_t, KernelCounters>& kernel, std::uint16_t queue) {
  const auto found = kernel.find(queue);
  const KernelCounters c = found == kernel.end() ? KernelCounters{} : found->second;
  return {{"bound", found != kernel.end()},
          {"waiting", c.waiting},
          {"dropped", c.dropped},
          {"userDropped", c.userDropped}};
}

Json tableJson(const TrackingTable* table) {
  if (table == nullptr) return nullptr;
  const TrackingCounters c = table->counters();
  return {{"entries", table->size()},
          {"capacity", table->capacity()},
          {"recovered", table->recovered()},
          {"inserted", c.inserted},
          {"replaced", c.replaced},
          {"expired", c.expired},
          {"evictedOnlySyn", c.evictedOnlySyn},
          {"evictedEstablished", c.evictedEstablished},
          {"bytesPerFlow",
           {{"ipv4", TrackingTable::bytesPerFlow(Family::ipv4)},
            {"ipv6", TrackingTable::bytesPerFlow(Family::ipv6)}}}};
}

Json cacheJson(KernelCache* cache) {
  if (cache == nullptr) return nullptr;
  const auto node = cache->node();
  if (!node) return {{"active", false}, {"reason", cache->whyNot()}};
  const FlowModule::Counters& c = node->counters;
  return {{"active", true},
          {"reason", ""},
          {"version", node->version},
          {"flows", node->flows},
          {"maxFlows", node->maxFlows},
          {"bytesPerFlow", node->bytesPerFlow},
          {"direct", c.direct},
          {"marked", c.marked},
          {"missed", c.missed},
          {"newBySyn", c.newBySyn},
          {"unusual", c.unusual},
          {"learned", c.learned},
          {"replaced", c.replaced},
          {"expired", c.expired},
          {"evicted", c.evicted},
          {"unlearned", c.unlearned}};
}

// Adds up in `cached` what the kernel module answered for.
Json backendsJson(const ServiceSnapshot& service, const ServiceLedger& ledger,
                  const ServiceLedger::Threads& threads, KernelCache* cache,
                  KernelCache::Use& cached) {
  Json list = Json::array();
  for (const auto& backend : service.backends) {
    const auto totals = ledger.of(service.id, backend.slot, threads);
    const auto use = cache == nullptr ? KernelCache::Use{} : cache->use(service, backend);
    cached.packets += use.packets;
    cached.bytes += use.bytes;
    list.push_back({{"group", backend.group},
                    {"backend", backend.endpoint},
                    {"new", totals.fresh},
                    {"packets", totals.packets + use.packets},
                    {"bytes", totals.bytes + use.bytes}});
  }
  return list;
}

Json servicesJson(const StatsInput& input) {
  Json list = Json::array();
  if (input.world == nullptr || input.ledger == nullptr) return list;
  if (input.cache != nullptr) input.cache->readUses();
  ServiceLedger::Threads threads;
  for (const auto& [queue, counters] : input.threads) threads.push_back(counters);
  for (const auto& service : input.world->services()) {
    if (!service) continue;
    const auto totals = input.ledger->of(service->snapshot().id, threads);
    KernelCache::Use cached;
    Json backends = backendsJson(service->snapshot(), *input.ledger, threads, input.cache, cached);
    list.push_back({{"service", service->snapshot().name},
                    {"new", totals.fresh},
                    {"known", totals.known + cached.packets},
                    {"related", totals.related},
                    {"dropped", totals.dropped},
                    {"bytes", totals.bytes + cached.bytes},
                    {"backends", std::move(backends)}});
  }
  return list;
}

}  // namespace

void ServiceLedger::observe(const World& world, const Threads& threads) {
  for (const auto& service : world.services()) {
    if (!service) continue;
    Account& account = accounts_[service->snapshot().id];
    if (account.name != service->snapshot().name)
      account = {service->snapshot().name, sum(service->snapshot().id, threads), {}};
    observe(account, service->snapshot(), threads);
  }
}

void ServiceLedger::observe(Account& account, const ServiceSnapshot& service,
                            const Threads& threads) {
  for (const auto& backend : service.backends) {
    BackendAccount& known = account.backends[backend.slot];
    if (known.group == backend.group && known.endpoint == backend.endpoint) continue;
    known = {backend.group, backend.endpoint, sum(service.id, backend.slot, threads)};
  }
}

ServiceLedger::Totals ServiceLedger::of(ServiceId id, const Threads& threads) const {
  Totals totals = sum(id, threads);
  if (const auto found = accounts_.find(id); found != accounts_.end()) {
    const Totals& baseline = found->second.baseline;
    totals.fresh -= baseline.fresh;
    totals.known -= baseline.known;
    totals.related -= baseline.related;
    totals.dropped -= baseline.dropped;
    totals.bytes -= baseline.bytes;
  }
  return totals;
}

ServiceLedger::BackendTotals ServiceLedger::of(ServiceId id, BackendSlot slot,
                                               const Threads& threads) const {
  BackendTotals totals = sum(id, slot, threads);
  const auto account = accounts_.find(id);
  if (account == accounts_.end()) return totals;
  if (const auto found = account->second.backends.find(slot);
      found != account->second.backends.end()) {
    const BackendTotals& baseline = found->second.baseline;
    totals.fresh -= baseline.fresh;
    totals.packets -= baseline.packets;
    totals.bytes -= baseline.bytes;
  }
  return totals;
}

ServiceLedger::Totals ServiceLedger::sum(ServiceId id, const Threads& threads) {
  Totals totals;
  for (const ThreadCounters* thread : threads) {
    const ServiceCounters& c = thread->service(id);
    totals.fresh += c.fresh.value();
    totals.known += c.known.value();
    totals.related += c.related.value();
    totals.dropped += c.dropped.value();
    totals.bytes += c.bytes.value();
  }
  return totals;
}

ServiceLedger::BackendTotals ServiceLedger::sum(ServiceId id, BackendSlot slot,
                                                const Threads& threads) {
  BackendTotals totals;
  for (const ThreadCounters* thread : threads) {
    const BackendCounters* backends = thread->backends(id);
    if (backends == nullptr) continue;
    const BackendCounters& c = backends[slot.value()];
    totals.fresh += c.fresh.value();
    totals.packets += c.packets.value();
    totals.bytes += c.bytes.value();
  }
  return totals;
}

std::string statsJson(const StatsInput& input) {
  Json answer;
  answer["program"] = "weir-engine";
  answer["version"] = WEIR_VERSION;
  answer["pid"] = ::getpid();
  answer["uptimeSec"] = input.uptime.count();
  answer["generation"] = input.generation.value();
  answer["snapshots"] = {{"applied", input.snapshotsApplied},
                         {"refused", input.snapshotsRefused},
                         {"ageSec", input.snapshotAge.count()}};
  answer["threads"] = Json::array();
  QueueTotals sums;
  for (const auto& [queue, counters] : input.threads) {
    QueueTotals one;
    one.add(*counters);
    sums.add(*counters);
    Json thread;
    thread["queue"] = queue;
    put(thread, one);
    thread["kernel"] = kernelJson(input.kernel, queue);
    answer["threads"].push_back(std::move(thread));
  }
  put(answer["totals"], sums);
  answer["table"] = tableJson(input.table);
  answer["flowCache"] = cacheJson(input.cache);
  answer["services"] = servicesJson(input);
  return answer.dump();
}

}  // namespace weir::engine
