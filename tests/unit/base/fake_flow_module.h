// SPDX-License-Identifier: GPL-2.0-or-later
//
// Stands for weir's kernel module at the other end of a socket: keeps what it is told and answers
// as include/uapi/weir.h says, so that messages are made and read in earnest.
#pragma once

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/flow_module.h"
#include "uapi/weir.h"

namespace weir::test {

class FakeFlowModule {
 public:
  static constexpr std::uint16_t kFamily = 30;

  struct Flow {
    std::string key;  // the attributes of a key, as they came
    std::uint16_t service = 0, slot = 0;
    std::uint32_t epoch = 0, idleMs = 0;
    bool onlySyn = false;
  };
  struct Service {
    std::uint32_t epoch = 0, flags = 0, idleTimeout = 0;
    std::uint8_t key = 0;
    std::size_t rules = 0;
    std::map<std::uint16_t, std::uint32_t> marks;                     // by slot
    std::map<std::uint16_t, std::array<std::uint32_t, 3>> validFrom;  // by slot
  };
  struct State {
    std::uint32_t markMask = 0, maxFlows = 0;
    std::map<std::uint16_t, Service> services;
    std::vector<Flow> flows;
    std::vector<std::uint8_t> commands;    // as they came
    std::map<std::uint8_t, int> refusals;  // command -> errno
  };

  FakeFlowModule() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::runtime_error("socketpair");
    ours_ = Fd(ends[0]);
    theirs_ = Fd(ends[1]);
    thread_ = std::thread([this] { run(); });
  }
  ~FakeFlowModule() {
    ::shutdown(ours_.get(), SHUT_RDWR);
    thread_.join();
  }
  FakeFlowModule(const FakeFlowModule&) = delete;
  FakeFlowModule& operator=(const FakeFlowModule&) = delete;

  // A program's end; as often as wanted, one after the other.
  FlowModule open() { return FlowModule(Fd(::dup(theirs_.get())), kFamily); }
  template <class Use>
  auto with(Use&& use) {
    const std::lock_guard lock(mutex_);
    return use(state_);
  }
  // The packet of a verdict has passed: the module knows the flow now.
  void learn(const FlowModule::Flow& flow) {
    const std::lock_guard lock(mutex_);
    state_.flows.push_back({keyText(flow.of), flow.of.service.value(), flow.backend.value(),
                            flow.epoch.value(), static_cast<std::uint32_t>(flow.idle.count()),
                            flow.onlySynSeen});
  }

 private:
  class Reply {
   public:
    Reply(const nlmsghdr& request, std::uint16_t type, bool multi)
        : bytes_(64 * 1024), header_(mnl_nlmsg_put_header(bytes_.data())) {
      header_->nlmsg_type = type;
      header_->nlmsg_seq = request.nlmsg_seq;
      header_->nlmsg_flags = static_cast<std::uint16_t>(multi ? NLM_F_MULTI : 0);
    }
    nlmsghdr* header() noexcept { return header_; }
    void generic() { mnl_nlmsg_put_extra_header(header_, sizeof(genlmsghdr)); }
    void sendTo(int fd) const {
      static_cast<void>(::send(fd, header_, header_->nlmsg_len, MSG_NOSIGNAL));
    }

   private:
    std::vector<char> bytes_;
    nlmsghdr* header_;
  };
  using Attributes = std::map<std::uint16_t, const nlattr*>;

  static Attributes within(const char* begin, const char* end) {
    Attributes found;
    for (const auto* at = reinterpret_cast<const nlattr*>(begin);
         mnl_attr_ok(at, static_cast<int>(end - reinterpret_cast<const char*>(at)));
         at = mnl_attr_next(at))
      found[mnl_attr_get_type(at)] = at;
    return found;
  }
  static Attributes within(const nlattr* nest) {
    const auto* begin = static_cast<const char*>(mnl_attr_get_payload(nest));
    return within(begin, begin + mnl_attr_get_payload_len(nest));
  }
  static std::vector<const nlattr*> elements(const nlattr* array) {
    std::vector<const nlattr*> found;
    const auto* begin = static_cast<const char*>(mnl_attr_get_payload(array));
    const auto* end = begin + mnl_attr_get_payload_len(array);
    for (const auto* at = reinterpret_cast<const nlattr*>(begin);
         mnl_attr_ok(at, static_cast<int>(end - reinterpret_cast<const char*>(at)));
         at = mnl_attr_next(at))
      found.push_back(at);
    return found;
  }
  static std::string text(const nlattr* nest) {
    return {static_cast<const char*>(mnl_attr_get_payload(nest)), mnl_attr_get_payload_len(nest)};
  }
  // The attributes by which a flow is named, written by hand: what the program makes must be these.
  static std::string keyText(const FlowModule::Key& of) {
    std::vector<char> bytes(4096);
    nlmsghdr* const header = mnl_nlmsg_put_header(bytes.data());
    const std::size_t begin = header->nlmsg_len;
    const FlowKey& key = of.key;
    const auto put = [&](std::uint16_t type, Address address) {
      const auto all = address.bytes();
      const std::size_t length = address.isIpv4() ? 4 : 16;
      mnl_attr_put(header, type, length, all.data() + all.size() - length);
    };
    mnl_attr_put_u16(header, WEIR_FLOW_A_SERVICE, of.service.value());
    mnl_attr_put_u8(header, WEIR_FLOW_A_KIND, static_cast<std::uint8_t>(key.kind));
    put(WEIR_FLOW_A_SOURCE, key.source);
    if (key.kind != TupleKind::one) put(WEIR_FLOW_A_DESTINATION, key.destination);
    if (key.kind == TupleKind::three || key.kind == TupleKind::five)
      mnl_attr_put_u8(header, WEIR_FLOW_A_PROTOCOL, static_cast<std::uint8_t>(key.protocol));
    if (key.kind == TupleKind::five) {
      mnl_attr_put_u16(header, WEIR_FLOW_A_SOURCE_PORT, key.sourcePort);
      mnl_attr_put_u16(header, WEIR_FLOW_A_DESTINATION_PORT, key.destinationPort);
    }
    return {bytes.data() + begin, header->nlmsg_len - begin};
  }

