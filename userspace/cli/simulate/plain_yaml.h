// SPDX-License-Identifier: GPL-2.0-or-later
//
// A reader for the plain part of YAML, fast enough for scenarios of millions of events: block and
// flow collections, one-line plain and quoted scalars, comments. It hands the items of the top
// lists `events` and `expect` over one by one, so that their values need not all be held at once.
//
// It never judges: whatever it does not know for sure (anchors, tags, escapes, block scalars, null
// values, duplicate keys, anything malformed) makes it stop, and config::parse() has the word. What
// it does read, it reads as config::parse() would; a property test holds it to that.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "config/value.h"

namespace weir::cli {

struct PlainDocument {
  config::ValuePtr root;   // the top mapping, `events` and `expect` empty; nullptr: stopped
  config::Mark stoppedAt;  // when stopped
};

// `item` is called with "events" or "expect" and the item, in order.
using ItemSink = std::function<void(std::string_view list, config::ValuePtr item)>;
PlainDocument readPlainYaml(const config::Text& text, const ItemSink& item);

}  // namespace weir::cli
