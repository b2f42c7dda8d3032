// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>

#include "config/schema.h"
#include "weir/address.h"
#include "weir/packet.h"

namespace weir::cli {

// An address of either family, of whatever kind.
config::Type<Address> anyAddress();

// The value of a `packet` event; reports what is wrong and returns nullopt then.
std::optional<Packet> readPacket(const config::Value&, config::Reader&);

}  // namespace weir::cli
