// SPDX-License-Identifier: GPL-2.0-or-later
//
// From a server name to the rule of a TLS route (X6.3). The cost of a lookup depends on the labels
// of the name, not on how many names there are (X6.6).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/proxy_model.h"

namespace weir {

class TlsRouting {
 public:
  // The routes of one target proxy, in the order of the configuration, which decides between equal
  // names. They must outlive the object.
  explicit TlsRouting(std::span<const TlsRoute* const> routes);

  struct Match {
    const TlsRoute* route = nullptr;
    const TlsRule* rule = nullptr;
    explicit operator bool() const noexcept { return rule != nullptr; }
  };
  // The exact name, else the wildcard with the most labels; among equal names the first whose rule
  // accepts one of `protocols` (a rule without protocols accepts any). A name whose rules all want
  // other protocols does not match, and a shorter one may. `name`: as ClientHelloParser gives it.
  Match find(std::string_view name, std::span<const std::string> protocols) const;

 private:
  struct Candidate {
    Match match;
    const std::vector<std::string>* protocols;  // empty: any
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  using Names = std::unordered_map<std::string, std::vector<Candidate>, Hash, std::equal_to<>>;

  static Match firstOf(const Names&, std::string_view name, std::span<const std::string> protocols);

  Names exact_;
  Names wildcards_;  // by what follows "*."
};

}  // namespace weir
