// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/snapshot_file.h"
#include "base/snapshot_intake.h"
#include "weir/data_plane.h"
#include "weir/proxy_world.h"

namespace weir {

// The messages of a full synchronisation that make this world, encoded.
SnapshotFile::Payloads messagesOf(const World&, const std::optional<NodeSnapshot>&);
SnapshotFile::Payloads messagesOf(const ProxyWorld&, const std::optional<NodeSnapshot>&);

// Keeps in a file what a data plane was told, and finds there what its predecessor was told, for a
// start without the manager. A manager that is there is waited for, but not for long: what it says
// is newer. Errors of the file are told in the log once, and writing is tried again; they change
// nothing else.
class KeptSnapshots {
 public:
  // `marksGiven`: a file of given_marks.h; what a predecessor was told before the time that stands
  // there is not gone on with. Empty: marks mean nothing to this data plane.
  KeptSnapshots(std::filesystem::path path, std::filesystem::path marksGiven, Time started)
      : file_(std::move(path)), marksGiven_(std::move(marksGiven)), started_(started) {}

  enum class Manager { away, silent, speaks };
  // Is it time to go on with what a predecessor has left? Once true. Never while the manager
  // speaks: what it has said so far would be lost.
  bool isDue(Manager manager, Time now) noexcept;
  template <class World>
  static Manager managerOf(bool isConnected, const SnapshotIntake<World>& intake) noexcept {
    if (!isConnected) return Manager::away;
    return intake.hasHeardAnything() ? Manager::speaks : Manager::silent;
  }
  // What the predecessor had been told, as the next world; nullopt: there is nothing to go on with.
  template <class World>
  std::optional<typename SnapshotIntake<World>::Taken> restore(SnapshotIntake<World>&, Time now);

  // After take(), and before anybody is told that it has taken effect.
  template <class World>
  void keep(const SnapshotIntake<World>&, const typename SnapshotIntake<World>::Taken&,
            const World& newest, Time now);

  // What was restored stands in for the manager, which has not told everything since: it may be
  // connected and hang.
  bool standsIn() const noexcept { return standsIn_; }

  // Often. What could not be written is tried again every second while the manager is there. True:
  // notKept() has become empty, or is so no longer, since the last time.
  template <class World>
  bool tick(bool isConnected, const SnapshotIntake<World>&, const World& newest, Time now);
  // Why what the manager says is not kept; empty: it is.
  const std::string& notKept() const noexcept { return notKept_; }
  // How long the manager has not been heard; 0 s while it is there, which it is once it is
  // connected and nothing stands in for it.
  std::chrono::seconds age(Time now) const noexcept;
  // ", without the manager for 12 s", or nothing while it is there.
  std::string ageInWords(Time now) const;

  // A successor speaks for the data plane.
  void leave() noexcept { gone_ = true, file_.leave(); }
  // The data plane is stopped on purpose: whoever starts it again is to ask the manager.
  void remove() noexcept { gone_ = true, file_.remove(); }

 private:
  std::optional<SnapshotFile::Payloads> found(Time now);
  void tellUnusable(std::string_view reason);
  void tellRestored(Time now);
  void note(const Status& written, Time now);
  void stamp(bool isConnected, Time now);

  SnapshotFile file_;
  std::filesystem::path marksGiven_;
  Time started_;
  bool tried_ = false;
  bool gone_ = false;
  bool standsIn_ = false;
  bool managerIsThere_ = false;
  std::optional<Time> heard_;  // when the manager was last there
  std::string notKept_;
  bool changed_ = false;  // whether there is a reason
  Time nextAttempt_{};    // to keep it after all
};

template <class World>
std::optional<typename SnapshotIntake<World>::Taken> KeptSnapshots::restore(
    SnapshotIntake<World>& intake, Time now) {
  const auto messages = found(now);
  if (!messages) return std::nullopt;
  std::vector<SnapshotFile::Payload> payloads(messages->begin(), messages->end());
  SnapshotIntake<World> fresh;
  auto taken = fresh.take(payloads);
  if (!taken.refused.empty()) {
    tellUnusable(taken.refused.front());
    return std::nullopt;
  }
  if (taken.world == nullptr || !fresh.isComplete()) {
    tellUnusable("it is not whole");
    return std::nullopt;
  }
  intake = std::move(fresh);
  // The bytes that they point to end here.
  taken.accepted.clear();
  tellRestored(now);
  standsIn_ = true;
  return taken;
}

template <class World>
void KeptSnapshots::keep(const SnapshotIntake<World>& intake,
                         const typename SnapshotIntake<World>::Taken& taken, const World& newest,
                         Time now) {
  if (gone_ || intake.isSynchronising() || !intake.isComplete() || taken.accepted.empty()) return;
  if (standsIn_ && !taken.synchronised) return;
  heard_ = now;
  standsIn_ = false;
  note(taken.synchronised || !file_.takesMore()
           ? file_.write(messagesOf(newest, intake.newestNode()), now)
           : file_.append(taken.accepted, now),
       now);
}

template <class World>
bool KeptSnapshots::tick(bool isConnected, const SnapshotIntake<World>& intake, const World& newest,
                         Time now) {
  stamp(isConnected, now);
  const bool isWhole = !intake.isSynchronising() && intake.isComplete();
  if (!notKept_.empty() && managerIsThere_ && !gone_ && isWhole && now >= nextAttempt_)
    note(file_.write(messagesOf(newest, intake.newestNode()), now), now);
  return std::exchange(changed_, false);
}

}  // namespace weir
