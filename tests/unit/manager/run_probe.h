// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "manager/health/probe.h"

namespace weir::manager {

// Of one probe of the loopback address. Nullopt: none within `limit`; the probe is cancelled then,
// as its owner would do.
inline std::optional<Outcome> runProbe(boost::asio::io_context& io, const ProbeContext& context,
                                       const HealthCheck& check, std::uint16_t port,
                                       std::chrono::milliseconds limit) {
  ProbeTarget target;
  target.check = std::make_shared<const HealthCheck>(check);
  target.address = Address::ipv4(0x7f000001);
  target.port = port;
  std::optional<Outcome> result;
  const auto running = startProbe(context, target, [&](Outcome outcome) { result = outcome; });
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!result && std::chrono::steady_clock::now() < deadline) {
    io.restart();
    io.run_one_for(std::chrono::milliseconds(10));
  }
  return result;
}

}  // namespace weir::manager
