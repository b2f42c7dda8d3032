// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "base/published.h"
#include "weir/data_plane.h"

namespace weir::engine {

using WorldCell = Published<World>;
using WorldView = PublishedView<World>;

}  // namespace weir::engine
