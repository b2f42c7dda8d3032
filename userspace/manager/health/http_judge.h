// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "manager/health/outcome.h"

namespace weir::manager {

// What the HTTP family looks at in an answer (H4, H13), whichever version of HTTP it came by. Keeps
// the values of two headers and the first 1,024 bytes of the body.
class HttpJudge {
 public:
  explicit HttpJudge(std::string expectedText) : expected_(std::move(expectedText)) {}

  // A header of the answer. A repeated one counts as a list, as HTTP has it: "5, 6".
  void field(std::string_view name, std::string_view value);
  // The headers were those of an interim answer (1xx): forget them.
  void interim();
  // All headers of the final answer are there. nullopt: the body decides.
  std::optional<Outcome> headersEnd(int status);
  std::optional<Outcome> body(std::string_view part);
  // The body is complete, or there is none.
  Outcome bodyEnd() const;
  // Adds what the headers said of weight and load.
  Outcome with(Outcome) const;
  // What is not the expected protocol at all; the weight is invalid then (P9.2).
  static Outcome garbage(std::string reason);

 private:
  const std::string expected_;
  std::optional<std::string> weight_, metrics_;
  std::string body_;
};

// "status 301, expected 200"
Outcome wrongStatus(int status);

}  // namespace weir::manager
