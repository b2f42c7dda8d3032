// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which virtual addresses are announced now, and the fallback's share of each backend: pure.
#pragma once

#include <vector>

#include "manager/kernel/kernel_state.h"
#include "weir/control_plane.h"

namespace weir::manager {

// One for each address that a rule announces or a proxy needs; sorted by address.
//
// announce: ROUTE holds only while a rule of the address that says so can be served: its service
// has a healthy backend that new connections go to (a last resort is not enough: elsewhere they
// may find a better one). announce: ARP holds as long as the rule is there: on a link nobody else
// would answer, and a last resort may be right after all.
std::vector<VirtualAddress> announcedAddresses(const ControlPlane&);

// Where packets should go while the engine is away: the sets for clients without a zone of their
// own.
FallbackWish fallbackWish(const ControlPlane&);

// Something is diverted to the engine.
bool needsEngine(const Configuration&);

// Some service's affinity takes ports into account.
bool spreadsByPort(const Configuration&);

}  // namespace weir::manager
