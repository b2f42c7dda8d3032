// SPDX-License-Identifier: GPL-2.0-or-later
//
// Elements of weir's nf_tables sets as messages, both ways.
#pragma once

#include "manager/kernel/divert.h"
#include "manager/kernel/netlink.h"

namespace weir::manager {

enum class ElementChange : std::uint8_t { add, remove };

// One or more messages for the elements of each set; none for none.
void addElementMessages(Messages&, Family, const DivertElements&, ElementChange);

// All elements of one set, from the dump of NFT_MSG_GETSETELEM. Elements that are not whole ranges
// are left out.
Status readElements(Netlink&, Family, DivertSet, DivertElements& into);

}  // namespace weir::manager
