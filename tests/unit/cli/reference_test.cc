// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/reference.h"

#include <gtest/gtest.h>

#include <fstream>

namespace weir::cli {
namespace {

// docs/weirctl.md ends with what `weirctl __reference` prints.
TEST(Reference, TheDocumentHasEveryCommandAndFlag) {
  std::ifstream in(WEIR_SOURCE_DIR "/docs/weirctl.md");
  const std::string document((std::istreambuf_iterator<char>(in)), {});
  const std::size_t at = document.find("## Flags of every command\n");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(document.substr(at), reference())
      << "docs/weirctl.md is old: replace its end by the output of weirctl __reference";
}

}  // namespace
}  // namespace weir::cli
