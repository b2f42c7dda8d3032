// SPDX-License-Identifier: GPL-2.0-or-later
//
// Time and memory of what `weirctl check` does: a directory of files read, parsed, checked, hints
// given. Half of the services are passthrough services, half are proxies'.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "config/load.h"
#include "support/temporary_directory.h"

namespace {

using namespace weir;

constexpr int kEndpointsPerService = 50;

std::string services(int from, int to, bool proxies) {
  std::string groups = "networkEndpointGroups:\n", services = "backendServices:\n",
              rules = "forwardingRules:\n", targets = "targetTcpProxies:\n";
  const std::string scheme = proxies ? "loadBalancingScheme: INTERNAL_MANAGED\n" : "";
  for (int s = from; s < to; ++s) {
    groups += fmt::format("- name: g{}\n  zone: za\n  endpoints:\n", s);
    for (int e = 0; e < kEndpointsPerService; ++e)
      groups += fmt::format("  - ipAddress: 10.{}.{}.{}\n    instance: vm-{}-{}\n{}", 16 + s / 256,
                            s % 256, e + 1, s, e, proxies ? "    port: 8080\n" : "");
    services +=
        fmt::format("- name: s{0}\n  {1}  healthChecks: [hc]\n  backends:\n  - group: g{0}\n{2}", s,
                    proxies ? scheme : "protocol: TCP\n",
                    proxies ? "    maxConnectionsPerEndpoint: 100\n" : "");
    const std::string address = fmt::format("10.9.{}.{}", s / 250, s % 250 + 1);
    rules += fmt::format("- name: r{}\n  IPAddress: {}\n  ports: ['80']\n", s, address);
    rules += proxies ? fmt::format("  {}  target: t{}\n", scheme, s)
                     : fmt::format("  backendService: s{}\n", s);
    targets += fmt::format("- {{name: t{0}, service: s{0}}}\n", s);
  }
  return groups + services + rules + (proxies ? targets : "");
}

double peakMegabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void loadDirectory(benchmark::State& state) {
  const auto endpoints = static_cast<int>(state.range(0));
  const int count = endpoints / kEndpointsPerService;
  const test::TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "conf.d");
  std::ofstream(directory.path() / "weir.yaml")
      << "location: {region: r1, zone: za}\nzones: [{name: za, region: r1}]\n"
         "healthChecks: [{name: hc}]\n";
  std::ofstream(directory.path() / "conf.d/a.yaml") << services(0, count / 2, false);
  std::ofstream(directory.path() / "conf.d/b.yaml") << services(count / 2, count, true);
  for (auto _ : state) {
    const config::Loaded loaded = config::loadDirectory(directory.path());
    if (!loaded.ok() || loaded.configuration.services.size() != static_cast<std::size_t>(count))
      state.SkipWithError("the configuration is not valid");
    benchmark::DoNotOptimize(loaded);
  }
  state.counters["peak_mb"] = peakMegabytes();
}
BENCHMARK(loadDirectory)
    ->ArgName("endpoints")
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
