// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weir/snapshot.h"

namespace weir {

// From encoded snapshots to the next world, of packets or of connections: World is what has
// after(SnapshotMessage). Messages are applied in their order; of several snapshots of one service
// that arrived together only the newest is built. A full synchronisation takes effect as a whole. A
// message that cannot be decoded is refused and what it would have replaced stays, also when it was
// part of a synchronisation.
template <class World>
class SnapshotIntake {
 public:
  using Payload = std::span<const std::uint8_t>;
  struct Taken {
    std::shared_ptr<const World> world;    // to be published; nullptr: nothing new to see
    Generation generation;                 // newest in effect once `world` is published
    std::vector<ProxyLoadReport> reports;  // for the balancers, once the world is there
    std::vector<std::string> refused;      // why, one line for each refused message
    std::vector<Payload> accepted;         // those of which the world is made, as they came
    bool synchronised = false;             // a full synchronisation has ended
  };
  // `between` is called between messages, each of which may take milliseconds.
  Taken take(
      std::span<const Payload> payloads, const std::function<void()>& between = [] {});

  // The connection is gone: an unfinished synchronisation is forgotten.
  void interrupt();

  // Values to start with: those of the first node message until adoptNode(). Data planes that have
  // no such message never have a node.
  const std::optional<NodeSnapshot>& node() const noexcept { return node_; }
  const std::optional<NodeSnapshot>& newestNode() const noexcept { return newestNode_; }
  // Did the last node message wish for other values than those in use?
  bool nodeDiffers() const noexcept { return node_ != newestNode_; }
  void adoptNode() { node_ = newestNode_; }
  // Has a message of this kind been accepted?
  template <class Message>
  bool hasHeard() const noexcept {
    return heard_ >> SnapshotMessage(Message()).index() & 1u;
  }
  bool hasHeardAnything() const noexcept { return heard_ != 0; }
  // True once one whole synchronisation has been heard.
  bool isComplete() const noexcept { return synchronised_; }
  bool isSynchronising() const noexcept { return synchronising_; }

 private:
  void apply(SnapshotMessage&&, Taken&);

  std::shared_ptr<const World> published_ = std::make_shared<const World>();
  std::shared_ptr<const World> working_ = published_;
  Generation generation_;  // newest in working_
  Generation publishedGeneration_;
  std::optional<NodeSnapshot> node_;
  std::optional<NodeSnapshot> newestNode_;
  std::uint32_t heard_ = 0;  // a bit for each alternative of SnapshotMessage
  bool synchronised_ = false;
  bool synchronising_ = false;
  bool refusedInSync_ = false;
};

namespace intake {

// A text for each service that a message is the snapshot of; nullopt: of none.
std::optional<std::string> serviceOf(const SnapshotMessage&);
// The generation that a message carries; 0 for those that carry none.
Generation generationOf(const SnapshotMessage&);

}  // namespace intake

template <class World>
typename SnapshotIntake<World>::Taken SnapshotIntake<World>::take(
    std::span<const Payload> payloads, const std::function<void()>& between) {
  Taken taken;
  std::vector<std::optional<SnapshotMessage>> messages;  // nullopt: refused
  std::map<std::string, std::size_t> newest;             // position of a service's last snapshot
  for (const Payload payload : payloads) {
    auto message = decode(payload);
    if (!message) {
      taken.refused.push_back(message.error().message);
      messages.emplace_back();
      continue;
    }
    if (const auto service = intake::serviceOf(*message)) newest[*service] = messages.size();
    messages.emplace_back(std::move(*message));
  }

  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i]) {
      refusedInSync_ = refusedInSync_ || synchronising_;
      continue;
    }
    const auto service = intake::serviceOf(*messages[i]);
    if (service && newest[*service] != i) continue;
    if (!std::holds_alternative<ProxyLoadReport>(*messages[i]))
      taken.accepted.push_back(payloads[i]);
    apply(std::move(*messages[i]), taken);
    between();
  }

  if (!synchronising_) {
    if (working_ != published_) taken.world = published_ = working_;
    publishedGeneration_ = generation_;
  }
  taken.generation = publishedGeneration_;
  return taken;
}

template <class World>
void SnapshotIntake<World>::apply(SnapshotMessage&& message, Taken& taken) {
  heard_ |= 1u << message.index();
  generation_ = std::max(generation_, intake::generationOf(message));
  if (auto* report = std::get_if<ProxyLoadReport>(&message)) {
    taken.reports.push_back(std::move(*report));
    return;
  }
  if (const auto* node = std::get_if<NodeSnapshot>(&message)) {
    newestNode_ = *node;
    if (!node_) node_ = *node;
    return;
  }
  if (std::holds_alternative<SyncBegin>(message)) {
    synchronising_ = true;
    refusedInSync_ = false;
    // A manager that lost its state counts from the beginning.
    generation_ = Generation();
  }
  if (std::holds_alternative<SyncEnd>(message)) {
    taken.synchronised = taken.synchronised || synchronising_;
    synchronised_ = synchronised_ || synchronising_;
    synchronising_ = false;
    // SyncEnd forgets the services that were not named; one whose snapshot was refused is not
    // known to be gone, so none is forgotten.
    if (std::exchange(refusedInSync_, false)) return;
  }
  working_ = working_->after(message);
}

template <class World>
void SnapshotIntake<World>::interrupt() {
  working_ = published_;
  generation_ = publishedGeneration_;
  synchronising_ = false;
  refusedInSync_ = false;
}

}  // namespace weir
