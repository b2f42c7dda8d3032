// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/draft.h"
#include "config/enum_type.h"
#include "config/resource_schemas.h"
#include "config/types.h"

namespace weir::config {
namespace {

enum class Granularity : std::uint8_t { unspecified, region };

// Isolation is written as two fields that act only together (S5).
struct IsolationConfig {
  Granularity granularity = Granularity::unspecified;
  Isolation mode = Isolation::unspecified;
  friend bool operator==(const IsolationConfig&, const IsolationConfig&) = default;
};

struct RawPolicy : ServiceLbPolicy {
  IsolationConfig isolationConfig;
};

const Schema<ServiceLbPolicy>& drainSchema() {
  static const auto schema = [] {
    Schema<ServiceLbPolicy> s("autoCapacityDrain");
    s.field("enable", boolean(), &ServiceLbPolicy::autoCapacityDrain);
    return s;
  }();
  return schema;
}

const Schema<ServiceLbPolicy>& failoverSchema() {
  static const auto schema = [] {
    Schema<ServiceLbPolicy> s("failoverConfig");
    s.field("failoverHealthThreshold", integer(1, 99), &ServiceLbPolicy::failoverHealthThreshold);
    return s;
  }();
  return schema;
}

const Schema<IsolationConfig>& isolationSchema() {
  static const auto schema = [] {
    std::vector<Choice<Isolation>> modes;
    for (const Isolation mode : {Isolation::unspecified, Isolation::nearest, Isolation::strict})
      modes.push_back({toString(mode), mode});
    modes.push_back({"ISOLATION_MODE_UNSPECIFIED", Isolation::unspecified});
    Schema<IsolationConfig> s("isolationConfig");
    s.field("isolationGranularity",
            choice<Granularity>({{"UNSPECIFIED", Granularity::unspecified},
                                 {"REGION", Granularity::region},
                                 {"ISOLATION_GRANULARITY_UNSPECIFIED", Granularity::unspecified}}),
            &IsolationConfig::granularity)
        .field("isolationMode", choice<Isolation>(std::move(modes)), &IsolationConfig::mode);
    return s;
  }();
  return schema;
}

Type<LbAlgorithm> algorithm() {
  std::vector<Choice<LbAlgorithm>> choices;
  for (const LbAlgorithm a : {LbAlgorithm::waterfallByRegion, LbAlgorithm::sprayToRegion,
                              LbAlgorithm::waterfallByZone, LbAlgorithm::sprayToWorld})
    choices.push_back({toString(a), a});
  choices.push_back({"LOAD_BALANCING_ALGORITHM_UNSPECIFIED", LbAlgorithm::waterfallByRegion});
  return choice<LbAlgorithm>(std::move(choices));
}

const Schema<RawPolicy>& schema() {
  static const auto schema = [] {
    Schema<RawPolicy> s("a service load-balancing policy");
    s.required("name", reference(), &ServiceLbPolicy::name)
        .field("loadBalancingAlgorithm", algorithm(), &ServiceLbPolicy::algorithm)
        .inside("autoCapacityDrain", drainSchema())
        .inside("failoverConfig", failoverSchema())
        .field("isolationConfig", mappingOf(isolationSchema()), &RawPolicy::isolationConfig)
        .ignored({"kind", "id", "selfLink", "createTime", "updateTime", "creationTimestamp",
                  "description", "labels", "etag"});
    return s;
  }();
  return schema;
}

}  // namespace

void readLbPolicy(const Value& value, ServiceLbPolicy& out, Reader& reader) {
  RawPolicy raw;
  schema().read(value, raw, reader);
  out = raw;
  const auto [granularity, mode] = raw.isolationConfig;
  if (granularity == Granularity::region) out.isolation = mode;
  if (reader.isWrong(value, "isolationConfig")) return;
  if ((granularity == Granularity::region) != (mode != Isolation::unspecified))
    reader.problems().warning(reader.at(locate(value, "isolationConfig")),
                              "isolationConfig has no effect: it needs both isolationGranularity "
                              "REGION and isolationMode NEAREST or STRICT");
}

ValuePtr writeLbPolicy(const ServiceLbPolicy& policy) {
  RawPolicy raw{policy, {}};
  if (policy.isolation != Isolation::unspecified)
    raw.isolationConfig = {Granularity::region, policy.isolation};
  return schema().write(raw);
}

const MappingInfo& lbPolicyFields() { return schema().info(); }

}  // namespace weir::config
