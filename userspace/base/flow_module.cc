// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/flow_module.h"

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "uapi/weir.h"

namespace weir {

namespace {

constexpr std::size_t kBackendsPerMessage = 512;
// Of requests: the largest are arrays, whose length has 16 bits.
constexpr std::size_t kRoom = 80 * 1024;
constexpr std::size_t kAnswerRoom = 128 * 1024;

std::uint8_t keyMode(TrackingMode tracking, SessionAffinity affinity) noexcept {
  if (tracking == TrackingMode::perConnection) return WEIR_KEY_FINEST;
  switch (affinity) {
    case SessionAffinity::none:
    case SessionAffinity::clientIpPortProto:
      return WEIR_KEY_FINEST;
    case SessionAffinity::clientIpProto:
      return WEIR_KEY_THREE;
    case SessionAffinity::clientIp:
      return WEIR_KEY_TWO;
    case SessionAffinity::clientIpNoDestination:
      return WEIR_KEY_ONE;
  }
  return WEIR_KEY_FINEST;
}

// libmnl's loops do not compile as C++.
template <class Each>
void eachAttribute(const void* begin, const void* end, Each&& each) {
  const auto left = [end](const nlattr* at) {
    return static_cast<int>(static_cast<const char*>(end) - reinterpret_cast<const char*>(at));
  };
  for (auto* at = static_cast<const nlattr*>(begin); mnl_attr_ok(at, left(at));
       at = mnl_attr_next(at))
    each(at);
}
template <class Each>
void eachNested(const nlattr* nest, Each&& each) {
  const auto* begin = static_cast<const char*>(mnl_attr_get_payload(nest));
  eachAttribute(begin, begin + mnl_attr_get_payload_len(nest), each);
}
template <class Each>
void eachIn(const nlmsghdr& message, std::size_t offset, Each&& each) {
  eachAttribute(mnl_nlmsg_get_payload_offset(&message, offset),
                mnl_nlmsg_get_payload_tail(&message), each);
}

// 0: not there, or of another size.
template <class Int>
Int numberIn(const nlattr* attribute) {
  Int value = 0;
  if (attribute != nullptr && mnl_attr_get_payload_len(attribute) == sizeof value)
    std::memcpy(&value, mnl_attr_get_payload(attribute), sizeof value);
  return value;
}

// Attributes of a message or of a nest by their number; those that are not there are nullptr.
template <std::size_t kMost>
struct Attributes {
  std::array<const nlattr*, kMost + 1> of{};

