// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <vector>

#include "manager/health/probe.h"
#include "weir/control_plane.h"
#include "weir/proxy_plane.h"

namespace weir::manager {

// What must be probed now: for every service with a health check, every backend that is not
// draining, at every address of the service's forwarding rules (H9) or at its own. A backend of
// several services is listed once per health check and address, with all of their names. Backends
// of proxy services are probed at their own addresses, those that the service would connect to
// (X1.3).
std::vector<ProbeTarget> probeTargets(const ControlPlane&, const ProxyPlane&);

}  // namespace weir::manager
