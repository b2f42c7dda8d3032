// SPDX-License-Identifier: GPL-2.0-or-later
//
// Any bytes, whole and one by one: no crash, the same verdict, and what was understood can be
// written and read again.
#include <cstdlib>
#include <span>

#include "weir/proxy_header.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

weir::ProxyHeaderParser parsed(std::string_view text) {
  weir::ProxyHeaderParser parser;
  parser.feed({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return parser;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Progress = weir::ProxyHeaderParser::Progress;
  const std::span bytes(data, size);
  weir::ProxyHeaderParser whole, single;
  const std::size_t taken = whole.feed(bytes);
  std::size_t takenSingly = 0;
  for (std::size_t i = 0; i < size; ++i) takenSingly += single.feed(bytes.subspan(i, 1));
  require(taken == takenSingly && whole.progress() == single.progress());
  require((whole.progress() == Progress::refused) == !whole.problem().empty());
  if (whole.progress() != Progress::complete || !whole.header().ends) return 0;
  const auto& ends = *whole.header().ends;
  require(parsed(weir::writeProxyV1(ends)).header().ends == ends);
  require(parsed(weir::writeProxyV2(ends, "a.b")).header().ends == ends);
  return 0;
}
