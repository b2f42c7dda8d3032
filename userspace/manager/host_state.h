// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the manager must know of the host after it was killed, beside the control plane's state and
// in the same file: written as a whole, both are of one moment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir::manager {

struct HostState {
  std::map<std::string, std::string> sysctls;  // path below /proc/sys -> value before weir's
  bool fallback = false;                       // it is open
  friend bool operator==(const HostState&, const HostState&) = default;
};

// The control plane's state (a JSON object) with the proxy plane's and the host's in it.
std::string withHostState(std::string_view controlPlane, std::string_view proxyPlane,
                          const HostState&);
// The proxy plane's, as it was saved; nullopt: it is not there.
std::optional<std::string> proxyStateIn(std::string_view text);
// Of such a text; what is not there or not readable is as in a fresh start.
HostState hostStateIn(std::string_view text);

}  // namespace weir::manager
