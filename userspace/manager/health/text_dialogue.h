// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "manager/health/dialogue.h"

namespace weir::manager {

// H5, for TCP and SSL: a request and the beginning of the reply, both optional. Keeps as many bytes
// of the reply as `response` has.
class TextDialogue : public Dialogue {
 public:
  TextDialogue(std::string request, std::string response)
      : request_(std::move(request)), response_(std::move(response)) {}

  std::string takeOutput() override { return std::exchange(request_, {}); }
  std::optional<Outcome> sent() override;
  std::optional<Outcome> receive(std::string_view) override;
  Outcome ended(End) override;

 private:
  std::string request_;
  const std::string response_;
  std::string received_;
};

}  // namespace weir::manager
