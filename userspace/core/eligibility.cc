// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/eligibility.h"

#include <fmt/format.h>

#include <algorithm>

#include "eligible_set.h"

namespace weir {

std::string_view toString(Health health) noexcept {
  switch (health) {
    case Health::unknown:
      return "UNKNOWN";
    case Health::healthy:
      return "HEALTHY";
    case Health::unhealthy:
      return "UNHEALTHY";
    case Health::timeout:
      return "TIMEOUT";
    case Health::draining:
      return "DRAINING";
  }
  return "UNKNOWN";
}

namespace {

std::string counted(std::size_t count, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", count, count == 1 ? singular : plural);
}

std::string backends(std::size_t count) { return counted(count, "backend", "backends"); }

std::string noneIs(std::size_t count, std::string_view usable) {
  return count == 1 ? fmt::format("the only backend is not {}", usable)
                    : fmt::format("none of {} is {}", backends(count), usable);
}

// "3 of 4 primaries are healthy"; in weighted services "healthy and of nonzero weight".
std::string share(std::size_t part, std::size_t whole, std::string_view plural,
                  std::string_view usable) {
  return fmt::format("{} of {} {} {} {}", part, whole, plural, part == 1 ? "is" : "are", usable);
}

// A step of the last rungs of P9: the first that has candidates makes the set.
struct Rung {
  bool nonzero;
  bool healthy;
  bool failover;
};

std::string describe(const Rung& rung, std::size_t count, bool namesRole) {
  const std::string_view weight = rung.nonzero ? "nonzero" : "zero";
  const std::string_view health = rung.healthy ? "healthy" : "unhealthy";
  const std::string noun = !namesRole      ? backends(count)
                           : rung.failover ? counted(count, "failover backend", "failover backends")
                                           : counted(count, "primary", "primaries");
  return fmt::format("{} of {} weight, {}", noun, weight, health);
}

Eligibility firstRung(std::string_view rule, std::span<const Candidate> all,
                      std::span<const Rung> rungs, bool namesRole, const std::string& preface) {
  for (const Rung& rung : rungs) {
    const auto chosen = filter(all, [&](const Candidate& c) {
      return c.nonzero() == rung.nonzero && c.healthy() == rung.healthy &&
             c.failover() == rung.failover;
    });
    if (chosen.empty()) continue;
    return makeSet(std::string(rule), rung.failover ? Pool::failover : Pool::primary, chosen,
                   preface + describe(rung, chosen.size(), namesRole));
  }
  return makeSet(std::string(rule), Pool::none, {}, preface + "no backend at all: dropped");
}

// P2.1, P2.2; weighted: P9.3.
Eligibility withoutFailover(const BackendService& service, std::span<const Candidate> all,
                            const std::string& preface) {
  if (service.weighted) {
    static constexpr Rung kRungs[] = {
        {true, true, false}, {true, false, false}, {false, true, false}, {false, false, false}};
    return firstRung("P9.3", all, kRungs, false, preface);
  }
  const auto healthy = filter(all, [](const Candidate& c) { return c.healthy(); });
  if (!healthy.empty())
    return makeSet(
        "P2.1", Pool::primary, healthy,
        share(healthy.size(), all.size(), "backends", "healthy") + ": all healthy backends");
  if (all.empty()) return makeSet("P2.2", Pool::none, {}, "the service has no backend: dropped");
  return makeSet("P2.2", Pool::primary, all,
                 fmt::format("{}: {} as last resort", noneIs(all.size(), "healthy"),
                             all.size() == 1 ? "it is taken" : "all of them"));
}

// The rungs of a failover policy when no backend is usable: P2.8, P2.9; weighted: P9.4.
Eligibility nothingUsable(const BackendService& service, std::span<const Candidate> all,
                          std::string_view usable, const std::string& preface) {
  const std::string none = preface + (all.empty() ? std::string("the service has no backend")
                                                  : noneIs(all.size(), usable));
  if (service.failover.dropTrafficIfUnhealthy)
    return makeSet("P2.8", Pool::none, {}, none + " and dropTrafficIfUnhealthy is set: dropped");
  if (service.weighted) {
    static constexpr Rung kRungs[] = {{true, false, false},  {true, false, true},
                                      {false, true, false},  {false, true, true},
                                      {false, false, false}, {false, false, true}};
    return firstRung("P9.4", all, kRungs, true, none + ": ");
  }
  const auto primaries = filter(all, [](const Candidate& c) { return !c.failover(); });
  if (primaries.empty())
    return makeSet("P2.9", Pool::none, {}, none + ", and there is no primary: dropped");
  return makeSet("P2.9", Pool::primary, primaries,
                 fmt::format("{}: all {} as last resort", none,
                             counted(primaries.size(), "primary", "primaries")));
}

// P2.3 to P2.9; weighted: P9.4.
Eligibility withFailover(const BackendService& service, std::span<const Candidate> all,
                         const std::string& preface) {
  const auto isUsable = [](const Candidate& c) { return c.healthy() && c.nonzero(); };
  const std::string usable = service.weighted ? "healthy and of nonzero weight" : "healthy";
  const auto primaries =
      filter(all, [&](const Candidate& c) { return !c.failover() && isUsable(c); });
  const auto failovers =
      filter(all, [&](const Candidate& c) { return c.failover() && isUsable(c); });
  const auto configured = static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const Candidate& c) { return !c.failover(); }));
  if (primaries.empty() && failovers.empty()) return nothingUsable(service, all, usable, preface);

  const auto usePrimaries = [&](std::string rule, const std::string& why) {
    return makeSet(std::move(rule), Pool::primary, primaries,
                   fmt::format("{}{}: all {} primaries", preface, why, usable));
  };
  const auto useFailovers = [&](std::string rule, const std::string& why) {
    return makeSet(std::move(rule), Pool::failover, failovers,
                   fmt::format("{}{}: all {} failover backends", preface, why, usable));
  };
  const std::string ofPrimaries = share(primaries.size(), configured, "primaries", usable);
  if (primaries.empty()) return useFailovers("P2.3", ofPrimaries);
  if (failovers.empty())
    return usePrimaries("P2.4", ofPrimaries + fmt::format(", no failover backend is {}", usable));
  const double ratio = service.failover.failoverRatio;
  if (ratio == 0.0) return usePrimaries("P2.5", ofPrimaries + ", the failover ratio is 0");

  const double percent =
      100.0 * static_cast<double>(primaries.size()) / static_cast<double>(configured);
  const auto compared = [&](std::string_view how) {
    return fmt::format("{} ({:.3g}%), {} the failover ratio of {:.6g}%", ofPrimaries, percent, how,
                       100.0 * ratio);
  };
  if (meetsRatio(primaries.size(), configured, ratio))
    return usePrimaries("P2.6", compared("at least"));
  return useFailovers("P2.7", compared("less than"));
}

}  // namespace

Eligibility eligible(const BackendService& service, std::span<const Member> members) {
  const std::vector<Candidate> all = candidates(service, members);
  const std::string preface = service.weighted && !weightingActs(service, members)
                                  ? "a weight is missing or invalid, so all count 1; "
                                  : "";
  return service.hasFailoverPolicy() ? withFailover(service, all, preface)
                                     : withoutFailover(service, all, preface);
}

}  // namespace weir
