// SPDX-License-Identifier: GPL-2.0-or-later
//
// Can this kernel do what weir needs? Tried out, not read off: in a network namespace of its own,
// by the same code that does it later. Nothing of the host is touched.
#pragma once

#include <string>
#include <vector>

#include "weir/result.h"

namespace weir::manager {

struct KernelFeature {
  std::string name;
  std::string error;  // empty: it works
  bool needed = true;
};

// An error: no namespace can be made (not root, and user namespaces are not allowed).
Result<std::vector<KernelFeature>> probeKernel();

}  // namespace weir::manager
