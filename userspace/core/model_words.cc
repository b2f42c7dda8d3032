// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/model_words.h"

namespace weir {

std::string_view toString(LoadBalancingScheme value) noexcept {
  switch (value) {
    case LoadBalancingScheme::internal:
      return "INTERNAL";
    case LoadBalancingScheme::external:
      return "EXTERNAL";
    case LoadBalancingScheme::internalManaged:
      return "INTERNAL_MANAGED";
    case LoadBalancingScheme::externalManaged:
      return "EXTERNAL_MANAGED";
  }
  return "";
}

std::string_view toString(ServiceProtocol value) noexcept {
  switch (value) {
    case ServiceProtocol::tcp:
      return "TCP";
    case ServiceProtocol::udp:
      return "UDP";
    case ServiceProtocol::unspecified:
      return "UNSPECIFIED";
  }
  return "";
}

std::string_view toString(PersistOnUnhealthy value) noexcept {
  switch (value) {
    case PersistOnUnhealthy::defaultForProtocol:
      return "DEFAULT_FOR_PROTOCOL";
    case PersistOnUnhealthy::neverPersist:
      return "NEVER_PERSIST";
    case PersistOnUnhealthy::alwaysPersist:
      return "ALWAYS_PERSIST";
  }
  return "";
}

std::string_view toString(Spillover value) noexcept {
  switch (value) {
    case Spillover::disabled:
      return "ZONAL_AFFINITY_DISABLED";
    case Spillover::stayWithinZone:
      return "ZONAL_AFFINITY_STAY_WITHIN_ZONE";
    case Spillover::spillCrossZone:
      return "ZONAL_AFFINITY_SPILL_CROSS_ZONE";
  }
  return "";
}

std::string_view toString(NetworkEndpointGroup::Type value) noexcept {
  switch (value) {
    case NetworkEndpointGroup::Type::gceVmIp:
      return "GCE_VM_IP";
    case NetworkEndpointGroup::Type::gceVmIpPort:
      return "GCE_VM_IP_PORT";
    case NetworkEndpointGroup::Type::nonGcpPrivateIpPort:
      return "NON_GCP_PRIVATE_IP_PORT";
    case NetworkEndpointGroup::Type::internetIpPort:
      return "INTERNET_IP_PORT";
    case NetworkEndpointGroup::Type::internetFqdnPort:
      return "INTERNET_FQDN_PORT";
  }
  return "";
}

std::string_view toString(Announce value) noexcept {
  switch (value) {
    case Announce::none:
      return "NONE";
    case Announce::arp:
      return "ARP";
    case Announce::route:
      return "ROUTE";
  }
  return "";
}

std::string_view toString(FlowCache value) noexcept {
  switch (value) {
    case FlowCache::automatic:
      return "auto";
    case FlowCache::off:
      return "off";
    case FlowCache::require:
      return "require";
  }
  return "";
}

std::string_view toString(LogLevel value) noexcept {
  switch (value) {
    case LogLevel::error:
      return "error";
    case LogLevel::warning:
      return "warning";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  return "";
}

std::string_view toString(LocalityPolicy value) noexcept {
  switch (value) {
    case LocalityPolicy::roundRobin:
      return "ROUND_ROBIN";
    case LocalityPolicy::leastRequest:
      return "LEAST_REQUEST";
    case LocalityPolicy::random:
      return "RANDOM";
    case LocalityPolicy::ringHash:
      return "RING_HASH";
    case LocalityPolicy::maglev:
      return "MAGLEV";
    case LocalityPolicy::weightedRoundRobin:
      return "WEIGHTED_ROUND_ROBIN";
    case LocalityPolicy::originalDestination:
      return "ORIGINAL_DESTINATION";
  }
  return "";
}

std::string_view toString(BalancingMode value) noexcept {
  switch (value) {
    case BalancingMode::connection:
      return "CONNECTION";
    case BalancingMode::utilization:
      return "UTILIZATION";
    case BalancingMode::rate:
      return "RATE";
  }
  return "";
}

std::string_view toString(Preference value) noexcept {
  switch (value) {
    case Preference::byAlgorithm:
      return "DEFAULT";
    case Preference::preferred:
      return "PREFERRED";
  }
  return "";
}

std::string_view toString(AddressSelection value) noexcept {
  switch (value) {
    case AddressSelection::ipv4Only:
      return "IPV4_ONLY";
    case AddressSelection::preferIpv6:
      return "PREFER_IPV6";
    case AddressSelection::ipv6Only:
      return "IPV6_ONLY";
  }
  return "";
}

std::string_view toString(TargetTcpProxy::ProxyHeader value) noexcept {
  switch (value) {
    case TargetTcpProxy::ProxyHeader::none:
      return "NONE";
    case TargetTcpProxy::ProxyHeader::proxyV1:
      return "PROXY_V1";
    case TargetTcpProxy::ProxyHeader::proxyV2:
      return "PROXY_V2";
  }
  return "";
}

std::string_view toString(LbAlgorithm value) noexcept {
  switch (value) {
    case LbAlgorithm::waterfallByRegion:
      return "WATERFALL_BY_REGION";
    case LbAlgorithm::sprayToRegion:
      return "SPRAY_TO_REGION";
    case LbAlgorithm::waterfallByZone:
      return "WATERFALL_BY_ZONE";
    case LbAlgorithm::sprayToWorld:
      return "SPRAY_TO_WORLD";
  }
  return "";
}

std::string_view toString(Isolation value) noexcept {
  switch (value) {
    case Isolation::unspecified:
      return "UNSPECIFIED";
    case Isolation::nearest:
      return "NEAREST";
    case Isolation::strict:
      return "STRICT";
  }
  return "";
}

std::string_view ruleProtocolName(Protocol protocol) noexcept {
  return protocol == Protocol::none ? "L3_DEFAULT" : protocol == Protocol::tcp ? "TCP" : "UDP";
}

}  // namespace weir
