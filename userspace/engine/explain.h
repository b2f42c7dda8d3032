// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the engine would do with a packet, and why; nothing is changed by asking.
//
//   {"action": "forward", "connection": "new", "reason": "",       as in C3; reason of a drop
//    "matched": {"kind": "forwardingRule", "name": "web-vip"},     or "route"; null when passed
//    "service": "web", "generation": 7, "affinity": "CLIENT_IP", "trackingMode": "PER_SESSION",
//    "tracking": {KEY, "result": "miss", "entry": null},
//    "selection": {KEY, "symmetric": false, "hash": "0x0123456789abcdef", "slot": 711,
//                  "slots": 65537, "endpoint": "10.2.0.11"},
//    "zone": "zone-a",                                             of the client; null: unknown
//    "set": {"rule": "P2.1", "zonalRule": "", "members":
//            [{"endpoint": "10.2.0.11", "group": "web-a", "weight": 1}]},
//    "backend": {"endpoint": "10.2.0.11", "group": "web-a", "mark": "0x00010000"}}
//
// KEY is "tuple" and the attributes that count: "source", "destination", "sourcePort",
// "destinationPort", "protocol" (a number).
// "tracking.result": "hit"; "miss"; "stale": an entry is there but no longer valid; "skipped": the
// packet is a SYN that is new whatever the table says (P1.1), or the set is asked first.
// "tracking.entry" (hit, stale): {"endpoint", "idleSec", "generation", "state"}.
// "selection" is what a new connection would choose (null: the set is empty), also when the table
// decided. A packet that passes has "action" and "connection" only.
#pragma once

#include <nlohmann/json.hpp>

#include "weir/data_plane.h"
#include "weir/result.h"
#include "weir/tracking_table.h"

namespace weir::engine {

// {"src", "dst", "proto": "TCP"|"UDP"|"ICMP"|...|number, "sport", "dport", "flags": ["SYN", ...],
// "fragment": "first"|"later", "inner": {of these src, dst, proto, sport, dport}}; proto is TCP
// unless given. With "inner" the packet is an ICMP error about that one (P8.6). The error names the
// member.
Result<Packet> packetFromJson(const nlohmann::ordered_json&);

// The attributes that a key has, as members of `object`.
void putKey(nlohmann::ordered_json& object, const FlowKey& key);

nlohmann::ordered_json explain(const World&, TrackingTable&, const Packet&, Time now);

}  // namespace weir::engine
