// SPDX-License-Identifier: GPL-2.0-or-later
//
// The frame of nf_tables messages.
#pragma once

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>

#include <string>
#include <utility>

#include "manager/kernel/attributes.h"
#include "manager/kernel/netlink.h"

namespace weir::manager {

// `type` is one of NFT_MSG_*; flags in addition to NLM_F_REQUEST.
template <class Fill>
void addNftMessage(Messages& messages, std::string what, int type, Family family, unsigned flags,
                   std::size_t room, Fill fill) {
  messages.add(std::move(what), static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type),
               static_cast<std::uint16_t>(NLM_F_REQUEST | flags), room, [&](nlmsghdr* message) {
                 auto* generic =
                     static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
                 generic->nfgen_family = addressFamily(family);
                 generic->version = NFNETLINK_V0;
                 generic->res_id = 0;
                 fill(message);
               });
}

}  // namespace weir::manager
