// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/netlink.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "manager/kernel/attributes.h"

namespace weir::manager {
namespace {

constexpr int kSocketBuffer = 16 << 20;
constexpr std::size_t kReceiveBuffer = 256 << 10;
// Acknowledgements wait in the receive buffer until the whole send is done, so a send must not
// bring more of them than fit even where the buffer could not be enlarged.
constexpr std::size_t kMessagesPerSend = 200;
constexpr std::size_t kBytesPerSend = 96 << 10;
constexpr int kDumpAttempts = 10;

Error failure(const char* what) {
  return Error{fmt::format("netlink: {}: {}", what, std::strerror(errno))};
}

template <class T>
void setOption(int fd, int level, int name, T value) {
  // Refused on old kernels or without privileges; each is an improvement, not a need.
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

struct ErrorMessage {
  int error;
  std::string detail;
};

ErrorMessage readError(const nlmsghdr* message) {
  const auto* body = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(message));
  ErrorMessage result{-body->error, {}};
  if ((message->nlmsg_flags & NLM_F_ACK_TLVS) == 0) return result;
  std::size_t offset = sizeof *body;
  if ((message->nlmsg_flags & NLM_F_CAPPED) == 0)
    offset += MNL_ALIGN(body->msg.nlmsg_len) - sizeof(nlmsghdr);
  forEachAttribute(*message, offset, [&](const nlattr* attribute) {
    if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG)
      result.detail = mnl_attr_get_str(attribute);
  });
  return result;
}

}  // namespace

void Messages::addCopy(std::string what, const nlmsghdr& message) {
  const std::size_t start = bytes_.size();
  bytes_.resize(start + MNL_ALIGN(message.nlmsg_len));
  std::memcpy(bytes_.data() + start, &message, message.nlmsg_len);
  starts_.push_back(start);
  names_.push_back(std::move(what));
}

std::span<const std::uint8_t> Messages::bytes(std::size_t first, std::size_t last) const noexcept {
  const std::size_t begin = first < starts_.size() ? starts_[first] : bytes_.size();
  const std::size_t end = last < starts_.size() ? starts_[last] : bytes_.size();
  return std::span(bytes_).subspan(begin, end - begin);
}

std::string describe(const NetlinkAnswer& answer) {
  if (answer.detail.empty()) return std::strerror(answer.error);
  return fmt::format("{} ({})", std::strerror(answer.error), answer.detail);
}

Netlink::Netlink(Fd fd, bool route, std::uint32_t port)
    : fd_(std::move(fd)),
      route_(route),
      port_(port),
      sequence_(static_cast<std::uint32_t>(::time(nullptr))),
      buffer_(kReceiveBuffer) {}

Result<Netlink> Netlink::open(int protocol) {
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!fd) return failure("cannot open a socket");
  setOption(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, kSocketBuffer);
  setOption(fd.get(), SOL_SOCKET, SO_SNDBUFFORCE, kSocketBuffer);
  setOption(fd.get(), SOL_NETLINK, NETLINK_EXT_ACK, 1);
  setOption(fd.get(), SOL_NETLINK, NETLINK_CAP_ACK, 1);
  setOption(fd.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
  // The kernel answers within the send; a time-out means that the answer was lost.
  setOption(fd.get(), SOL_SOCKET, SO_RCVTIMEO, timeval{.tv_sec = 5, .tv_usec = 0});
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failure("cannot bind a socket");
  socklen_t length = sizeof address;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return failure("cannot read a socket's name");
  return Netlink(std::move(fd), protocol == NETLINK_ROUTE, address.nl_pid);
}

bool Netlink::changes(std::uint16_t type) const noexcept {
  // rtnetlink numbers its messages NEW, DEL, GET, SET in groups of four from 16 on.
  if (route_) return type >= 16 && type % 4 != 2;
  constexpr int kChanges[] = {NFT_MSG_NEWTABLE,  NFT_MSG_DELTABLE, NFT_MSG_NEWCHAIN,
                              NFT_MSG_NEWRULE,   NFT_MSG_NEWSET,   NFT_MSG_NEWSETELEM,
                              NFT_MSG_DELSETELEM};
  return std::ranges::find(kChanges, type & 0xff) != std::end(kChanges);
}

