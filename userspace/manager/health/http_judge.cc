// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/http_judge.h"

#include <fmt/format.h>

#include "manager/health/answer.h"
#include "manager/health/load_metrics.h"

namespace weir::manager {

void HttpJudge::field(std::string_view name, std::string_view value) {
  auto* const kept = sameName(name, kWeightHeader)        ? &weight_
                     : sameName(name, kLoadMetricsHeader) ? &metrics_
                                                          : nullptr;
  if (kept == nullptr) return;
  if (*kept)
    (*kept)->append(", ").append(value);
  else
    *kept = std::string(value);
}

void HttpJudge::interim() {
  weight_.reset();
  metrics_.reset();
}

std::optional<Outcome> HttpJudge::headersEnd(int status) {
  if (status != 200) return with(wrongStatus(status));
  if (expected_.empty()) return with(succeeded());
  return std::nullopt;
}

std::optional<Outcome> HttpJudge::body(std::string_view part) {
  body_.append(part.substr(0, kSearchedBody - body_.size()));
  if (body_.size() == kSearchedBody || bodyContains(body_, expected_)) return bodyEnd();
  return std::nullopt;
}

Outcome HttpJudge::bodyEnd() const {
  if (bodyContains(body_, expected_)) return with(succeeded());
  return with(answeredWrongly(fmt::format(
      "the expected response is not in the first {} bytes of the body", kSearchedBody)));
}

Outcome HttpJudge::garbage(std::string reason) {
  Outcome outcome = answeredWrongly(std::move(reason));
  outcome.weight = ReportedWeight{ReportedWeight::Kind::invalid, 0};
  return outcome;
}

Outcome HttpJudge::with(Outcome outcome) const {
  outcome.weight = parseWeight(weight_ ? std::optional<std::string_view>(*weight_) : std::nullopt);
  if (metrics_) outcome.utilization = parseUtilization(*metrics_);
  return outcome;
}

Outcome wrongStatus(int status) {
  return answeredWrongly(fmt::format("status {}, expected 200", status));
}

}  // namespace weir::manager
