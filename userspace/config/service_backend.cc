// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/service_backend.h"

#include <array>

#include "config/draft.h"
#include "config/enum_type.h"
#include "config/schemes.h"
#include "config/types.h"

namespace weir::config {
namespace {

constexpr std::int64_t kMaxLimit = 2147483647;

// 0, or at least a tenth.
Type<double> capacityScaler() {
  Type<double> type = decimal(0, 1);
  type.allowed = "0 or a number from 0.1 to 1";
  type.read = [allowed = type.allowed](const Value& value, Reader& reader) {
    auto scaler = value.kind == Value::Kind::scalar ? parseDecimal(value.text) : std::nullopt;
    if (scaler && (*scaler == 0 || (*scaler >= 0.1 && *scaler <= 1))) return scaler;
    reader.mustBe(value, allowed);
    return std::optional<double>();
  };
  return type;
}

Type<std::int64_t> connections() { return integer(1, kMaxLimit); }
Type<double> rate() { return decimal(0.001, static_cast<double>(kMaxLimit)); }

// The limits of each mode (X4.2).
constexpr std::array kConnectionLimits{"maxConnections", "maxConnectionsPerInstance",
                                       "maxConnectionsPerEndpoint"};
constexpr std::array kRateLimits{"maxRate", "maxRatePerInstance", "maxRatePerEndpoint"};

using Keys = std::span<const char* const>;

std::string list(Keys keys, std::string_view last) {
  return join(std::vector<std::string>(keys.begin(), keys.end()), last);
}

// What may be given with a mode, for messages.
std::string limitsOf(BalancingMode mode) {
  switch (mode) {
    case BalancingMode::connection:
      return "exactly one of " + list(kConnectionLimits, "and");
    case BalancingMode::utilization:
      return fmt::format("maxUtilization and at most one of {}", list(kConnectionLimits, "and"));
    case BalancingMode::rate:
      return "exactly one of " + list(kRateLimits, "and");
  }
  return "";
}

class LimitCheck {
 public:
  LimitCheck(const Value& value, const RawBackend& raw, Reader& reader)
      : value_(value),
        mode_(raw.declaredMode.value_or(BalancingMode::connection)),
        title_(fmt::format("balancingMode {}{}", toString(mode_),
                           raw.declaredMode ? "" : " (the default)")),
        reader_(reader) {}

  void run() {
    const bool byRate = mode_ == BalancingMode::rate;
    refuse(byRate ? Keys(kConnectionLimits) : Keys(kRateLimits));
    constexpr std::array utilization{"maxUtilization"};
    if (mode_ != BalancingMode::utilization) refuse(utilization);
    const Keys own = byRate ? Keys(kRateLimits) : Keys(kConnectionLimits);
    const Value::Entry* first = nullptr;
    for (const char* key : own) {
      const auto* entry = value_.find(key);
      if (entry == nullptr) continue;
      if (first != nullptr)
        reader_.error(entry->mark, fmt::format("{} and {} are both given; {} takes {}", first->key,
                                               key, title_, limitsOf(mode_)));
      if (first == nullptr) first = entry;
    }
    if (first != nullptr || mode_ == BalancingMode::utilization || refused_) return;
    reader_.error(locateHere("balancingMode"), fmt::format("a backend with {} needs {}, its target "
                                                           "capacity",
                                                           title_, limitsOf(mode_)));
  }

 private:
  void refuse(Keys keys) {
    for (const char* key : keys) {
      const auto* entry = value_.find(key);
      if (entry == nullptr) continue;
      refused_ = true;
      reader_.error(entry->mark, fmt::format("{} is not allowed with {}, which takes {}", key,
                                             title_, limitsOf(mode_)));
    }
  }
  Mark locateHere(std::string_view key) const {
    const auto* entry = value_.find(key);
    return entry == nullptr ? value_.mark : entry->value->mark;
  }

