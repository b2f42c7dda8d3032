// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "manager/health/probe.h"

namespace weir::manager {

// H4, and the weight that the answer carries (P9.1). The answer is read only as far as the verdict
// needs it.
std::unique_ptr<Probe> startHttpProbe(ProbeContext, const ProbeTarget&, ProbeDone);

}  // namespace weir::manager
