// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the kernel tells about changes, by whomever.
#pragma once

#include <linux/netlink.h>

#include <functional>
#include <initializer_list>
#include <vector>

#include "base/fd.h"
#include "weir/result.h"

namespace weir::manager {

class NetlinkEvents {
 public:
  // NETLINK_ROUTE or NETLINK_NETFILTER with its multicast groups, in the network namespace of the
  // calling thread.
  static Result<NetlinkEvents> open(int protocol, std::initializer_list<unsigned> groups);

  int fd() const noexcept { return fd_.get(); }
  // Visits all messages that wait. False: some were lost, so anything may have changed.
  bool take(const std::function<void(const nlmsghdr&)>& visit);

 private:
  explicit NetlinkEvents(Fd fd);
  Fd fd_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace weir::manager
