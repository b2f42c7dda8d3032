// SPDX-License-Identifier: GPL-2.0-or-later
//
// Virtual addresses that this host holds, for proxies: on the loopback interface, as a whole, known
// by weir's protocol number (kernels from 5.18 on; on older ones an address that a killed manager
// left is taken for somebody else's). An address that the host holds otherwise is left as it is.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "manager/kernel/netlink.h"
#include "manager/kernel/owned_things.h"
#include "weir/address.h"
#include "weir/result.h"

namespace weir::manager {

struct LocalAddress {
  Address address;
  std::string toString() const { return address.toString(); }
  friend auto operator<=>(const LocalAddress&, const LocalAddress&) = default;
};

struct HostAddresses {
  std::set<LocalAddress> ours;
  std::set<LocalAddress> others;  // on any interface
};
Result<HostAddresses> hostAddresses(Netlink&, std::uint8_t protocol);

class LocalAddresses {
 public:
  explicit LocalAddresses(Netlink& netlink) : netlink_(netlink) {}
  Status addMissing(const std::set<LocalAddress>& wanted, std::uint8_t protocol, ChangeLog&);
  Status removeOthers(std::uint8_t protocol);
  Status removeAll(std::uint8_t protocol);
  // Those that the host holds otherwise, on any interface, as addMissing() last saw them.
  const std::set<LocalAddress>& ofTheHost() const noexcept { return ofTheHost_; }
  // What is there was made under another protocol number.
  void forget() { things_.forget(); }

 private:
  Status change(const std::vector<LocalAddress>&, bool add, std::uint8_t protocol);

  Netlink& netlink_;
  std::set<LocalAddress> ofTheHost_;
  OwnedThings<LocalAddress> things_{"address"};
};

}  // namespace weir::manager
