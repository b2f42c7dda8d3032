// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "manager/kernel/attributes.h"
#include "manager/kernel/interface_name.h"

namespace weir::manager {
namespace {

constexpr char kNoun[] = "neighbour";
constexpr std::chrono::milliseconds kPollInterval{2};
constexpr int kShares = 8;

std::string nameOf(const NeighbourKey& key) {
  return fmt::format("{} on {}", key.address.toString(), interfaceName(key.interface));
}

}  // namespace

const Neighbours::Known* Neighbours::known(const NeighbourKey& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : &found->second;
}

std::optional<MacAddress> Neighbours::mac(const NeighbourKey& key) const {
  const Known* neighbour = known(key);
  return neighbour == nullptr ? std::nullopt : neighbour->mac;
}

bool Neighbours::isNews(const Neighbour& told, bool deleted) const {
  const Known* neighbour = known(told.key);
  if (neighbour == nullptr) return false;
  if (deleted) return true;
  if (told.state == NUD_FAILED) return !neighbour->silent;
  return told.valid() && (neighbour->silent || (told.mac && told.mac != neighbour->mac));
}

Result<Neighbours::Table> Neighbours::read() {
  Table table;
  for (const Family family : kFamilies) {
    Messages request;
    addNeighbourDump(request, family);
    const auto dump = netlink_.dump(request);
    if (!dump) return dump.error();
    for (std::size_t i = 0; i < dump->size(); ++i)
      if (auto neighbour = readNeighbour(*dump->at(i))) table[neighbour->key] = *neighbour;
  }
  return table;
}

void Neighbours::learn(const Table& table) {
  for (auto& [key, neighbour] : known_) {
    const auto found = table.find(key);
    if (found == table.end()) continue;
    // While the kernel asks again (INCOMPLETE) the last answer holds.
    if (found->second.state == NUD_FAILED) neighbour.silent = true;
    if (!found->second.valid()) continue;
    neighbour.silent = false;
    if (found->second.mac) neighbour.mac = found->second.mac;
  }
}

// Kept by somebody else, or for ever.
bool Neighbours::isOthers(const Neighbour& neighbour, std::uint8_t protocol) const {
  if ((neighbour.state & (NUD_PERMANENT | NUD_NOARP)) != 0) return true;
  return !isOurs(neighbour, protocol) &&
         (neighbour.managed() || (neighbour.flags & NTF_EXT_LEARNED) != 0);
}

bool Neighbours::isKept(const Neighbour& neighbour, std::uint8_t protocol) const {
  return neighbour.protocol == protocol && (neighbour.managed() || !managedSupported_);
}

Status Neighbours::addMissing(const Table& table, std::uint8_t protocol, ChangeLog& log,
                              bool& added) {
  Messages messages;
  for (const auto& [key, neighbour] : known_) {
    const auto found = table.find(key);
    const bool there = found != table.end();
    if (there && isOthers(found->second, protocol)) continue;
    if (there && isKept(found->second, protocol)) {
      ours_.insert(key);  // perhaps from a run that was killed
      continue;
    }
    // With a former protocol number: nobody has taken it.
    const bool renumbered =
        there && found->second.protocol != protocol && isOurs(found->second, protocol);
    if (!ours_.insert(key).second) {
      if (!renumbered) log.note(KernelChange::Kind::restored, kNoun, nameOf(key));
    } else if (there && !isOurs(found->second, protocol) && found->second.valid()) {
      before_.emplace(key, found->second.protocol);
    }
    addKeptNeighbour(messages, key, protocol);
  }
  added = !messages.empty();
  return sendChanges(netlink_, messages, {ENODEV, ENETDOWN});
}

Status Neighbours::removeOthers(const std::set<NeighbourKey>& wanted, const Table& table,
                                std::uint8_t protocol, ChangeLog& log) {
  Messages messages;
  for (const auto& [key, neighbour] : table) {
    // An operator's permanent entry keeps the protocol number of the one that it replaced.
    if (!isOurs(neighbour, protocol) || isOthers(neighbour, protocol) || wanted.contains(key))
      continue;
    if (ours_.erase(key) == 0)
      log.note(compared_ ? KernelChange::Kind::removed : KernelChange::Kind::cleaned, kNoun,
               nameOf(key));
    addNeighbourDeletion(messages, key);
    if (const auto before = before_.extract(key))
      addOrdinaryNeighbour(messages, neighbour, before.mapped());
  }
  return sendChanges(netlink_, messages, {ENOENT, ENODEV, ENETDOWN});
}

void Neighbours::check(const Table& table, std::uint8_t protocol) {
  const auto now = std::chrono::steady_clock::now();
  Messages messages;
  for (const auto& [key, neighbour] : known_) {
    const auto found = table.find(key);
    if (found == table.end() || !isKept(found->second, protocol)) continue;
    const Neighbour& entry = found->second;
    const bool answers = (entry.state & (NUD_REACHABLE | NUD_STALE | NUD_DELAY)) != 0;
    const bool failed = entry.state == NUD_FAILED;
    if (!answers && !failed) continue;
    // Not all of a thousand at once.
    const auto [place, isNew] = asked_.try_emplace(key);
    Asked& asked = place->second;
    if (isNew)
      asked.at = now - kCheckInterval * static_cast<int>(asked_.size() % kShares) / kShares;
    // One that has just failed to answer is looked for at once, perhaps under another link-layer
    // address; after that it is asked no more often than the others.
    if (now - asked.at < kCheckInterval && (!failed || asked.failed)) continue;
    asked = {now, failed};
    if (answers)
      addNeighbourCheck(messages, key, protocol);
    else
      addKeptNeighbour(messages, key, protocol);
  }
  if (messages.empty()) return;
  checks_ += messages.size();
  // A neighbour that has gone meanwhile is the next comparison's business.
  (void)netlink_.exchange(messages, [](const NetlinkAnswer&) {});
}

Status Neighbours::converge(const std::set<NeighbourKey>& wanted,
                            const std::set<NeighbourKey>& awaited, std::uint8_t protocol,
                            KernelState::Prune prune, ChangeLog& log) {
  auto table = read();
  if (!table) return table.error();
  for (const NeighbourKey& key : wanted) known_.try_emplace(key);
  std::erase_if(known_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  std::erase_if(asked_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  // Gone with their interface: nobody took these.
  std::erase_if(ours_,
                [&](const auto& key) { return !wanted.contains(key) && !table->contains(key); });
  learn(*table);

  bool added = false;
  Status status = addMissing(*table, protocol, log, added);
  if (prune == KernelState::Prune::removeOld) {
    keepFirst(status, removeOthers(wanted, *table, protocol, log));
    compared_ = true;
  }
  if (!added) {
    check(*table, protocol);
    return status;
  }
  bool wait = false;
  for (const NeighbourKey& key : awaited)
    if (const auto found = known_.find(key); found != known_.end())
      wait = !std::exchange(found->second.awaited, true) || wait;
  const auto deadline = std::chrono::steady_clock::now() + kFirstWait;
  for (;;) {
    table = read();
    if (!table) return table.error();
    learn(*table);
    const bool all = std::ranges::all_of(
        awaited, [&](const NeighbourKey& key) { return mac(key).has_value() || silent(key); });
    if (!wait || all || std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(kPollInterval);
  }
  for (const auto& [key, neighbour] : *table)
    if (neighbour.protocol == protocol && wanted.contains(key) && !neighbour.managed())
      managedSupported_ = false;
  return status;
}

Status Neighbours::removeAll(std::uint8_t protocol) {
  known_.clear();
  asked_.clear();
  const auto table = read();
  if (!table) return table.error();
  ChangeLog unheard;
  return removeOthers({}, *table, protocol, unheard);
}

}  // namespace weir::manager
