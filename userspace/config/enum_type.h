// SPDX-License-Identifier: GPL-2.0-or-later
//
// Enums of the model as types of fields: the words are those of weir/model_words.h.
#pragma once

#include <initializer_list>
#include <vector>

#include "config/types.h"
#include "weir/affinity.h"
#include "weir/model_words.h"

namespace weir::config {

// The values that a field may have, in the order in which messages name them.
template <class E>
Type<E> choiceOf(std::initializer_list<E> values, std::vector<RefusedChoice> refused = {}) {
  std::vector<Choice<E>> choices;
  for (const E value : values) choices.push_back({toString(value), value});
  return choice<E>(std::move(choices), std::move(refused));
}

}  // namespace weir::config
