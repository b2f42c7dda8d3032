// SPDX-License-Identifier: GPL-2.0-or-later
//
// What data planes count, asked for by the API.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "manager/api/value_json.h"

namespace weir::manager {

class Manager;

struct Stats {
  Json json;          // null: there is no answer
  std::string error;  // then why, fit for an operator
};
// `then` is called once, never from inside; after a second at the latest, so that a program that
// hangs does not keep an answer from what the others know.
void askForStats(Manager&, std::string_view program, std::function<void(Stats)> then);

// Adds loads to "groups" in `json` (addLoads()), or says in "loadError" why there are none.
void addLoads(Json& json, const std::string& service, const Stats& proxy);

}  // namespace weir::manager
