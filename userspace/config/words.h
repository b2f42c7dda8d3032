// SPDX-License-Identifier: GPL-2.0-or-later
//
// The words of messages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// 'text', control characters escaped and long text cut: safe on a terminal, one line.
std::string quote(std::string_view text);

// "a, b or c"; long lists are cut. `last` stands before the last one.
std::string join(std::span<const std::string> words, std::string_view last = "or");

// The candidate that `word` is a likely misspelling of (edit distance with transpositions, letter
// case ignored, at most one error in three letters) or the beginning of; empty: none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
// " (did you mean 'x'?)", or nothing.
std::string didYouMean(std::string_view word, std::span<const std::string> candidates);

// "1 group", "2 groups", "2 policies".
std::string count(std::size_t n, std::string_view singular);

}  // namespace weir::config
