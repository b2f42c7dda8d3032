// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/utf8.h"

namespace weir::config {
namespace {

constexpr std::size_t kLongestQuote = 60;
constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kLongestList = 60;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Optimal string alignment distance: insertions, deletions, substitutions, and transpositions of
// neighbours, each 1 (Damerau 1964, in the restricted form).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> twoAgo, previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], twoAgo[j - 2] + 1);
    }
    twoAgo = previous;
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "'";
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == kLongestQuote) return out + "...'";
    const Shown first = showFirst(text);
    out += first.text == "\t" ? "\\t" : first.text;
    text.remove_prefix(first.taken);
  }
  return out + "'";
}

std::string join(std::span<const std::string> words, std::string_view last) {
  if (words.size() > kLongestList)
    return fmt::format("{}, ... ({} in all)", fmt::join(words.first(kLongestList), ", "),
                       words.size());
  if (words.empty()) return "";
  if (words.size() == 1) return words.front();
  return fmt::format("{} {} {}", fmt::join(words.first(words.size() - 1), ", "), last,
                     words.back());
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word.size() > kLongestWord) return "";
  const std::string wanted = lower(word);
  std::string best;
  std::size_t bestDistance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const auto [shorter, longer] = std::minmax({candidate.size(), word.size()});
    // A word cut short is one mistake, however much is missing.
    const std::string lowered = lower(candidate);
    const bool isCut = wanted.size() >= 3 && lowered.substr(0, wanted.size()) == wanted;
    if (!isCut && longer - shorter >= bestDistance) continue;
    const std::size_t d = isCut ? 1 : distance(wanted, lowered);
    if (d < bestDistance && d < longer) {
      best = candidate;
      bestDistance = d;
    }
  }
  return best;
}

std::string didYouMean(std::string_view word, std::span<const std::string> candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : fmt::format(" (did you mean '{}'?)", best);
}

std::string count(std::size_t n, std::string_view singular) {
  if (n == 1 || !singular.ends_with('y'))
    return fmt::format("{} {}{}", n, singular, n == 1 ? "" : "s");
  return fmt::format("{} {}ies", n, singular.substr(0, singular.size() - 1));
}

}  // namespace weir::config
