// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/model.h"

#include <fmt/format.h>

namespace weir {

std::string Endpoint::identity() const {
  const std::optional<Address>& address = ipAddress ? ipAddress : ipv6Address;
  if (!address) return port ? fmt::format("{}:{}", fqdn, *port) : fqdn;
  if (!port) return address->toString();
  return address->isIpv4() ? fmt::format("{}:{}", address->toString(), *port)
                           : fmt::format("[{}]:{}", address->toString(), *port);
}

std::optional<Address> Endpoint::addressOf(Family family) const {
  return family == Family::ipv4 ? ipAddress : ipv6Address;
}

}  // namespace weir
