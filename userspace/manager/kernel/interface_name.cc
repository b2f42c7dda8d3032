// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/interface_name.h"

#include <fmt/format.h>
#include <net/if.h>

namespace weir::manager {

std::string interfaceName(unsigned index) {
  char name[IF_NAMESIZE];
  if (::if_indextoname(index, name) == nullptr) return fmt::format("interface {}", index);
  return name;
}

}  // namespace weir::manager