  void run() {
    std::vector<char> bytes(128 * 1024);
    for (;;) {
      const ssize_t got = ::recv(ours_.get(), bytes.data(), bytes.size(), 0);
      if (got <= 0) return;
      const std::lock_guard lock(mutex_);
      answer(*reinterpret_cast<const nlmsghdr*>(bytes.data()));
    }
  }

  void answer(const nlmsghdr& request) {
    const auto* generic = static_cast<const genlmsghdr*>(mnl_nlmsg_get_payload(&request));
    const auto* begin =
        static_cast<const char*>(mnl_nlmsg_get_payload_offset(&request, sizeof(genlmsghdr)));
    const Attributes top =
        within(begin, static_cast<const char*>(mnl_nlmsg_get_payload_tail(&request)));
    state_.commands.push_back(generic->cmd);
    const bool dump = (request.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    int error = 0;
    if (const auto refusal = state_.refusals.find(generic->cmd); refusal != state_.refusals.end())
      error = refusal->second;
    else
      error = perform(request, generic->cmd, top, dump);
    Reply end(request, dump && error == 0 ? NLMSG_DONE : NLMSG_ERROR, dump);
    auto* code = static_cast<nlmsgerr*>(mnl_nlmsg_put_extra_header(
        end.header(), dump && error == 0 ? sizeof(int) : sizeof(nlmsgerr)));
    code->error = -error;
    end.sendTo(ours_.get());
  }

  int perform(const nlmsghdr& request, std::uint8_t command, const Attributes& top, bool dump) {
    const auto service = [&] { return mnl_attr_get_u16(top.at(WEIR_A_SERVICE)); };
    switch (command) {
      case WEIR_CMD_NODE_SET:
        state_.markMask = mnl_attr_get_u32(top.at(WEIR_A_MARK_MASK));
        state_.maxFlows = mnl_attr_get_u32(top.at(WEIR_A_MAX_FLOWS));
        return 0;
      case WEIR_CMD_NODE_DEL:
        state_.markMask = 0;
        state_.services.clear();
        state_.flows.clear();
        return 0;
      case WEIR_CMD_NODE_GET: {
        Reply reply(request, kFamily, false);
        reply.generic();
        mnl_attr_put_strz(reply.header(), WEIR_A_MODULE_VERSION, "1.2.3");
        mnl_attr_put_u32(reply.header(), WEIR_A_MARK_MASK, state_.markMask);
        mnl_attr_put_u32(reply.header(), WEIR_A_MAX_FLOWS, state_.maxFlows);
        mnl_attr_put_u32(reply.header(), WEIR_A_FLOW_COUNT,
                         static_cast<std::uint32_t>(state_.flows.size()));
        nlattr* nest = mnl_attr_nest_start(reply.header(), WEIR_A_COUNTERS);
        mnl_attr_put_u64(reply.header(), WEIR_COUNTER_A_DIRECT, 11);
        mnl_attr_put_u64(reply.header(), WEIR_COUNTER_A_UNLEARNED, 1ull << 40);
        mnl_attr_nest_end(reply.header(), nest);
        reply.sendTo(ours_.get());
        return 0;
      }
      case WEIR_CMD_SERVICE_SET:
        set(state_.services[service()], top);
        return 0;
      case WEIR_CMD_SERVICE_DEL:
        std::erase_if(state_.flows, [&](const Flow& flow) { return flow.service == service(); });
        return state_.services.erase(service()) == 1 ? 0 : ENOENT;
      case WEIR_CMD_SERVICE_GET:
        for (const auto& [id, told] : state_.services) {
          Reply reply(request, kFamily, true);
          reply.generic();
          mnl_attr_put_u16(reply.header(), WEIR_A_SERVICE, id);
          mnl_attr_put_u32(reply.header(), WEIR_A_EPOCH, told.epoch);
          reply.sendTo(ours_.get());
        }
        return 0;
      case WEIR_CMD_BACKEND_SET:
        for (const nlattr* nest : elements(top.at(WEIR_A_BACKENDS))) {
          const Attributes one = within(nest);
          Service& told = state_.services[service()];
          const auto slot = mnl_attr_get_u16(one.at(WEIR_BACKEND_A_SLOT));
          told.marks[slot] = mnl_attr_get_u32(one.at(WEIR_BACKEND_A_MARK));
          told.validFrom[slot] = {mnl_attr_get_u32(one.at(WEIR_BACKEND_A_EPOCH_TCP)),
                                  mnl_attr_get_u32(one.at(WEIR_BACKEND_A_EPOCH_UDP)),
                                  mnl_attr_get_u32(one.at(WEIR_BACKEND_A_EPOCH_OTHER))};
        }
        return 0;
      case WEIR_CMD_BACKEND_DEL:
        return state_.services[service()].marks.erase(mnl_attr_get_u16(top.at(WEIR_A_SLOT))) == 1
                   ? 0
                   : ENOENT;
      case WEIR_CMD_BACKEND_GET:
        for (const auto& [id, told] : state_.services)
          for (const auto& [slot, mark] : told.marks) tellBackend(request, id, slot);
        return 0;
      case WEIR_CMD_FLOW_DEL: {
        const auto named = namedKeys(top);
        std::erase_if(state_.flows, [&](const Flow& flow) { return named.contains(flow.key); });
        return 0;
      }
      case WEIR_CMD_FLOW_GET: {
        const auto named = dump ? std::set<std::string>() : namedKeys(top);
        for (const Flow& flow : state_.flows)
          if (dump || named.contains(flow.key)) tellFlow(request, flow, dump);
        return 0;
      }
      default:  // a number of the protocol that no command has
        return EOPNOTSUPP;
    }
  }

  static void set(Service& told, const Attributes& top) {
    const auto number = [&](std::uint16_t type, std::uint32_t& value) {
      if (top.contains(type)) value = mnl_attr_get_u32(top.at(type));
    };
    number(WEIR_A_EPOCH, told.epoch);
    number(WEIR_A_SERVICE_FLAGS, told.flags);
    number(WEIR_A_IDLE_TIMEOUT, told.idleTimeout);
    if (top.contains(WEIR_A_KEY)) told.key = mnl_attr_get_u8(top.at(WEIR_A_KEY));
    if (top.contains(WEIR_A_RULES)) told.rules = elements(top.at(WEIR_A_RULES)).size();
  }
  static std::set<std::string> namedKeys(const Attributes& top) {
    std::set<std::string> keys;
    const auto flows = elements(top.at(WEIR_A_FLOWS));
    if (flows.size() > WEIR_MAX_FLOWS_PER_MESSAGE) throw std::runtime_error("too many flows");
    for (const nlattr* nest : flows) keys.insert(text(nest));
    return keys;
  }
  void tellBackend(const nlmsghdr& request, std::uint16_t service, std::uint16_t slot) {
    Reply reply(request, kFamily, true);
    reply.generic();
    mnl_attr_put_u16(reply.header(), WEIR_A_SERVICE, service);
    nlattr* array = mnl_attr_nest_start(reply.header(), WEIR_A_BACKENDS);
    nlattr* nest = mnl_attr_nest_start(reply.header(), 1);
    mnl_attr_put_u16(reply.header(), WEIR_BACKEND_A_SLOT, slot);
    mnl_attr_put_u64(reply.header(), WEIR_BACKEND_A_PACKETS, 100u + slot);
    mnl_attr_put_u64(reply.header(), WEIR_BACKEND_A_BYTES, 6000u + slot);
    mnl_attr_nest_end(reply.header(), nest);
    mnl_attr_nest_end(reply.header(), array);
    reply.sendTo(ours_.get());
  }
  void tellFlow(const nlmsghdr& request, const Flow& flow, bool dump) {
    Reply reply(request, kFamily, dump);
    reply.generic();
    nlattr* array = mnl_attr_nest_start(reply.header(), WEIR_A_FLOWS);
    nlattr* nest = mnl_attr_nest_start(reply.header(), 1);
    std::memcpy(mnl_nlmsg_get_payload_tail(reply.header()), flow.key.data(), flow.key.size());
    reply.header()->nlmsg_len += static_cast<std::uint32_t>(flow.key.size());
    mnl_attr_put_u16(reply.header(), WEIR_FLOW_A_SLOT, flow.slot);
    mnl_attr_put_u32(reply.header(), WEIR_FLOW_A_EPOCH, flow.epoch);
    mnl_attr_put_u32(reply.header(), WEIR_FLOW_A_IDLE, flow.idleMs);
    if (flow.onlySyn) mnl_attr_put(reply.header(), WEIR_FLOW_A_ONLY_SYN, 0, nullptr);
    mnl_attr_nest_end(reply.header(), nest);
    mnl_attr_nest_end(reply.header(), array);
    reply.sendTo(ours_.get());
  }

  Fd ours_, theirs_;
  std::mutex mutex_;
  State state_;
  std::thread thread_;
};

}  // namespace weir::test
