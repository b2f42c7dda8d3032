// SPDX-License-Identifier: GPL-2.0-or-later
//
// The kernel state that weir owns, as a wish: what is diverted to the queues and where marks lead.
// One interface, so that the manager's tests run in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/control_plane.h"
#include "weir/result.h"

namespace weir::manager {

// Everything that should be there. What weir owns and is not in it is removed.
struct KernelWish {
  std::vector<BackendRoute> backends;  // a routing rule and a table for each mark
  std::vector<Prefix> divert;          // destinations whose packets go to the queues
  std::uint32_t fwmarkMask = 0xffff0000;
  std::uint32_t ruleBase = 10000;
  std::uint32_t tableBase = 0x77650000;
  std::uint8_t routeProtocol = 87;
  std::uint16_t queueBase = 8100;
  std::uint16_t queues = 1;
  friend bool operator==(const KernelWish&, const KernelWish&) = default;
};

// A backend whose next hop the kernel cannot reach now (no route, interface down).
struct UnreachableBackend {
  Mark mark;
  Family family;
  std::string reason;
};

class KernelState {
 public:
  virtual ~KernelState() = default;

  enum class Prune : std::uint8_t { keepOld, removeOld };
  // Brings the kernel to the wish by the smallest difference; nothing that stays is ever missing
  // for a moment. keepOld: only adds, for use before snapshots that rely on the new state go out;
  // removeOld: then also removes what the wish no longer has. An error names what the kernel
  // refused; the rest has been applied.
  virtual Status apply(const KernelWish&, Prune) = 0;
  // Backends of the last wish that could not be reached when it was last compared with the kernel,
  // sorted by mark; reconcile() looks them up again. Until then their marked packets are refused
  // as unreachable.
  virtual std::vector<UnreachableBackend> unreachable() const = 0;
  // Compares the kernel with the last wish and repairs it: true when something was repaired.
  virtual Result<bool> reconcile() = 0;
  // Removes everything that weir owns, also what an earlier run left behind.
  virtual Status removeAll() = 0;
};

}  // namespace weir::manager
