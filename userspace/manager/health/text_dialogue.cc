// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/text_dialogue.h"

#include <fmt/format.h>

#include "manager/health/answer.h"

namespace weir::manager {

std::optional<Outcome> TextDialogue::sent() {
  if (response_.empty()) return succeeded();
  return std::nullopt;
}

std::optional<Outcome> TextDialogue::receive(std::string_view bytes) {
  received_.append(bytes.substr(0, response_.size() - received_.size()));
  switch (matchBeginning(received_, response_)) {
    case Match::yes:
      return succeeded();
    case Match::no:
      return answeredWrongly("the reply does not begin with the expected response");
    case Match::needMore:
      return std::nullopt;
  }
  return std::nullopt;
}

Outcome TextDialogue::ended(End end) {
  return answeredWrongly(fmt::format("{} without the expected answer", toString(end)));
}

}  // namespace weir::manager
