// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir's kernel module, by its generic netlink family (include/uapi/weir.h): one function for each
// command. Used by one thread at a time; every call waits for the kernel's answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "weir/affinity.h"
#include "weir/result.h"
#include "weir/snapshot.h"

struct nlmsghdr;

namespace weir {

class FlowModule {
 public:
  // nullopt: the module is not loaded. Error: there is no talking to the kernel.
  static Result<std::optional<FlowModule>> open();
  // Over a socket at whose other end somebody answers for the module, by this family's number.
  FlowModule(Fd fd, std::uint16_t family) : fd_(std::move(fd)), family_(family) {}

  struct Counters {
    std::uint64_t direct = 0, marked = 0, missed = 0, newBySyn = 0, unusual = 0;
    std::uint64_t learned = 0, replaced = 0, expired = 0, evicted = 0, unlearned = 0;
  };
  struct Node {
    std::string version;
    std::uint32_t markMask = 0;  // 0: the module does not look at this namespace's packets
    std::uint32_t maxFlows = 0;
    std::uint32_t flows = 0;
    std::uint32_t bytesPerFlow = 0;
    Counters counters;
  };
  Result<Node> node();
  Status setNode(std::uint32_t markMask, std::uint32_t maxFlows);
  // Everything is forgotten; packets are left alone.
  Status clearNode();

  struct Service {
    ServiceId id;
    Generation epoch;  // what its newly learned flows carry
    SessionAffinity affinity = SessionAffinity::none;
    TrackingMode tracking = TrackingMode::perConnection;
    std::chrono::seconds idleTimeout{600};
    bool direct = false;
    std::vector<SnapshotRule> rules;
  };
  Status setService(const Service&);
  Status setEpoch(ServiceId, Generation);
  Status removeService(ServiceId);
  Status setBackends(ServiceId, std::span<const SnapshotBackend>);
  Status removeBackend(ServiceId, BackendSlot);
  // Ids and epochs of the services that the module has.
  Result<std::vector<std::pair<ServiceId, Generation>>> services();

  struct BackendUse {
    ServiceId service;
    BackendSlot slot;
    std::uint64_t packets = 0, bytes = 0;  // that the module answered for
  };
  Result<std::vector<BackendUse>> backends();

  struct Key {
    FlowKey key;
    ServiceId service;
  };
  struct Flow {
    Key of;
    BackendSlot backend;
    Generation epoch;
    std::chrono::milliseconds idle{0};
    bool onlySynSeen = false;
  };
  // Those of the keys that the module knows and that are valid.
  Result<std::vector<Flow>> find(std::span<const Key>);
  // All of them; a flow may come twice while the table is resized.
  Status visit(const std::function<void(const Flow&)>&);
  Status forget(std::span<const Key>);

 private:
  class Message;
  // Sends and hears the answers, until the acknowledgement or the end of a dump.
  Status exchange(Message&, const std::function<void(const nlmsghdr&)>& hear = {});
  Status findFamily(bool& there);

  Fd fd_;
  std::uint16_t family_ = 0;
  std::uint32_t sequence_ = 0;
};

}  // namespace weir
