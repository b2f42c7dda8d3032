// SPDX-License-Identifier: GPL-2.0-or-later
//
// Any bytes, whole and cut into pieces: no crash, the same verdict, and a name that is one. Every
// input is tried as it is, and as the extensions of a hello that is right around them, so that the
// fuzzer gets past the lengths in front.
#include <cstdlib>
#include <span>

#include "support/client_hello_builder.h"
#include "weir/client_hello.h"
#include "weir/dns_name.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::span<const std::uint8_t> bytes) {
  using Progress = weir::ClientHelloParser::Progress;
  weir::ClientHelloParser whole;
  whole.feed(bytes);

  // Pieces whose sizes come from the bytes themselves.
  weir::ClientHelloParser pieces;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = std::min<std::size_t>(1 + bytes[at] % 7, bytes.size() - at);
    pieces.feed(bytes.subspan(at, length));
    at += length;
  }
  require(whole.progress() == pieces.progress() && whole.problem() == pieces.problem());
  require((whole.progress() == Progress::refused) == (whole.problem() != weir::HelloProblem::none));
  if (whole.progress() != Progress::complete) return;
  require(whole.serverName() == pieces.serverName() && whole.protocols() == pieces.protocols());
  require(weir::normalizeDnsName(whole.serverName()) == whole.serverName());
  for (const auto& protocol : whole.protocols()) require(!protocol.empty());
}

weir::test::Bytes helloAround(std::span<const std::uint8_t> extensions) {
  using namespace weir::test;
  Bytes body{3, 3};
  body.insert(body.end(), 32, 0x5a);
  append(body, {0, 0, 2, 0x13, 1, 1, 0});
  append(body, counted(2, Bytes(extensions.begin(), extensions.end())));
  Bytes message{1};
  append(message, counted(3, body));
  return records(message, 400);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  check(bytes);
  if (size <= 0xffff) check(helloAround(bytes));
  return 0;
}
