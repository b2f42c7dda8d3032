// SPDX-License-Identifier: GPL-2.0-or-later
//
// Is this host fit for a configuration? `weirctl check --host`; the manager need not run.
#pragma once

#include <string>
#include <vector>

#include "weir/model.h"
#include "weir/result.h"

namespace weir::manager {

struct HostFinding {
  enum class Severity : std::uint8_t {
    wrong,   // something needed does not work
    advice,  // works, but worse
    note     // could not be found out
  };
  Severity severity = Severity::wrong;
  std::string what;  // and what breaks, in one or two sentences
  std::string fix;   // a command, or empty
};
std::string_view toString(HostFinding::Severity) noexcept;

// Reads the host's settings, addresses and routes, which needs no privilege; as root also asks the
// links who answers for virtual addresses (for half a second) and tries the kernel out in a
// network namespace of its own. Nothing of the host is changed.
Result<std::vector<HostFinding>> checkHost(const Configuration&);

}  // namespace weir::manager
