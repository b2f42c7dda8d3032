// SPDX-License-Identifier: GPL-2.0-or-later
//
// The two messages of grpc.health.v1.Health/Check, as bytes. Each has one field, so that no
// generated code is needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::manager {

// A message in gRPC's framing: not compressed, its length, its bytes.
std::string grpcFrame(std::string_view message);

// HealthCheckRequest{service}.
std::string healthCheckRequest(std::string_view service);

// The number of HealthCheckResponse's status in a frame, 0 when the message does not give one. An
// error in words: the bytes are not exactly one frame with such a message.
Result<std::uint64_t> servingStatus(std::string_view frame);

// "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN", "UNKNOWN", else the number.
std::string servingStatusName(std::uint64_t status);
// "5 NOT_FOUND", for what a trailer's grpc-status says.
std::string grpcStatusName(unsigned status);

}  // namespace weir::manager
