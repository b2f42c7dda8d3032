// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/connection_limit.h"

#include <fmt/format.h>

namespace weir::manager {

std::string ConnectionLimit::refusal(const Client& client) const {
  const auto found = ofUser_.find(client.user);
  const std::size_t own = found == ofUser_.end() ? 0 : found->second;
  const std::size_t mostOwn = client.access == Access::full ? kMostOfUser : kMostOfViewer;
  if (client.user && !client.isRoot() && own >= mostOwn)
    return fmt::format(
        "you have {} connections to weir-manager open, the most that one user may have; close "
        "some",
        own);
  const std::size_t most = client.isRoot() || !client.user ? kMost : kMost - kReservedForRoot;
  const bool viewersFull = client.user && client.access != Access::full &&
                           viewers_ >= kMost - kReservedForRoot - kReservedForFull;
  if (all_ >= most || viewersFull)
    return fmt::format(
        "weir-manager has {} connections open, as many as it takes; try again in a moment", all_);
  return {};
}

void ConnectionLimit::add(const Client& client) {
  ++ofUser_[client.user];
  ++all_;
  if (client.access != Access::full) ++viewers_;
}

void ConnectionLimit::remove(const Client& client) noexcept {
  const auto found = ofUser_.find(client.user);
  if (found == ofUser_.end()) return;
  if (--found->second == 0) ofUser_.erase(found);
  --all_;
  if (client.access != Access::full) --viewers_;
}

}  // namespace weir::manager