  const Value& value_;
  BalancingMode mode_;
  std::string title_;
  Reader& reader_;
  bool refused_ = false;
};

}  // namespace

const Schema<RawBackend>& backendSchema() {
  static const auto schema = [] {
    constexpr std::string_view http = "weir does not read HTTP";
    Schema<RawBackend> s("a backend");
    s.required("group", reference(), &ServiceBackend::group)
        .field("failover", boolean(), &ServiceBackend::failover)
        .field(
            "balancingMode",
            choiceOf({BalancingMode::connection, BalancingMode::utilization, BalancingMode::rate},
                     {{"IN_FLIGHT", http}, {"CUSTOM_METRICS", "weir does not have it"}}),
            &RawBackend::declaredMode, "CONNECTION")
        .field("maxConnections", connections(), &GroupCapacity::maxConnections)
        .field("maxConnectionsPerInstance", connections(), &RawBackend::maxConnectionsPerInstance)
        .field("maxConnectionsPerEndpoint", connections(),
               &GroupCapacity::maxConnectionsPerEndpoint)
        .field("maxRate", rate(), &GroupCapacity::maxRate)
        .field("maxRatePerInstance", rate(), &RawBackend::maxRatePerInstance)
        .field("maxRatePerEndpoint", rate(), &GroupCapacity::maxRatePerEndpoint)
        .field("maxUtilization", decimal(0, 1), &RawBackend::declaredUtilization, "0.8")
        .field("capacityScaler", capacityScaler(), &GroupCapacity::capacityScaler)
        .field("preference", choiceOf({Preference::byAlgorithm, Preference::preferred}),
               &GroupCapacity::preference)
        .ignored({"description"})
        .refused({"maxInFlightRequests", "maxInFlightRequestsPerInstance",
                  "maxInFlightRequestsPerEndpoint", "trafficDuration"},
                 http)
        .refused({"customMetrics"}, "weir does not have it");
    return s;
  }();
  return schema;
}

ServiceBackend takeBackend(const RawBackend& raw, bool managed) {
  ServiceBackend backend = raw;
  if (!managed) return backend;
  backend.capacity = raw;
  backend.capacity.mode = raw.declaredMode.value_or(BalancingMode::connection);
  if (raw.declaredUtilization) backend.capacity.maxUtilization = *raw.declaredUtilization;
  if (raw.maxConnectionsPerInstance)
    backend.capacity.maxConnectionsPerEndpoint = raw.maxConnectionsPerInstance;
  if (raw.maxRatePerInstance) backend.capacity.maxRatePerEndpoint = raw.maxRatePerInstance;
  return backend;
}

RawBackend rawOf(const ServiceBackend& backend) {
  RawBackend raw{backend, backend.capacity, {}, {}, {}, {}};
  const GroupCapacity otherwise;
  if (backend.capacity.mode != otherwise.mode) raw.declaredMode = backend.capacity.mode;
  if (backend.capacity.maxUtilization != otherwise.maxUtilization)
    raw.declaredUtilization = backend.capacity.maxUtilization;
  return raw;
}

void checkBackend(const Value& value, const RawBackend& raw, LoadBalancingScheme scheme,
                  Reader& reader) {
  if (isManaged(scheme)) {
    if (raw.failover)
      reader.error(locate(value, "failover"),
                   fmt::format("failover groups belong to passthrough services: they need {}; "
                               "a proxy prefers groups by 'preference'",
                               needsScheme(ServiceKind::passthrough, scheme)));
    if (!reader.isWrong(value, "balancingMode")) LimitCheck(value, raw, reader).run();
    return;
  }
  if (raw.declaredMode.value_or(BalancingMode::connection) != BalancingMode::connection)
    reader.error(locate(value, "balancingMode"),
                 fmt::format("balancingMode {} belongs to proxies: it needs {}; a passthrough "
                             "service has CONNECTION",
                             toString(*raw.declaredMode), needsScheme(ServiceKind::proxy, scheme)));
  refuseKeysOf(ServiceKind::proxy, value,
               {"maxConnections", "maxConnectionsPerInstance", "maxConnectionsPerEndpoint",
                "maxRate", "maxRatePerInstance", "maxRatePerEndpoint", "maxUtilization",
                "capacityScaler", "preference"},
               scheme, reader);
}

}  // namespace weir::config
