// SPDX-License-Identifier: GPL-2.0-or-later
//
// Runs health checks from a configuration file, for tests against real servers.
//
//   weir_probe_driver once FILE     one probe of every health check in FILE, all at the same time,
//                                   to 127.0.0.1; a JSON line for each
//   weir_probe_driver watch FILE COUNT SECONDS
//                                   COUNT backends (127.1.0.1 and on) monitored with the first
//                                   health check, and one with each further one; at the end a JSON
//                                   object with what that took and found
#include <sys/resource.h>
#include <time.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "config/load.h"
#include "manager/health/monitor.h"
#include "manager/health/probe.h"

using namespace weir;
using namespace weir::manager;
using nlohmann::json;
using Microseconds = std::chrono::microseconds;

namespace {

constexpr std::uint32_t kLoopback = 0x7f000001, kBackends = 0x7f010001;

ProbeTarget targetOf(const HealthCheck& check, Address address) {
  ProbeTarget target;
  target.endpoint = {check.name, address.toString()};
  target.check = std::make_shared<const HealthCheck>(check);
  target.address = address;
  target.port = check.port;
  target.services = {check.name};
  return target;
}

std::string_view word(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::success:
      return "HEALTHY";
    case Outcome::Kind::wrongAnswer:
      return "UNHEALTHY";
    case Outcome::Kind::noAnswer:
      return "TIMEOUT";
    case Outcome::Kind::notMade:
      return "NOT_MADE";
  }
  return "";
}

std::string_view word(ReportedWeight::Kind kind) {
  switch (kind) {
    case ReportedWeight::Kind::value:
      return "value";
    case ReportedWeight::Kind::missing:
      return "missing";
    case ReportedWeight::Kind::invalid:
      return "invalid";
    case ReportedWeight::Kind::unavailable:
      return "unavailable";
  }
  return "";
}

json lineOf(const HealthCheck& check, const Outcome& outcome, Microseconds duration) {
  json line{{"name", check.name},
            {"state", word(outcome.kind)},
            {"reason", outcome.reason},
            {"durationMs", static_cast<double>(duration.count()) / 1000}};
  if (outcome.weight && outcome.weight->kind == ReportedWeight::Kind::value)
    line["weight"] = outcome.weight->value;
  else if (outcome.weight)
    line["weight"] = word(outcome.weight->kind);
  if (outcome.utilization) line["utilization"] = *outcome.utilization;
  if (outcome.connectTime) line["connectUs"] = outcome.connectTime->count();
  return line;
}

void probeOnce(const std::vector<HealthCheck>& checks) {
  boost::asio::io_context io;
  const TlsContext tls;
  std::map<std::string, std::unique_ptr<Probe>> running;
  std::vector<std::unique_ptr<boost::asio::steady_timer>> timers;
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& check : checks) {
    // The probe's owner ends it when its time is over, as in the manager.
    timers.push_back(std::make_unique<boost::asio::steady_timer>(io, check.timeout));
    auto* const timer = timers.back().get();
    const auto tell = [&, begun](const Outcome& outcome) {
      const auto duration =
          std::chrono::duration_cast<Microseconds>(std::chrono::steady_clock::now() - begun);
      std::cout << lineOf(check, outcome, duration).dump() << std::endl;
    };
    timer->async_wait([&, tell](const boost::system::error_code& cancelled) {
      if (cancelled) return;
      const auto found = running.find(check.name);
      if (found == running.end()) return;  // its verdict came while this was on its way
      const Outcome outcome = timedOut(*found->second, check);
      running.erase(found);
      tell(outcome);
    });
    running[check.name] = startProbe({io, tls}, targetOf(check, Address::ipv4(kLoopback)),
                                     [&, timer, tell](const Outcome& outcome) {
                                       timer->cancel();
                                       running.erase(check.name);
                                       tell(outcome);
                                     });
  }
  io.run();
}

double cpuSeconds() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

void watch(const std::vector<HealthCheck>& checks, unsigned count, unsigned seconds) {
  boost::asio::io_context io;
  std::map<EndpointRef, Health> states;
  HealthMonitor monitor(
      io, [](const EndpointRef&, const std::string&) { return Health::unknown; },
      [&](const HealthMonitor::Report& report) {
        for (const auto& update : report.health) states[update.endpoint] = update.health;
      });
  std::vector<ProbeTarget> targets;
  for (unsigned i = 0; i < count; ++i)
    targets.push_back(targetOf(checks.front(), Address::ipv4(kBackends + i)));
  for (std::size_t i = 1; i < checks.size(); ++i)
    targets.push_back(targetOf(checks[i], Address::ipv4(kLoopback)));
  monitor.setTargets(targets);
  // The first interval is not counted: it is when everything starts.
  io.run_for(checks.front().checkInterval + std::chrono::milliseconds(200));
  const auto before = monitor.counters();
  const double cpuBefore = cpuSeconds();
  io.run_for(std::chrono::seconds(seconds));
  const double cpu = cpuSeconds() - cpuBefore;
  const auto after = monitor.counters();
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  json result{{"cores", cpu / seconds},
              {"peakMb", used.ru_maxrss / 1024},
              {"succeeded", after.succeeded - before.succeeded},
              {"failed", after.failed - before.failed},
              {"timedOut", after.timedOut - before.timedOut},
              {"states", json::object()},
              {"reasons", json::object()},
              {"slowestMs", json::object()}};
  for (const auto& [endpoint, health] : states) {
    const std::string state(toString(health));
    auto& number = result["states"][endpoint.group][state];
    number = number.is_null() ? 1 : number.get<int>() + 1;
    if (const std::string reason = monitor.reason(endpoint, endpoint.group); !reason.empty())
      result["reasons"][endpoint.group] = reason;
  }
  // The bucket that the slowest successful probe fell into.
  for (const auto& [service, durations] : monitor.durations())
    for (std::size_t i = 0; i < DurationHistogram::kBounds.size(); ++i)
      if (durations.succeeded.counts()[i] != 0)
        result["slowestMs"][service] =
            static_cast<double>(DurationHistogram::kBounds[i].count()) / 1000;
  std::cout << result.dump() << std::endl;
}

int usage() {
  std::cerr << "usage: weir_probe_driver once FILE\n"
               "       weir_probe_driver watch FILE COUNT SECONDS\n";
  return 2;
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc < 3) return usage();
  const config::Loaded loaded = config::loadDirectory(argv[2]);
  for (const auto& diagnostic : loaded.diagnostics)
    if (diagnostic.severity == config::Diagnostic::Severity::error)
      std::cerr << diagnostic.toString() << '\n';
  const auto& checks = loaded.configuration.healthChecks;
  if (!loaded.ok() || checks.empty()) return 1;
  const std::string_view what = argv[1];
  if (what == "once" && argc == 3) {
    probeOnce(checks);
  } else if (what == "watch" && argc == 5) {
    watch(checks, static_cast<unsigned>(std::atoi(argv[3])),
          static_cast<unsigned>(std::atoi(argv[4])));
  } else {
    return usage();
  }
  return 0;
}
