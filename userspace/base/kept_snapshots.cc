// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/kept_snapshots.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/given_marks.h"
#include "base/log.h"

namespace weir {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A manager that is there begins to speak within this time, or is taken for one that hangs.
constexpr milliseconds kPatience{1000};
constexpr seconds kStamp{1};
constexpr seconds kRetry{1};

}  // namespace

SnapshotFile::Payloads messagesOf(const World& world, const std::optional<NodeSnapshot>& node) {
  SnapshotFile::Payloads messages;
  if (node) messages.push_back(encode(*node));
  messages.push_back(encode(SyncBegin{}));
  // The rules first: they have the seed that the services' tables are built with.
  messages.push_back(encode(world.rules().snapshot()));
  for (const auto& service : world.services())
    if (service) messages.push_back(encode(service->snapshot()));
  messages.push_back(encode(SyncEnd{}));
  return messages;
}

SnapshotFile::Payloads messagesOf(const ProxyWorld& world, const std::optional<NodeSnapshot>&) {
  SnapshotFile::Payloads messages;
  messages.push_back(encode(SyncBegin{}));
  messages.push_back(encode(world.node()));
  for (const auto& [name, service] : world.services()) messages.push_back(encode(*service));
  messages.push_back(encode(SyncEnd{}));
  return messages;
}

bool KeptSnapshots::isDue(Manager manager, Time now) noexcept {
  if (tried_ || manager == Manager::speaks) return false;
  if (manager == Manager::silent && now - started_ < kPatience) return false;
  tried_ = true;
  if (manager == Manager::silent)
    log::warning("the manager has taken the connection and says nothing; it may hang");
  return true;
}

std::optional<SnapshotFile::Payloads> KeptSnapshots::found(Time now) {
  auto found = file_.read();
  if (!found) {
    tellUnusable(found.error().message);
    return std::nullopt;
  }
  if (!*found) return std::nullopt;
  if (!marksGiven_.empty()) {
    const auto given = readGivenMarks(marksGiven_);
    if (!given) {
      tellUnusable(given.error().message);
      return std::nullopt;
    }
    if (*given > (*found)->heard) {
      tellUnusable("the manager has given marks to other backends since then");
      return std::nullopt;
    }
  }
  heard_ = std::clamp((*found)->heard, Time(), now);
  return std::move((*found)->messages);
}

void KeptSnapshots::tellUnusable(std::string_view reason) {
  heard_.reset();
  log::warning("what an earlier process was told cannot be used; waiting for the manager",
               {{"REASON", std::string(reason)}});
}

void KeptSnapshots::tellRestored(Time now) {
  log::warning("no manager; going on with what an earlier process was told",
               {{"AGE_SEC", std::to_string(age(now).count())}});
}

void KeptSnapshots::note(const Status& written, Time now) {
  if (written) {
    if (std::exchange(notKept_, {}).empty()) return;
    changed_ = true;
    log::info("what the manager says is kept again");
    return;
  }
  // An old file would mislead more than none.
  file_.remove();
  nextAttempt_ = now + kRetry;
  if (notKept_.empty()) {
    changed_ = true;
    log::warning("cannot keep what the manager says; a start without the manager would wait for it",
                 {{"REASON", written.error().message}});
  }
  notKept_ = written.error().message;
}

void KeptSnapshots::stamp(bool isConnected, Time now) {
  managerIsThere_ = isConnected && !standsIn_;
  if (!managerIsThere_ || gone_ || !heard_ || now - *heard_ < kStamp) return;
  heard_ = now;
  file_.stamp(now);
}

seconds KeptSnapshots::age(Time now) const noexcept {
  if (managerIsThere_ || !heard_) return seconds(0);
  return std::chrono::duration_cast<seconds>(now - *heard_);
}

std::string KeptSnapshots::ageInWords(Time now) const {
  if (managerIsThere_) return {};
  return fmt::format(", without the manager for {} s", age(now).count());
}

}  // namespace weir
