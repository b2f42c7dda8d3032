// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/packet_path.h"

namespace weir::engine {

void PacketPath::decide(const World& world, std::span<const QueuedPacket> packets, Time now,
                        VerdictWriter& verdicts) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    malformed_[i] = parsePacket(packets[i].bytes, packets[i].trueLength, prepared_[i].packet);
    bytes += packets[i].trueLength;
  }
  for (std::size_t i = 0; i < packets.size(); ++i)
    if (malformed_[i] == Malformed::none) prepare(world, *table_, prepared_[i]);
  // The buckets asked for above have had time to arrive; now the slots they name.
  for (std::size_t i = 0; i < packets.size(); ++i)
    if (malformed_[i] == Malformed::none && prepared_[i].service != nullptr)
      table_->prefetchSlot(prepared_[i].key);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (malformed_[i] != Malformed::none) [[unlikely]] {
      countMalformed(malformed_[i]);
      verdicts.add(packets[i].id, Verdict{});
      continue;
    }
    verdicts.add(packets[i].id,
                 verdictOf(weir::decide(world, *table_, prepared_[i], now), packets[i]));
  }
  counters_->packets.add(packets.size());
  counters_->bytes.add(bytes);
}

Verdict PacketPath::verdictOf(const Decision& decision, const QueuedPacket& packet) noexcept {
  switch (decision.action) {
    case Action::pass:
      counters_->passed.add(1);
      return {true, false, 0};
    case Action::drop:
      counters_->dropped[static_cast<std::size_t>(decision.reason)].add(1);
      if (decision.service != nullptr)
        counters_->service(decision.service->snapshot().id).dropped.add(1);
      return {};
    case Action::forward:
      break;
  }
  countForwarded(decision, packet.trueLength);
  return {true, true, (packet.mark & ~mask_) | (decision.mark.value() & mask_)};
}

void PacketPath::countForwarded(const Decision& decision, std::uint64_t bytes) noexcept {
  ServiceCounters& service = counters_->service(decision.service->snapshot().id);
  BackendCounters* const backends = counters_->backendsOf(service);
  BackendCounters* const backend =
      backends == nullptr ? nullptr : backends + decision.backend.value();
  service.bytes.add(bytes);
  if (backend != nullptr) {
    backend->packets.add(1);
    backend->bytes.add(bytes);
  }
  switch (decision.connection) {
    case ConnectionState::known:
      counters_->forwardedKnown.add(1);
      service.known.add(1);
      break;
    case ConnectionState::fresh:
      counters_->forwardedNew.add(1);
      service.fresh.add(1);
      if (backend != nullptr) backend->fresh.add(1);
      break;
    case ConnectionState::related:
      counters_->forwardedRelated.add(1);
      service.related.add(1);
      break;
    case ConnectionState::none:
      break;
  }
}

void PacketPath::countMalformed(Malformed kind) noexcept {
  counters_->malformed[static_cast<std::size_t>(kind)].add(1);
}

}  // namespace weir::engine
