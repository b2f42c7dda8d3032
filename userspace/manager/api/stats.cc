// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/stats.h"

#include <chrono>
#include <utility>

#include "manager/api/proxy_views.h"
#include "manager/manager.h"

namespace weir::manager {

namespace {
constexpr std::chrono::milliseconds kTimeout{1000};
}

void askForStats(Manager& manager, std::string_view program, std::function<void(Stats)> then) {
  manager.dataPlanes().request(program, R"({"op":"stats"})", kTimeout,
                               [then = std::move(then)](DataPlaneReply reply) {
                                 Stats stats;
                                 if (reply.kind == DataPlaneReply::Kind::answered)
                                   stats.json = Json::parse(reply.text, nullptr, false);
                                 else
                                   stats.error = std::move(reply.text);
                                 then(std::move(stats));
                               });
}

void addLoads(Json& json, const std::string& service, const Stats& proxy) {
  if (proxy.json.is_object())
    addLoads(json["groups"], service, proxy.json);
  else
    json["loadError"] = proxy.error;
}

}  // namespace weir::manager
