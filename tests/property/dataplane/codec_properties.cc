// SPDX-License-Identifier: GPL-2.0-or-later
//
// Any consistent message survives the wire; any bytes are refused or have one form.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "property/dataplane/generators.h"

namespace weir {
namespace {

using namespace test;

RC_GTEST_PROP(Codec, AnyServiceComesBack, ()) {
  const SnapshotMessage message = *anyService();
  const auto decoded = decode(encode(message));
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == message);
}

RC_GTEST_PROP(Codec, AnyRulesComeBack, ()) {
  const SnapshotMessage message = *anyRules();
  const auto decoded = decode(encode(message));
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == message);
}

// Bytes that begin like a message reach deeper than plain noise.
RC_GTEST_PROP(Codec, AnyBytesAreRefusedOrHaveOneForm, ()) {
  Bytes bytes{1, 0, *rc::gen::inRange<std::uint8_t>(0, 6)};
  append(bytes,
         *rc::gen::container<Bytes>(rc::gen::weightedOneOf<std::uint8_t>(
             {{3, rc::gen::just<std::uint8_t>(0)}, {1, rc::gen::arbitrary<std::uint8_t>()}})));
  const auto decoded = decode(bytes);
  if (decoded.ok()) RC_ASSERT(encode(*decoded) == bytes);
}

RC_GTEST_PROP(Codec, ADamagedMessageIsRefusedOrHasOneForm, ()) {
  Bytes bytes = *rc::gen::oneOf(rc::gen::map(anyService(), [](auto s) { return encode(s); }),
                                rc::gen::map(anyRules(), [](auto r) { return encode(r); }));
  const auto at = *rc::gen::inRange<std::size_t>(2, bytes.size());
  bytes[at] = *rc::gen::arbitrary<std::uint8_t>();
  const auto decoded = decode(bytes);
  if (decoded.ok()) RC_ASSERT(encode(*decoded) == bytes);
}

RC_GTEST_PROP(AddressText, ComesBack, ()) {
  const Address address = *anyAddress();
  RC_ASSERT(Address::parse(address.toString()) == address);
}

RC_GTEST_PROP(PrefixText, ComesBackAndContainsWhatItWasMadeOf, ()) {
  const Address address = *anyAddress();
  const auto length = *rc::gen::inRange(0u, address.isIpv4() ? 33u : 129u);
  const Prefix prefix(address, length);
  RC_ASSERT(prefix.contains(address));
  RC_ASSERT(Prefix::parse(prefix.toString()) == prefix);
}

}  // namespace
}  // namespace weir