  void take(const nlattr* attribute) {
    if (const std::uint16_t type = mnl_attr_get_type(attribute); type <= kMost)
      of[type] = attribute;
  }
  static Attributes in(const nlattr* nest) {
    Attributes attributes;
    eachNested(nest, [&](const nlattr* attribute) { attributes.take(attribute); });
    return attributes;
  }
  static Attributes in(const nlmsghdr& message) {
    Attributes attributes;
    eachIn(message, sizeof(genlmsghdr),
           [&](const nlattr* attribute) { attributes.take(attribute); });
    return attributes;
  }
  template <class Int>
  Int number(std::size_t type) const {
    return numberIn<Int>(of[type]);
  }
};

Address addressIn(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  const auto* bytes = static_cast<const std::uint8_t*>(mnl_attr_get_payload(attribute));
  const std::size_t length = mnl_attr_get_payload_len(attribute);
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  if (length == 4) {
    for (std::size_t i = 0; i < 4; ++i) lo = lo << 8 | bytes[i];
    return Address::ipv4(static_cast<std::uint32_t>(lo));
  }
  if (length != 16) return {};
  for (std::size_t i = 0; i < 8; ++i) {
    hi = hi << 8 | bytes[i];
    lo = lo << 8 | bytes[i + 8];
  }
  return Address::ipv6(hi, lo);
}

FlowModule::Flow flowIn(const nlattr* nest) {
  const auto from = Attributes<WEIR_FLOW_A_MAX>::in(nest);
  FlowModule::Flow flow;
  flow.of.service = ServiceId(from.number<std::uint16_t>(WEIR_FLOW_A_SERVICE));
  FlowKey& key = flow.of.key;
  key.kind = static_cast<TupleKind>(from.number<std::uint8_t>(WEIR_FLOW_A_KIND));
  key.source = addressIn(from.of[WEIR_FLOW_A_SOURCE]);
  key.destination = addressIn(from.of[WEIR_FLOW_A_DESTINATION]);
  key.protocol = static_cast<Protocol>(from.number<std::uint8_t>(WEIR_FLOW_A_PROTOCOL));
  key.sourcePort = from.number<std::uint16_t>(WEIR_FLOW_A_SOURCE_PORT);
  key.destinationPort = from.number<std::uint16_t>(WEIR_FLOW_A_DESTINATION_PORT);
  flow.backend = BackendSlot(from.number<std::uint16_t>(WEIR_FLOW_A_SLOT));
  flow.epoch = Generation(from.number<std::uint32_t>(WEIR_FLOW_A_EPOCH));
  flow.idle = std::chrono::milliseconds(from.number<std::uint32_t>(WEIR_FLOW_A_IDLE));
  flow.onlySynSeen = from.of[WEIR_FLOW_A_ONLY_SYN] != nullptr;
  return flow;
}

void visitFlows(const nlmsghdr& message, const std::function<void(const FlowModule::Flow&)>& each) {
  const auto top = Attributes<WEIR_A_MAX>::in(message);
  if (top.of[WEIR_A_FLOWS] == nullptr) return;
  eachNested(top.of[WEIR_A_FLOWS], [&](const nlattr* nest) { each(flowIn(nest)); });
}

// The words of the extended acknowledgement, when there are any.
std::string detailOf(const nlmsghdr& message) {
  if ((message.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return {};
  const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(&message));
  std::size_t offset = sizeof(nlmsgerr);
  if ((message.nlmsg_flags & NLM_F_CAPPED) == 0)
    offset += error->msg.nlmsg_len - sizeof(error->msg);
  std::string detail;
  eachIn(message, offset, [&](const nlattr* attribute) {
    if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG)
      detail = fmt::format(" ({})", mnl_attr_get_str(attribute));
  });
  return detail;
}

Error lost(const char* what, int number) {
  return Error{fmt::format("{} weir's kernel module: {}", what, std::strerror(number))};
}

}  // namespace

class FlowModule::Message {
 public:
  Message(std::uint16_t family, std::uint8_t command, bool dump = false,
          std::uint8_t version = WEIR_GENL_VERSION)
      : bytes_(kRoom), header_(mnl_nlmsg_put_header(bytes_.data())) {
    header_->nlmsg_type = family;
    header_->nlmsg_flags =
        static_cast<std::uint16_t>(NLM_F_REQUEST | (dump ? NLM_F_DUMP : NLM_F_ACK));
    auto* generic =
        static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(header_, sizeof(genlmsghdr)));
    generic->cmd = command;
    generic->version = version;
  }
  nlmsghdr* header() noexcept { return header_; }

  void put(std::uint16_t type, std::uint8_t value) { mnl_attr_put_u8(header_, type, value); }
  void put(std::uint16_t type, std::uint16_t value) { mnl_attr_put_u16(header_, type, value); }
  void put(std::uint16_t type, std::uint32_t value) { mnl_attr_put_u32(header_, type, value); }
  void put(std::uint16_t type, const char* text) { mnl_attr_put_strz(header_, type, text); }
  void put(std::uint16_t type, Address address) {
    const auto bytes = address.bytes();
    const std::size_t length = address.isIpv4() ? 4 : 16;
    mnl_attr_put(header_, type, length, bytes.data() + bytes.size() - length);
  }
  template <class Range, class Fill>
  void putArray(std::uint16_t type, const Range& items, Fill&& fill) {
    nlattr* array = mnl_attr_nest_start(header_, type);
    for (const auto& item : items) {
      nlattr* nest = mnl_attr_nest_start(header_, 1);
      fill(item);
      mnl_attr_nest_end(header_, nest);
    }
    mnl_attr_nest_end(header_, array);
  }
  void putKeys(std::span<const Key> keys) {
    putArray(WEIR_A_FLOWS, keys, [this](const Key& item) {
      const FlowKey& key = item.key;
      put(WEIR_FLOW_A_SERVICE, item.service.value());
      put(WEIR_FLOW_A_KIND, static_cast<std::uint8_t>(key.kind));
      put(WEIR_FLOW_A_SOURCE, key.source);
      if (key.kind == TupleKind::one) return;
      put(WEIR_FLOW_A_DESTINATION, key.destination);
      if (key.kind == TupleKind::two) return;
      put(WEIR_FLOW_A_PROTOCOL, static_cast<std::uint8_t>(key.protocol));
      if (key.kind == TupleKind::three) return;
      put(WEIR_FLOW_A_SOURCE_PORT, key.sourcePort);
      put(WEIR_FLOW_A_DESTINATION_PORT, key.destinationPort);
    });
  }