Status Netlink::send(std::span<const std::uint8_t> bytes) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  while (::sendto(fd_.get(), bytes.data(), bytes.size(), 0,
                  reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0) {
    if (errno != EINTR) return failure("cannot send");
  }
  return success();
}

Result<std::size_t> Netlink::receive() {
  for (;;) {
    const ssize_t length = ::recv(fd_.get(), buffer_.data(), buffer_.size(), MSG_TRUNC);
    if (length < 0) {
      if (errno == EINTR) continue;
      return failure(errno == ENOBUFS ? "answers were lost" : "cannot receive");
    }
    if (static_cast<std::size_t>(length) > buffer_.size())
      return Error{"netlink: an answer is longer than the buffer"};
    return static_cast<std::size_t>(length);
  }
}

Status Netlink::exchange(Messages& messages, const OnAnswer& onAnswer) {
  for (std::size_t first = 0; first < messages.size();) {
    std::size_t last = first;
    std::size_t bytes = 0;
    const std::uint32_t base = ++sequence_;
    while (last < messages.size() && last - first < kMessagesPerSend && bytes < kBytesPerSend) {
      nlmsghdr* message = messages.at(last);
      message->nlmsg_seq = base + static_cast<std::uint32_t>(last - first);
      bytes += message->nlmsg_len;
      if (changes(message->nlmsg_type)) ++writes_;
      ++last;
    }
    sequence_ = base + static_cast<std::uint32_t>(last - first);
    if (Status sent = send(messages.bytes(first, last)); !sent) return sent;

    std::vector<bool> answered(last - first);
    for (std::size_t waiting = last - first; waiting > 0;) {
      const Result<std::size_t> received = receive();
      if (!received) return received.error();
      int rest = static_cast<int>(*received);
      const auto* message = reinterpret_cast<const nlmsghdr*>(buffer_.data());
      for (; mnl_nlmsg_ok(message, rest); message = mnl_nlmsg_next(message, &rest)) {
        const std::size_t index = message->nlmsg_seq - base;
        if (index >= answered.size() || answered[index]) continue;
        answered[index] = true;
        --waiting;
        NetlinkAnswer answer{first + index, 0, {}, nullptr};
        if (message->nlmsg_type == NLMSG_ERROR) {
          ErrorMessage error = readError(message);
          answer.error = error.error;
          answer.detail = std::move(error.detail);
        } else {
          answer.reply = message;
        }
        onAnswer(answer);
      }
    }
    first = last;
  }
  return success();
}

// True: complete; false: interrupted by a change, to be repeated.
Result<bool> Netlink::dumpOnce(Messages& request, Messages& into) {
  nlmsghdr* header = request.at(0);
  header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  header->nlmsg_seq = ++sequence_;
  if (Status sent = send(request.bytes(0, 1)); !sent) return sent.error();
  bool interrupted = false;
  for (;;) {
    const Result<std::size_t> received = receive();
    if (!received) return received.error();
    int rest = static_cast<int>(*received);
    const auto* message = reinterpret_cast<const nlmsghdr*>(buffer_.data());
    for (; mnl_nlmsg_ok(message, rest); message = mnl_nlmsg_next(message, &rest)) {
      if (message->nlmsg_seq != sequence_) continue;
      if ((message->nlmsg_flags & NLM_F_DUMP_INTR) != 0) interrupted = true;
      if (message->nlmsg_type == NLMSG_DONE) return !interrupted;
      if (message->nlmsg_type == NLMSG_ERROR) {
        const ErrorMessage error = readError(message);
        if (error.error == EINTR) return false;
        return Error{fmt::format("netlink: cannot list {}: {}", request.name(0),
                                 describe({0, error.error, error.detail, nullptr}))};
      }
      into.addCopy({}, *message);
    }
  }
}

Result<Messages> Netlink::dump(Messages& request) {
  for (int attempt = 0; attempt < kDumpAttempts; ++attempt) {
    Messages result;
    const Result<bool> complete = dumpOnce(request, result);
    if (!complete) return complete.error();
    if (*complete) return result;
  }
  return Error{
      fmt::format("netlink: the list of {} changes faster than it can be read", request.name(0))};
}

