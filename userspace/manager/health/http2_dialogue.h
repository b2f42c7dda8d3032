// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "manager/health/dialogue.h"
#include "manager/health/http2_stream.h"
#include "manager/health/http_dialogue.h"

namespace weir::manager {

// HTTP2: the GET of HttpDialogue by HTTP/2 (H4).
class Http2Dialogue : public Dialogue, private Http2Stream::Listener {
 public:
  explicit Http2Dialogue(const HttpRequest&);

  std::string takeOutput() override { return stream_.takeOutput(); }
  std::optional<Outcome> receive(std::string_view) override;
  Outcome ended(End) override;

 private:
  void field(std::string_view name, std::string_view value) override { judge_.field(name, value); }
  void headersEnd(int status) override;
  void data(std::string_view) override;

  HttpJudge judge_;
  std::optional<Outcome> verdict_;
  bool answered_ = false;
  Http2Stream stream_;
};

}  // namespace weir::manager
