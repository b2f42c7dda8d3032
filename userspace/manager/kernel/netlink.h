// SPDX-License-Identifier: GPL-2.0-or-later
//
// Netlink as the kernel state needs it: many requests in one send with an answer for each, whole
// dumps, and nf_tables transactions.
#pragma once

#include <libmnl/libmnl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "weir/result.h"

namespace weir::manager {

// Messages one after the other, as netlink wants them.
class Messages {
 public:
  // Adds a message of at most `room` bytes that `fill(nlmsghdr*)` completes with mnl_* or nftnl_*
  // functions. `what` names it in errors ("route of 10.0.0.1").
  template <class Fill>
  void add(std::string what, std::uint16_t type, std::uint16_t flags, std::size_t room, Fill fill) {
    const std::size_t start = bytes_.size();
    bytes_.resize(start + room);
    nlmsghdr* header = mnl_nlmsg_put_header(bytes_.data() + start);
    header->nlmsg_type = type;
    header->nlmsg_flags = flags;
    fill(header);
    bytes_.resize(start + MNL_ALIGN(header->nlmsg_len));
    starts_.push_back(start);
    names_.push_back(std::move(what));
  }
  // Adds a copy of a whole message.
  void addCopy(std::string what, const nlmsghdr& message);

  std::size_t size() const noexcept { return starts_.size(); }
  bool empty() const noexcept { return starts_.empty(); }
  const nlmsghdr* at(std::size_t index) const noexcept {
    return reinterpret_cast<const nlmsghdr*>(bytes_.data() + starts_[index]);
  }
  nlmsghdr* at(std::size_t index) noexcept {
    return reinterpret_cast<nlmsghdr*>(bytes_.data() + starts_[index]);
  }
  const std::string& name(std::size_t index) const noexcept { return names_[index]; }
  // The bytes of messages [first, last).
  std::span<const std::uint8_t> bytes(std::size_t first, std::size_t last) const noexcept;

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::size_t> starts_;
  std::vector<std::string> names_;
};

struct NetlinkAnswer {
  std::size_t request = 0;          // index into the messages sent
  int error = 0;                    // errno, 0: done
  std::string detail;               // what the kernel says about the error; may be empty
  const nlmsghdr* reply = nullptr;  // data, valid during the call; nullptr: a mere acknowledgement
};
// "refused: reason (detail)" in words for an operator.
std::string describe(const NetlinkAnswer&);

// Of several errors the first is kept.
inline void keepFirst(Status& status, const Status& next) {
  if (status && !next) status = next;
}

class Netlink {
 public:
  // NETLINK_ROUTE or NETLINK_NETFILTER, in the network namespace of the calling thread.
  static Result<Netlink> open(int protocol);

  // Sends every message, a few hundred per system call. Each must bring one answer: an
  // acknowledgement (NLM_F_ACK), an error or one message of data. Fails when answers are lost; what
  // the kernel did then is known only from a dump.
  using OnAnswer = std::function<void(const NetlinkAnswer&)>;
  Status exchange(Messages&, const OnAnswer&);

  // The whole, consistent answer to one dump request (the first of `request`); a dump that others'
  // changes interrupted is repeated.
  Result<Messages> dump(Messages& request);

  // Messages of nf_tables as one transaction: all or none. The answer is that of the message that
  // was refused first, or a success.
  Result<NetlinkAnswer> transaction(Messages&);

  // By which the kernel tells others who made a change.
  std::uint32_t port() const noexcept { return port_; }
  // Messages sent by exchange() and transaction() that change something, since open().
  std::uint64_t writes() const noexcept { return writes_; }

 private:
  Netlink(Fd fd, bool route, std::uint32_t port);
  Status send(std::span<const std::uint8_t> bytes);
  // Reads one datagram into buffer_.
  Result<std::size_t> receive();
  Result<bool> dumpOnce(Messages& request, Messages& into);
  bool changes(std::uint16_t type) const noexcept;

  Fd fd_;
  bool route_;
  std::uint32_t port_;
  std::uint32_t sequence_;
  std::uint64_t writes_ = 0;
  std::vector<std::uint8_t> buffer_;
};

// Sends changes, each with NLM_F_ACK, and gathers the first refusal. `goals` are errors that mean
// that there is nothing left to do: someone else has done the same already.
Status sendChanges(Netlink&, Messages&, std::initializer_list<int> goals);
// Alike, for things that must not take the place of somebody else's (NLM_F_EXCL): the indices of
// those whose place is taken go to `taken`, and are no errors.
Status sendCreations(Netlink&, Messages&, std::vector<std::size_t>& taken);

}  // namespace weir::manager