Result<NetlinkAnswer> Netlink::transaction(Messages& messages) {
  const auto bracket = [](std::uint16_t type) {
    return [type](nlmsghdr* header) {
      header->nlmsg_type = type;
      auto* generic = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(nfgenmsg)));
      generic->nfgen_family = AF_UNSPEC;
      generic->version = NFNETLINK_V0;
      generic->res_id = htons(NFNL_SUBSYS_NFTABLES);
    };
  };
  Messages batch;
  batch.add("begin", NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST, 64, bracket(NFNL_MSG_BATCH_BEGIN));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    batch.addCopy(messages.name(i), *messages.at(i));
    nlmsghdr* copy = batch.at(i + 1);
    copy->nlmsg_flags = static_cast<std::uint16_t>(copy->nlmsg_flags & ~NLM_F_ACK);
    if (changes(copy->nlmsg_type)) ++writes_;
  }
  batch.at(batch.size() - 1)->nlmsg_flags |= NLM_F_ACK;
  batch.add("end", NFNL_MSG_BATCH_END, NLM_F_REQUEST, 64, bracket(NFNL_MSG_BATCH_END));
  const std::uint32_t base = ++sequence_;
  for (std::size_t i = 0; i < batch.size(); ++i)
    batch.at(i)->nlmsg_seq = base + static_cast<std::uint32_t>(i);
  sequence_ = base + static_cast<std::uint32_t>(batch.size());
  if (Status sent = send(batch.bytes(0, batch.size())); !sent) return sent.error();

  // Errors come in the order of the messages, the acknowledgement of the last one after them.
  const std::size_t lastRequest = batch.size() - 2;
  NetlinkAnswer answer;
  for (;;) {
    const Result<std::size_t> received = receive();
    if (!received) return received.error();
    int rest = static_cast<int>(*received);
    const auto* message = reinterpret_cast<const nlmsghdr*>(buffer_.data());
    for (; mnl_nlmsg_ok(message, rest); message = mnl_nlmsg_next(message, &rest)) {
      const std::size_t index = message->nlmsg_seq - base;
      if (index > lastRequest + 1 || message->nlmsg_type != NLMSG_ERROR) continue;
      ErrorMessage error = readError(message);
      if (error.error != 0 && answer.error == 0) {
        const bool ofBatch = index == 0 || index > lastRequest;
        answer = {ofBatch ? 0 : index - 1, error.error, std::move(error.detail), nullptr};
      }
      // An error of the bracket ends a batch without further answers.
      if (index == 0 || index >= lastRequest) return answer;
    }
  }
}

namespace {

// `isFine`: of an answer with an error, is it none for the caller?
template <class IsFine>
Status sendAll(Netlink& netlink, Messages& messages, IsFine isFine) {
  if (messages.empty()) return success();
  Status first = success();
  std::size_t refused = 0;
  const Status sent = netlink.exchange(messages, [&](const NetlinkAnswer& answer) {
    if (answer.error == 0 || isFine(answer)) return;
    if (refused++ == 0) {
      first = Error{fmt::format("the kernel refused the {}: {}", messages.name(answer.request),
                                describe(answer))};
    }
  });
  if (!sent) return sent;
  if (refused > 1)
    return Error{fmt::format("{} (and {} more)", first.error().message, refused - 1)};
  return first;
}

}  // namespace

Status sendChanges(Netlink& netlink, Messages& messages, std::initializer_list<int> goals) {
  return sendAll(netlink, messages, [&](const NetlinkAnswer& answer) {
    return std::ranges::find(goals, answer.error) != goals.end();
  });
}

Status sendCreations(Netlink& netlink, Messages& messages, std::vector<std::size_t>& taken) {
  return sendAll(netlink, messages, [&](const NetlinkAnswer& answer) {
    if (answer.error != EEXIST) return false;
    taken.push_back(answer.request);
    return true;
  });
}

}  // namespace weir::manager
