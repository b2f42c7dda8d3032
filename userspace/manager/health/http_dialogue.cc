// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/http_dialogue.h"

#include <fmt/format.h>

#include <charconv>

#include "manager/health/answer.h"

namespace weir::manager {

namespace {

constexpr std::string_view kVersion = "HTTP/1.";

// Could `text` still become the beginning of an answer? Tells garbage from the first byte on.
bool mayBeHttp(std::string_view text) noexcept {
  return matchBeginning(text, kVersion) != Match::no;
}

bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }

// The status of "HTTP/1.1 200 OK"; 0: it is no such line.
int statusOf(std::string_view line) noexcept {
  constexpr std::size_t kDigits = kVersion.size() + 2;
  if (line.size() < kDigits + 3 || !isDigit(line[kVersion.size()]) || line[kDigits - 1] != ' ')
    return 0;
  if (line.size() > kDigits + 3 && line[kDigits + 3] != ' ') return 0;
  int status = 0;
  const auto [end, error] =
      std::from_chars(line.data() + kDigits, line.data() + kDigits + 3, status);
  return error == std::errc{} && end == line.data() + kDigits + 3 && status >= 100 ? status : 0;
}

}  // namespace

HttpDialogue::HttpDialogue(const HttpRequest& request)
    : request_(fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: weir-health-check\r\n"
                           "Accept: */*\r\nConnection: close\r\n\r\n",
                           request.path, request.host)),
      judge_(request.expectedText) {}

std::optional<Outcome> HttpDialogue::receive(std::string_view bytes) {
  while (at_ != At::body) {
    const auto newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    headerBytes_ += part.size() + 1;
    if (headerBytes_ > kLongestHeaders)
      return HttpJudge::garbage(fmt::format("headers of more than {} bytes", kLongestHeaders));
    line_.append(part);
    if (at_ == At::status && !mayBeHttp(line_)) return HttpJudge::garbage("the answer is not HTTP");
    if (newline == std::string_view::npos) return std::nullopt;
    bytes.remove_prefix(newline + 1);
    std::string line = std::exchange(line_, {});
    if (line.ends_with('\r')) line.pop_back();
    if (auto verdict = takeLine(line)) return verdict;
  }
  return takeBody(bytes);
}

std::optional<Outcome> HttpDialogue::takeLine(std::string_view line) {
  if (at_ == At::status) return takeStatus(line);
  return line.empty() ? endHeaders() : takeField(line);
}

std::optional<Outcome> HttpDialogue::takeStatus(std::string_view line) {
  status_ = statusOf(line);
  if (status_ == 0) return HttpJudge::garbage("the answer is not HTTP");
  at_ = At::headers;
  return std::nullopt;
}

std::optional<Outcome> HttpDialogue::takeField(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos || line.front() == ' ' || line.front() == '\t')
    return HttpJudge::garbage(fmt::format("malformed header '{}'", quotable(line)));
  const std::string_view name = trimmed(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  judge_.field(name, value);
  if (sameName(name, "Transfer-Encoding")) {
    // The last coding frames the body, and an answer to our request may have no other.
    if (!sameName(value, "chunked"))
      return HttpJudge::garbage(fmt::format("unknown transfer coding '{}'", quotable(value)));
    chunked_ = true;
  } else if (sameName(name, "Content-Length")) {
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (error != std::errc{} || end != value.data() + value.size() ||
        length_.value_or(length) != length)
      return HttpJudge::garbage(fmt::format("malformed Content-Length '{}'", quotable(value)));
    length_ = length;
  }
  return std::nullopt;
}

std::optional<Outcome> HttpDialogue::endHeaders() {
  if (status_ < 200 && status_ != 101) {  // the final answer is still to come
    judge_.interim();
    at_ = At::status;
    chunked_ = false;
    length_.reset();
    return std::nullopt;
  }
  at_ = At::body;
  if (chunked_)
    body_ = HttpBody::chunked();
  else if (length_)
    body_ = HttpBody::ofLength(*length_);
  return judge_.headersEnd(status_);
}

std::optional<Outcome> HttpDialogue::takeBody(std::string_view bytes) {
  std::string decoded;
  const HttpBody::State state = body_.feed(bytes, decoded);
  if (auto verdict = judge_.body(decoded)) return verdict;
  switch (state) {
    case HttpBody::State::more:
      return std::nullopt;
    case HttpBody::State::complete:
      return judge_.bodyEnd();
    case HttpBody::State::malformed:
      return HttpJudge::garbage("malformed chunk in the body");
  }
  return std::nullopt;
}

Outcome HttpDialogue::ended(End end) {
  if (at_ == At::body) {
    if (end == End::closed && body_.endsWithConnection()) return judge_.bodyEnd();
    return judge_.with(answeredWrongly(
        fmt::format("{} in the middle of the body, without the expected response", toString(end))));
  }
  if (headerBytes_ == 0) return answeredWrongly(fmt::format("{} without an answer", toString(end)));
  return HttpJudge::garbage(fmt::format("{} in the middle of the headers", toString(end)));
}

}  // namespace weir::manager
