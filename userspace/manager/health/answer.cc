// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/answer.h"

#include <algorithm>
#include <charconv>

namespace weir::manager {

namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// How much a state weighs when states are combined; the highest wins.
int severity(Health health) noexcept {
  switch (health) {
    case Health::healthy:
      return 0;
    case Health::draining:
    case Health::unknown:
      return 1;
    case Health::timeout:
      return 2;
    case Health::unhealthy:
      return 3;
  }
  return 3;
}

int severity(ReportedWeight::Kind kind) noexcept {
  switch (kind) {
    case ReportedWeight::Kind::unavailable:
      return 0;
    case ReportedWeight::Kind::value:
      return 1;
    case ReportedWeight::Kind::missing:
      return 2;
    case ReportedWeight::Kind::invalid:
      return 3;
  }
  return 3;
}

}  // namespace

Match matchBeginning(std::string_view received, std::string_view expected) noexcept {
  const std::size_t comparable = std::min(received.size(), expected.size());
  if (received.substr(0, comparable) != expected.substr(0, comparable)) return Match::no;
  return comparable == expected.size() ? Match::yes : Match::needMore;
}

bool bodyContains(std::string_view body, std::string_view expected) noexcept {
  return body.substr(0, kSearchedBody).find(expected) != std::string_view::npos;
}

ReportedWeight parseWeight(std::optional<std::string_view> headerValue) noexcept {
  if (!headerValue) return {ReportedWeight::Kind::missing, 0};
  const std::string_view text = trimmed(*headerValue);
  std::uint32_t weight = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  if (error != std::errc{} || end != text.data() + text.size() || weight > 1000)
    return {ReportedWeight::Kind::invalid, 0};
  return {ReportedWeight::Kind::value, weight};
}

std::string_view trimmed(std::string_view text) noexcept {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool sameName(std::string_view a, std::string_view b) noexcept {
  const auto same = [](char x, char y) { return lower(x) == lower(y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

std::string quotable(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string quoted(text.substr(0, kLongest));
  for (char& c : quoted)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > kLongest) quoted += "...";
  return quoted;
}

Health combineHealth(std::span<const Health> states) noexcept {
  return *std::max_element(states.begin(), states.end(),
                           [](Health a, Health b) { return severity(a) < severity(b); });
}

ReportedWeight combineWeights(std::span<const ReportedWeight> weights) noexcept {
  return *std::max_element(weights.begin(), weights.end(),
                           [](const ReportedWeight& a, const ReportedWeight& b) {
                             if (a.kind != b.kind) return severity(a.kind) < severity(b.kind);
                             return a.value > b.value;
                           });
}

}  // namespace weir::manager
