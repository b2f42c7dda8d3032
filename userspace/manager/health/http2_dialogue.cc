// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/http2_dialogue.h"

#include <fmt/format.h>

namespace weir::manager {

Http2Dialogue::Http2Dialogue(const HttpRequest& request)
    : judge_(request.expectedText),
      stream_({{{":method", "GET"},
                {":scheme", "https"},
                {":authority", request.host},
                {":path", request.path},
                {"user-agent", "weir-health-check"},
                {"accept", "*/*"}},
               std::nullopt},
              *this) {}

void Http2Dialogue::headersEnd(int status) {
  answered_ = true;
  verdict_ = judge_.headersEnd(status);
}

void Http2Dialogue::data(std::string_view part) {
  if (!verdict_) verdict_ = judge_.body(part);
}

std::optional<Outcome> Http2Dialogue::receive(std::string_view bytes) {
  std::string failure = stream_.receive(bytes);
  if (verdict_) return verdict_;
  if (stream_.isComplete() && answered_) return judge_.bodyEnd();
  if (!failure.empty())
    return answered_ ? judge_.with(answeredWrongly(std::move(failure)))
                     : HttpJudge::garbage(std::move(failure));
  return std::nullopt;
}

Outcome Http2Dialogue::ended(End end) {
  if (!answered_) return answeredWrongly(fmt::format("{} without an answer", toString(end)));
  return judge_.with(answeredWrongly(
      fmt::format("{} in the middle of the body, without the expected response", toString(end))));
}

}  // namespace weir::manager
