// SPDX-License-Identifier: GPL-2.0-or-later
//
// Any bytes as a packet, whole and as the copied part of a longer one, and as a snapshot message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "weir/packet.h"
#include "weir/snapshot.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void checkTuple(const weir::Tuple& tuple) {
  require(tuple.source.family() == tuple.destination.family());
  require(tuple.hasPorts() || (tuple.sourcePort == 0 && tuple.destinationPort == 0));
}

void parse(std::span<const std::uint8_t> bytes, std::size_t trueLength) {
  weir::Packet packet;
  if (weir::parsePacket(bytes, trueLength, packet) != weir::Malformed::none) return;
  checkTuple(packet.tuple);
  if (packet.isIcmpError) checkTuple(packet.quoted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  parse(bytes, size);
  parse(bytes, size + 1400);
  parse(bytes, size + 100000);
  const auto message = weir::decode(bytes);
  if (message.ok()) {
    const auto again = weir::encode(*message);
    require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
  return 0;
}