 private:
  std::vector<std::uint8_t> bytes_;
  nlmsghdr* header_;
};

Result<std::optional<FlowModule>> FlowModule::open() {
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
  if (!fd) return lost("cannot ask for", errno);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  ::setsockopt(fd.get(), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
  const int room = 4 << 20;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  // The kernel answers at once; a wait without end would be an error of ours.
  const timeval patience{10, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  FlowModule module(std::move(fd), 0);
  bool there = false;
  if (Status status = module.findFamily(there); !status) return status.error();
  if (!there) return std::optional<FlowModule>();
  return std::optional<FlowModule>(std::move(module));
}

Status FlowModule::findFamily(bool& there) {
  // Not by exchange(): that it is not there is an answer here.
  Message message(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, false, 1);
  message.put(CTRL_ATTR_FAMILY_NAME, WEIR_GENL_NAME);
  const Status asked = exchange(message, [&](const nlmsghdr& answer) {
    const auto from = Attributes<CTRL_ATTR_FAMILY_NAME>::in(answer);
    family_ = from.number<std::uint16_t>(CTRL_ATTR_FAMILY_ID);
  });
  there = family_ != 0;
  if (!asked && errno != ENOENT) return asked;
  return success();
}

Status FlowModule::exchange(Message& message, const std::function<void(const nlmsghdr&)>& hear) {
  message.header()->nlmsg_seq = ++sequence_;
  if (::send(fd_.get(), message.header(), message.header()->nlmsg_len, 0) < 0)
    return lost("cannot talk to", errno);
  std::vector<std::uint8_t> answers(kAnswerRoom);
  for (;;) {
    const ssize_t got = ::recv(fd_.get(), answers.data(), answers.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return lost("no answer from", errno);
    int rest = static_cast<int>(got);
    for (const auto* answer = reinterpret_cast<const nlmsghdr*>(answers.data());
         mnl_nlmsg_ok(answer, rest); answer = mnl_nlmsg_next(answer, &rest)) {
      if (answer->nlmsg_seq != sequence_) continue;
      if (answer->nlmsg_type == NLMSG_DONE) return success();
      if (answer->nlmsg_type == NLMSG_ERROR) {
        const int number = -static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(answer))->error;
        if (number == 0) return success();
        Error error{fmt::format("weir's kernel module refuses: {}{}", std::strerror(number),
                                detailOf(*answer))};
        errno = number;
        return error;
      }
      if (hear) hear(*answer);
    }
  }
}

Result<FlowModule::Node> FlowModule::node() {
  Message message(family_, WEIR_CMD_NODE_GET);
  Node node;
  const Status status = exchange(message, [&](const nlmsghdr& answer) {
    const auto from = Attributes<WEIR_A_MAX>::in(answer);
    if (from.of[WEIR_A_MODULE_VERSION] != nullptr)
      node.version = mnl_attr_get_str(from.of[WEIR_A_MODULE_VERSION]);
    node.markMask = from.number<std::uint32_t>(WEIR_A_MARK_MASK);
    node.maxFlows = from.number<std::uint32_t>(WEIR_A_MAX_FLOWS);
    node.flows = from.number<std::uint32_t>(WEIR_A_FLOW_COUNT);
    node.bytesPerFlow = from.number<std::uint32_t>(WEIR_A_BYTES_PER_FLOW);
    if (from.of[WEIR_A_COUNTERS] == nullptr) return;
    const auto counters = Attributes<WEIR_COUNTER_A_MAX>::in(from.of[WEIR_A_COUNTERS]);
    const auto count = [&](std::size_t type) { return counters.number<std::uint64_t>(type); };
    node.counters = {count(WEIR_COUNTER_A_DIRECT),   count(WEIR_COUNTER_A_MARKED),
                     count(WEIR_COUNTER_A_MISSED),   count(WEIR_COUNTER_A_NEW_BY_SYN),
                     count(WEIR_COUNTER_A_UNUSUAL),  count(WEIR_COUNTER_A_LEARNED),
                     count(WEIR_COUNTER_A_REPLACED), count(WEIR_COUNTER_A_EXPIRED),
                     count(WEIR_COUNTER_A_EVICTED),  count(WEIR_COUNTER_A_UNLEARNED)};
  });
  if (!status) return status.error();
  return node;
}

Status FlowModule::setNode(std::uint32_t markMask, std::uint32_t maxFlows) {
  Message message(family_, WEIR_CMD_NODE_SET);
  message.put(WEIR_A_MARK_MASK, markMask);
  message.put(WEIR_A_MAX_FLOWS, maxFlows);
  return exchange(message);
}

Status FlowModule::clearNode() {
  Message message(family_, WEIR_CMD_NODE_DEL);
  return exchange(message);
}

Status FlowModule::setService(const Service& service) {
  Message message(family_, WEIR_CMD_SERVICE_SET);
  message.put(WEIR_A_SERVICE, service.id.value());
  message.put(WEIR_A_KEY, keyMode(service.tracking, service.affinity));
  std::uint32_t flags = 0;
  if (synIsAlwaysNew(service.tracking, service.affinity)) flags |= WEIR_SERVICE_SYN_IS_NEW;
  if (service.direct) flags |= WEIR_SERVICE_DIRECT;
  message.put(WEIR_A_SERVICE_FLAGS, flags);
  message.put(WEIR_A_IDLE_TIMEOUT, static_cast<std::uint32_t>(service.idleTimeout.count()));
  message.put(WEIR_A_EPOCH, service.epoch.value());
  // One element for each range: a rule of ports has several.
  std::vector<std::pair<const SnapshotRule*, const PortRange*>> rules;
  for (const SnapshotRule& rule : service.rules) {
    if (rule.ports.empty()) rules.emplace_back(&rule, nullptr);
    for (const PortRange& range : rule.ports) rules.emplace_back(&rule, &range);
  }
  message.putArray(WEIR_A_RULES, rules, [&](const auto& item) {
    const auto [rule, range] = item;
    message.put(WEIR_RULE_A_ADDRESS, rule->address);
    message.put(WEIR_RULE_A_PROTOCOL, static_cast<std::uint8_t>(rule->protocol));
    if (range == nullptr) return;
    message.put(WEIR_RULE_A_FIRST_PORT, range->first);
    message.put(WEIR_RULE_A_LAST_PORT, range->last);
  });
  return exchange(message);
}

Status FlowModule::setEpoch(ServiceId service, Generation epoch) {
  Message message(family_, WEIR_CMD_SERVICE_SET);
  message.put(WEIR_A_SERVICE, service.value());
  message.put(WEIR_A_EPOCH, epoch.value());
  return exchange(message);
}

Status FlowModule::removeService(ServiceId service) {
  Message message(family_, WEIR_CMD_SERVICE_DEL);
  message.put(WEIR_A_SERVICE, service.value());
  return exchange(message);
}

Status FlowModule::setBackends(ServiceId service, std::span<const SnapshotBackend> backends) {
  for (; !backends.empty();
       backends = backends.subspan(std::min(kBackendsPerMessage, backends.size()))) {
    Message message(family_, WEIR_CMD_BACKEND_SET);
    message.put(WEIR_A_SERVICE, service.value());
    const auto some = backends.first(std::min(kBackendsPerMessage, backends.size()));
    message.putArray(WEIR_A_BACKENDS, some, [&](const SnapshotBackend& backend) {
      message.put(WEIR_BACKEND_A_SLOT, backend.slot.value());
      message.put(WEIR_BACKEND_A_MARK, backend.mark.value());
      for (std::size_t i = 0; i < kProtocolClasses; ++i)
        message.put(static_cast<std::uint16_t>(WEIR_BACKEND_A_EPOCH_TCP + i),
                    backend.validFrom[i].value());
    });
    if (Status status = exchange(message); !status) return status;
  }
  return success();
}

Status FlowModule::removeBackend(ServiceId service, BackendSlot slot) {
  Message message(family_, WEIR_CMD_BACKEND_DEL);
  message.put(WEIR_A_SERVICE, service.value());
  message.put(WEIR_A_SLOT, slot.value());
  return exchange(message);
}

Result<std::vector<std::pair<ServiceId, Generation>>> FlowModule::services() {
  Message message(family_, WEIR_CMD_SERVICE_GET, true);
  std::vector<std::pair<ServiceId, Generation>> services;
  const Status status = exchange(message, [&](const nlmsghdr& answer) {
    const auto from = Attributes<WEIR_A_MAX>::in(answer);
    services.emplace_back(from.number<std::uint16_t>(WEIR_A_SERVICE),
                          from.number<std::uint32_t>(WEIR_A_EPOCH));
  });
  if (!status) return status.error();
  return services;
}

Result<std::vector<FlowModule::BackendUse>> FlowModule::backends() {
  Message message(family_, WEIR_CMD_BACKEND_GET, true);
  std::vector<BackendUse> uses;
  const Status status = exchange(message, [&](const nlmsghdr& answer) {
    const auto top = Attributes<WEIR_A_MAX>::in(answer);
    if (top.of[WEIR_A_BACKENDS] == nullptr) return;
    eachNested(top.of[WEIR_A_BACKENDS], [&](const nlattr* nest) {
      const auto from = Attributes<WEIR_BACKEND_A_MAX>::in(nest);
      uses.push_back({ServiceId(top.number<std::uint16_t>(WEIR_A_SERVICE)),
                      BackendSlot(from.number<std::uint16_t>(WEIR_BACKEND_A_SLOT)),
                      from.number<std::uint64_t>(WEIR_BACKEND_A_PACKETS),
                      from.number<std::uint64_t>(WEIR_BACKEND_A_BYTES)});
    });
  });
  if (!status) return status.error();
  return uses;
}

Result<std::vector<FlowModule::Flow>> FlowModule::find(std::span<const Key> keys) {
  std::vector<Flow> found;
  while (!keys.empty()) {
    const std::size_t count = std::min<std::size_t>(keys.size(), WEIR_MAX_FLOWS_PER_MESSAGE);
    Message message(family_, WEIR_CMD_FLOW_GET);
    message.putKeys(keys.first(count));
    const Status status = exchange(message, [&](const nlmsghdr& answer) {
      visitFlows(answer, [&](const Flow& flow) { found.push_back(flow); });
    });
    if (!status) return status.error();
    keys = keys.subspan(count);
  }
  return found;
}

Status FlowModule::visit(const std::function<void(const Flow&)>& each) {
  Message message(family_, WEIR_CMD_FLOW_GET, true);
  return exchange(message, [&](const nlmsghdr& answer) { visitFlows(answer, each); });
}

Status FlowModule::forget(std::span<const Key> keys) {
  while (!keys.empty()) {
    const std::size_t count = std::min<std::size_t>(keys.size(), WEIR_MAX_FLOWS_PER_MESSAGE);
    Message message(family_, WEIR_CMD_FLOW_DEL);
    message.putKeys(keys.first(count));
    if (Status status = exchange(message); !status) return status;
    keys = keys.subspan(count);
  }
  return success();
}

}  // namespace weir
