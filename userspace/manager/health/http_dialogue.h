// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "manager/health/dialogue.h"
#include "manager/health/http_body.h"
#include "manager/health/http_judge.h"

namespace weir::manager {

struct HttpRequest {
  std::string path;
  std::string host;
  std::string expectedText;  // empty: the body is not looked at
};

// HTTP and HTTPS: a GET by HTTP/1.1, and its answer by HTTP/1.0 or 1.1. As liberal as browsers are
// about the ends of lines and a missing reason phrase, strict about what carries meaning.
class HttpDialogue : public Dialogue {
 public:
  // Status line and headers, of the final answer or an interim one.
  static constexpr std::size_t kLongestHeaders = 65'536;

  explicit HttpDialogue(const HttpRequest&);

  std::string takeOutput() override { return std::exchange(request_, {}); }
  std::optional<Outcome> receive(std::string_view) override;
  Outcome ended(End) override;

 private:
  enum class At : std::uint8_t { status, headers, body };
  std::optional<Outcome> takeLine(std::string_view line);
  std::optional<Outcome> takeStatus(std::string_view line);
  std::optional<Outcome> takeField(std::string_view line);
  std::optional<Outcome> endHeaders();
  std::optional<Outcome> takeBody(std::string_view bytes);

  std::string request_;
  HttpJudge judge_;
  At at_ = At::status;
  std::string line_;  // the beginning of a line whose end has not come yet
  std::size_t headerBytes_ = 0;
  int status_ = 0;
  bool chunked_ = false;
  std::optional<std::uint64_t> length_;
  HttpBody body_ = HttpBody::untilClose();
};

}  // namespace weir::manager
