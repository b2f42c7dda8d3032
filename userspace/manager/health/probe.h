// SPDX-License-Identifier: GPL-2.0-or-later
//
// One probe of one target: connect, ask, look at the answer. A probe does not end itself at its
// check's timeout and knows no thresholds; its owner destroys it when its time is over.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/health/outcome.h"
#include "manager/health/resumption.h"
#include "manager/health/tls.h"
#include "weir/address.h"
#include "weir/control_plane.h"
#include "weir/model.h"

namespace weir::manager {

struct ProbeTarget {
  EndpointRef endpoint;
  std::shared_ptr<const HealthCheck> check;
  Address address;  // the virtual address, or the endpoint's own (H9)
  std::uint16_t port = 0;
  // The mark that delivers the probe over the backend's own next hop; 0: routed as usual. The
  // endpoint's own address needs none.
  Mark mark;
  // The backend's mark, whether or not the probe carries it.
  Mark backend;
  // The services for which it is probed, sorted by name.
  std::vector<std::string> services{};
  // "10.9.9.9:80" or "[fd00::9]:80".
  std::string destination() const;
};

// Running until it calls `done`, once; destroying it cancels it, and `done` is not called any more.
class Probe {
 public:
  virtual ~Probe() = default;
  // How long the connection took to come up; nullopt: it has not, so far.
  virtual std::optional<std::chrono::microseconds> connectTime() const = 0;
};
using ProbeDone = std::function<void(Outcome)>;

struct ProbeContext {
  boost::asio::io_context& io;
  const TlsContext& tls;
  // What earlier probes of the same target left for its TLS handshakes; empty: all are full ones.
  std::shared_ptr<Resumption> resumption{};
};

std::string_view toString(HealthCheck::Type) noexcept;  // as in the configuration

// Do answers to checks of this type carry a weight (P9.1)?
bool carriesWeight(HealthCheck::Type) noexcept;

// The outcome of a probe that is still running when its time is over.
Outcome timedOut(const Probe&, const HealthCheck&);

// Starts a probe. `done` is called from the event loop, never from here. The
// callback may destroy the probe.
std::unique_ptr<Probe> startProbe(ProbeContext, const ProbeTarget&, ProbeDone done);

}  // namespace weir::manager
