// SPDX-License-Identifier: GPL-2.0-or-later
//
// The words of the model's enums as files, messages and the API have them. Those of other headers
// (SessionAffinity, TrackingMode, Health) stand beside their enums.
#pragma once

#include <string_view>

#include "weir/model.h"

namespace weir {

std::string_view toString(LoadBalancingScheme) noexcept;
std::string_view toString(ServiceProtocol) noexcept;
std::string_view toString(PersistOnUnhealthy) noexcept;
std::string_view toString(Spillover) noexcept;
std::string_view toString(NetworkEndpointGroup::Type) noexcept;
std::string_view toString(Announce) noexcept;
std::string_view toString(FlowCache) noexcept;
std::string_view toString(LogLevel) noexcept;
std::string_view toString(LocalityPolicy) noexcept;
std::string_view toString(BalancingMode) noexcept;
std::string_view toString(Preference) noexcept;
std::string_view toString(AddressSelection) noexcept;
std::string_view toString(TargetTcpProxy::ProxyHeader) noexcept;
std::string_view toString(LbAlgorithm) noexcept;
std::string_view toString(Isolation) noexcept;

// A forwarding rule's IPProtocol: TCP, UDP, or L3_DEFAULT for Protocol::none.
std::string_view ruleProtocolName(Protocol) noexcept;

}  // namespace weir
