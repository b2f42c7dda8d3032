// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "weir/affinity.h"

namespace {

using namespace weir;

Tuple anyTuple() {
  const bool ipv6 = *rc::gen::arbitrary<bool>();
  const auto address = [&] {
    return ipv6 ? Address::ipv6(*rc::gen::inRange<std::uint64_t>(1, ~std::uint64_t{0}),
                                *rc::gen::arbitrary<std::uint64_t>())
                : Address::ipv4(*rc::gen::arbitrary<std::uint32_t>());
  };
  Tuple tuple;
  tuple.source = address();
  tuple.destination = address();
  tuple.protocol = static_cast<Protocol>(*rc::gen::arbitrary<std::uint8_t>());
  if (tuple.protocol == Protocol::tcp || tuple.protocol == Protocol::udp) {
    tuple.fragment = *rc::gen::element(Fragment::none, Fragment::first, Fragment::later);
  }
  if (tuple.hasPorts()) {
    tuple.sourcePort = *rc::gen::arbitrary<std::uint16_t>();
    tuple.destinationPort = *rc::gen::arbitrary<std::uint16_t>();
  }
  return tuple;
}

TupleKind anyKind() {
  return *rc::gen::element(TupleKind::five, TupleKind::three, TupleKind::two, TupleKind::one);
}

RC_GTEST_PROP(Affinity, N6_PacketAndReplyHaveTheSameSymmetricKey, ()) {
  const Tuple tuple = anyTuple();
  const TupleKind kind = *rc::gen::element(TupleKind::five, TupleKind::three, TupleKind::two);
  const FlowKey key = makeSymmetricKey(kind, tuple);
  RC_ASSERT(key == makeSymmetricKey(kind, tuple.reversed()));
  RC_ASSERT(key == makeKey(kind, tuple) || key == makeKey(kind, tuple.reversed()));
}

RC_GTEST_PROP(Affinity, P4_1_SameAttributesHaveTheSameHashWhateverElseDiffers, ()) {
  const Tuple one = anyTuple();
  Tuple other = one;
  other.sourcePort = *rc::gen::arbitrary<std::uint16_t>();
  other.destinationPort = *rc::gen::arbitrary<std::uint16_t>();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  for (const TupleKind kind : {TupleKind::three, TupleKind::two, TupleKind::one}) {
    RC_ASSERT(hashKey(makeKey(kind, one), seed) == hashKey(makeKey(kind, other), seed));
  }
  other.destination = one.source;
  other.protocol = static_cast<Protocol>(*rc::gen::arbitrary<std::uint8_t>());
  RC_ASSERT(hashKey(makeKey(TupleKind::one, one), seed) ==
            hashKey(makeKey(TupleKind::one, other), seed));
}

RC_GTEST_PROP(Affinity, P4_3_DifferentKeysAndSeedsHaveDifferentHashes, ()) {
  const FlowKey one = makeKey(anyKind(), anyTuple());
  const FlowKey other = makeKey(anyKind(), anyTuple());
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  if (one != other) RC_ASSERT(hashKey(one, seed) != hashKey(other, seed));
  RC_ASSERT(hashKey(one, seed) != hashKey(one, seed + 1));
}

}  // namespace
