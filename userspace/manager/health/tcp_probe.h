// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "manager/health/probe.h"

namespace weir::manager {

// H5: connect; where configured, send a request and compare the beginning of the reply.
std::unique_ptr<Probe> startTcpProbe(ProbeContext, const ProbeTarget&, ProbeDone);

}  // namespace weir::manager
