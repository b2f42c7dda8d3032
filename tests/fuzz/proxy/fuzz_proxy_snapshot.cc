// SPDX-License-Identifier: GPL-2.0-or-later
//
// Bytes as a message of the proxy's: refused, or of one form.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "weir/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::uint8_t> bytes{static_cast<std::uint8_t>(weir::kSnapshotVersion), 0,
                                  static_cast<std::uint8_t>(6 + data[0] % 4)};
  bytes.insert(bytes.end(), data + 1, data + size);
  const auto decoded = weir::decode(bytes);
  if (decoded.ok() && weir::encode(*decoded) != bytes) std::abort();
  return 0;
}
