// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/duplicates.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "base/fd.h"
#include "manager/kernel/attributes.h"
#include "manager/kernel/gratuitous.h"

namespace weir::manager {
namespace {

constexpr std::size_t kArpSenderMac = 22, kArpSender = 28;

// One socket hears all answers of a family.
class Listener {
 public:
  static Result<Listener> open(Family family) {
    const bool ipv4 = family == Family::ipv4;
    Fd fd(ipv4 ? ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETHERTYPE_ARP))
               : ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETHERTYPE_IPV6)));
    if (!fd)
      return Error{
          fmt::format("cannot ask who answers for virtual addresses: {}", std::strerror(errno))};
    return Listener(std::move(fd), family);
  }

  void ask(const Question& question) const {
    const Link& link = *question.link;
    if (family_ == Family::ipv6) return solicit(question.address, link);
    auto frame = gratuitousArp(question.address, link.mac);
    std::ranges::copy(ownAddress(link), frame.begin() + kArpSender);
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(link.index);
    // What could not be sent is not answered, as with nobody there.
    (void)::sendto(fd_.get(), frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                   sizeof to);
  }

  int fd() const noexcept { return fd_.get(); }

  // The next frame as an answer; nullopt: it is none.
  struct Answer {
    Address address;
    unsigned link = 0;
    MacAddress mac{};
  };
  std::optional<Answer> receive() const {
    std::array<std::uint8_t, 256> frame;
    sockaddr_ll from{};
    socklen_t length = sizeof from;
    const ssize_t received = ::recvfrom(fd_.get(), frame.data(), frame.size(), 0,
                                        reinterpret_cast<sockaddr*>(&from), &length);
    if (received < 42 || from.sll_pkttype == PACKET_OUTGOING) return std::nullopt;
    Answer answer;
    answer.link = static_cast<unsigned>(from.sll_ifindex);
    const std::span<const std::uint8_t> bytes(frame);
    std::size_t mac = kArpSenderMac;
    std::optional<Address> address;
    if (family_ == Family::ipv4) {
      if (bytes[21] == 2) address = addressFrom(bytes.subspan(kArpSender, 4));
    } else {
      constexpr std::size_t kNextHeader = 20, kType = 54, kTarget = 62;
      mac = 6;
      if (received >= 78 && bytes[kNextHeader] == IPPROTO_ICMPV6 &&
          bytes[kType] == ND_NEIGHBOR_ADVERT)
        address = addressFrom(bytes.subspan(kTarget, 16));
    }
    if (!address) return std::nullopt;
    answer.address = *address;
    std::ranges::copy(bytes.subspan(mac, answer.mac.size()), answer.mac.begin());
    return answer;
  }

 private:
  Listener(Fd fd, Family family) : fd_(std::move(fd)), family_(family) {}

  // A question without a sender (RFC 5227) would not be answered by another host's proxy entry.
  static std::array<std::uint8_t, 4> ownAddress(const Link& link) {
    std::array<std::uint8_t, 4> address{};
    const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    link.name.copy(request.ifr_name, sizeof request.ifr_name - 1);
    if (fd && ::ioctl(fd.get(), SIOCGIFADDR, &request) == 0)
      std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in&>(request.ifr_addr).sin_addr,
                  address.size());
    return address;
  }

  // From the link's own address, so that the answer comes here alone.
  static void solicit(Address address, const Link& link) {
    const Fd fd(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6));
    const int interface = static_cast<int>(link.index), hops = 255;
    if (!fd ||
        ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, &interface, sizeof interface) !=
            0 ||
        ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) != 0)
      return;
    auto message = unsolicitedAdvertisement(address, link.mac);
    message[0] = ND_NEIGHBOR_SOLICIT;
    message[4] = 0;
    message[24] = 1;  // source link-layer address
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_scope_id = link.index;
    // The solicited-node address, ff02::1:ff00:0/104.
    constexpr std::array<std::uint8_t, 13> kPrefix{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
    const auto bytes = address.bytes();
    std::ranges::copy(kPrefix, to.sin6_addr.s6_addr);
    std::copy_n(bytes.begin() + 13, 3, to.sin6_addr.s6_addr + 13);
    (void)::sendto(fd.get(), message.data(), message.size(), 0,
                   reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }

  Fd fd_;
  Family family_;
};

}  // namespace

Result<std::vector<Duplicate>> findDuplicates(const std::vector<Question>& questions,
                                              std::chrono::milliseconds wait) {
  std::vector<Duplicate> duplicates;
  if (questions.empty()) return duplicates;
  std::vector<Listener> listeners;
  for (const Family family : kFamilies) {
    auto listener = Listener::open(family);
    if (!listener) return listener.error();
    listeners.push_back(std::move(*listener));
  }
  std::map<std::pair<Address, unsigned>, const Link*> asked;
  for (const Question& question : questions) {
    listeners[indexOf(question.address.family())].ask(question);
    asked.emplace(std::pair(question.address, question.link->index), question.link);
  }
  const auto end = std::chrono::steady_clock::now() + wait;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    std::array<pollfd, kFamilies.size()> descriptors{
        {{listeners[0].fd(), POLLIN, 0}, {listeners[1].fd(), POLLIN, 0}}};
    if (left.count() <= 0 ||
        ::poll(descriptors.data(), descriptors.size(), static_cast<int>(left.count())) <= 0)
      return duplicates;
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      if ((descriptors[i].revents & POLLIN) == 0) continue;
      const auto answer = listeners[i].receive();
      if (!answer) continue;
      const auto found = asked.find({answer->address, answer->link});
      if (found == asked.end() || found->second->mac == answer->mac) continue;
      const bool known = std::ranges::any_of(duplicates, [&](const Duplicate& duplicate) {
        return duplicate.address == answer->address && duplicate.mac == answer->mac;
      });
      if (!known) duplicates.push_back({answer->address, found->second->name, answer->mac});
    }
  }
}

}  // namespace weir::manager
