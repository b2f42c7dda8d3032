// SPDX-License-Identifier: GPL-2.0-or-later
//
// From decisions to kernel state: pure.
#pragma once

#include "manager/kernel/kernel_state.h"
#include "weir/control_plane.h"

namespace weir::manager {

// The routes[] as the kernel state knows them.
std::vector<DivertedRoute> divertedRoutes(const Configuration&);

// What the control plane's snapshots rely on: a route for every mark, and every virtual address and
// destination range diverted to the queues. Sorted, so that equal decisions give equal wishes.
KernelWish wishOf(const ControlPlane&);

// Everything that either asks for; where they differ about a mark, and in the numbers, `wanted`
// holds. For the time between a change and its confirmation by all data planes.
KernelWish unionOf(const KernelWish& old, const KernelWish& wanted);

}  // namespace weir::manager
