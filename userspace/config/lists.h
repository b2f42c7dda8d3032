// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "config/draft.h"
#include "config/schema.h"
#include "config/words.h"

namespace weir::config {

// Reports items of a list that an earlier one is equal to. `name` gives the text of an item; items
// whose text is empty were not read.
template <class V, class Name>
void refuseTwice(const Value& value, const std::string& path, const std::vector<V>& items,
                 Name name, Reader& reader) {
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string text = name(items[i]);
    if (!text.empty() && !seen.insert(text).second)
      reader.error(locate(value, fmt::format("{}.{}", path, i)),
                   fmt::format("{} is listed twice", quote(text)));
  }
}

}  // namespace weir::config
