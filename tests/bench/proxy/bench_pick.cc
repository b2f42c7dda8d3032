// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the choice of a backend costs: pick, opened and closed of a connection each. Arguments:
// groups, members of each. The cost must not grow with either by more than their logarithm.
#include <benchmark/benchmark.h>

#include <chrono>
#include <deque>

#include "support/proxy_service.h"
#include "weir/proxy_placement.h"

namespace weir {
namespace {

using namespace test;

ProxyServiceSnapshot serviceFor(const benchmark::State& state, LocalityPolicy policy,
                                SessionAffinity affinity) {
  std::vector<ProxyGroup> groups;
  for (unsigned i = 0; i < static_cast<unsigned>(state.range(0)); ++i)
    groups.push_back(groupOf(i, static_cast<unsigned>(state.range(1)), 1000,
                             std::string("z") + "abc"[i % 3], i % 3 == 2 ? "r2" : "r1"));
  auto service = serviceOf(std::move(groups), policy, affinity);
  service.policy.algorithm = LbAlgorithm::waterfallByRegion;
  return service;
}

void pickOne(benchmark::State& state, LocalityPolicy policy, SessionAffinity affinity) {
  Balanced balanced(serviceFor(state, policy, affinity));
  std::deque<ProxySlot> open;
  std::uint32_t number = 0;
  for (auto _ : state) {
    const BackendPick pick =
        balanced.pick(client(number % 60'000, static_cast<std::uint16_t>(number)));
    ++number;
    balanced.balancer.opened(pick.slot, balanced.now);
    open.push_back(pick.slot);
    if (open.size() < 50'000) continue;
    balanced.balancer.closed(open.front(), balanced.now);
    open.pop_front();
  }
}

void updateOne(benchmark::State& state, LocalityPolicy policy) {
  ProxyServiceSnapshot service = serviceFor(state, policy, SessionAffinity::none);
  Balanced balanced(service);
  const ZoneOrder order = zoneOrder();
  for (auto _ : state) {
    ProxyEndpoint& endpoint = service.groups[0].endpoints[0];
    endpoint.healthy = !endpoint.healthy;
    balanced.balancer.update(std::make_shared<const ProxyServiceSnapshot>(service), order,
                             balanced.now);
  }
}

// Of that, how long connections wait for it: what the proxy does under the balancer's lock.
void holdUp(benchmark::State& state, LocalityPolicy policy) {
  ProxyServiceSnapshot service = serviceFor(state, policy, SessionAffinity::none);
  Balanced balanced(service);
  const ZoneOrder order = zoneOrder();
  for (auto _ : state) {
    ProxyEndpoint& endpoint = service.groups[0].endpoints[0];
    endpoint.healthy = !endpoint.healthy;
    const auto prepared =
        balanced.balancer.prepare(std::make_shared<const ProxyServiceSnapshot>(service), order);
    const auto begin = std::chrono::steady_clock::now();
    balanced.balancer.update(*prepared, balanced.now);
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
}

#define WEIR_SIZES Args({1, 1})->Args({10, 10})->Args({100, 100})

BENCHMARK_CAPTURE(pickOne, round_robin, LocalityPolicy::roundRobin, SessionAffinity::none)
    ->WEIR_SIZES;
BENCHMARK_CAPTURE(pickOne, least_request, LocalityPolicy::leastRequest, SessionAffinity::none)
    ->WEIR_SIZES;
BENCHMARK_CAPTURE(pickOne, random, LocalityPolicy::random, SessionAffinity::none)->WEIR_SIZES;
BENCHMARK_CAPTURE(pickOne, ring_hash, LocalityPolicy::ringHash, SessionAffinity::none)->WEIR_SIZES;
BENCHMARK_CAPTURE(pickOne, maglev, LocalityPolicy::maglev, SessionAffinity::none)->WEIR_SIZES;
BENCHMARK_CAPTURE(pickOne, maglev_affinity, LocalityPolicy::maglev, SessionAffinity::clientIp)
    ->WEIR_SIZES;
BENCHMARK_CAPTURE(pickOne, weighted, LocalityPolicy::weightedRoundRobin, SessionAffinity::none)
    ->WEIR_SIZES;
BENCHMARK_CAPTURE(updateOne, round_robin, LocalityPolicy::roundRobin)->WEIR_SIZES;
BENCHMARK_CAPTURE(updateOne, maglev, LocalityPolicy::maglev)->WEIR_SIZES;
BENCHMARK_CAPTURE(holdUp, round_robin, LocalityPolicy::roundRobin)
    ->WEIR_SIZES->Args({1, 10'000})
    ->UseManualTime();
BENCHMARK_CAPTURE(holdUp, maglev, LocalityPolicy::maglev)
    ->WEIR_SIZES->Args({1, 10'000})
    ->UseManualTime();

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
