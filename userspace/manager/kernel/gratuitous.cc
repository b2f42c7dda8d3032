// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/gratuitous.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"

namespace weir::manager {
namespace {

Status failure(Address address, const Link& link) {
  return Error{fmt::format("cannot announce {} on {}: {}", address.toString(), link.name,
                           std::strerror(errno))};
}

Status sendArp(Address address, const Link& link) {
  const Fd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!fd) return failure(address, link);
  const auto frame = gratuitousArp(address, link.mac);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETHERTYPE_ARP);
  to.sll_ifindex = static_cast<int>(link.index);
  if (::sendto(fd.get(), frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to),
               sizeof to) < 0)
    return failure(address, link);
  return success();
}

Status sendAdvertisement(Address address, const Link& link) {
  const Fd fd(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6));
  if (!fd) return failure(address, link);
  const int interface = static_cast<int>(link.index), hops = 255, loop = 0;
  if (::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, &interface, sizeof interface) != 0 ||
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) != 0 ||
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &loop, sizeof loop) != 0)
    return failure(address, link);
  const auto message = unsolicitedAdvertisement(address, link.mac);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_scope_id = link.index;
  // All nodes of the link.
  to.sin6_addr.s6_addr[0] = 0xff;
  to.sin6_addr.s6_addr[1] = 0x02;
  to.sin6_addr.s6_addr[15] = 0x01;
  if (::sendto(fd.get(), message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&to),
               sizeof to) < 0)
    return failure(address, link);
  return success();
}

}  // namespace

std::array<std::uint8_t, 42> gratuitousArp(Address address, const MacAddress& mac) {
  constexpr std::array<std::uint8_t, 10> kBeforeSender{
      ETHERTYPE_ARP >> 8, ETHERTYPE_ARP & 0xff, 0, 1, 8, 0, 6, 4, 0, 1};
  std::array<std::uint8_t, 42> frame{};
  const auto bytes = address.bytes();
  auto* at = std::fill_n(frame.begin(), mac.size(), std::uint8_t{0xff});
  at = std::ranges::copy(mac, at).out;
  at = std::ranges::copy(kBeforeSender, at).out;
  at = std::ranges::copy(mac, at).out;
  at = std::copy_n(bytes.begin() + 12, 4, at);
  at += static_cast<std::ptrdiff_t>(mac.size());  // the target's, which is not asked for
  std::copy_n(bytes.begin() + 12, 4, at);
  return frame;
}

std::array<std::uint8_t, 32> unsolicitedAdvertisement(Address address, const MacAddress& mac) {
  constexpr std::uint8_t kRouterAndOverride = 0xa0, kTargetLinkLayerAddress = 2;
  std::array<std::uint8_t, 32> message{};
  message[0] = ND_NEIGHBOR_ADVERT;
  message[4] = kRouterAndOverride;
  std::ranges::copy(address.bytes(), message.begin() + 8);
  message[24] = kTargetLinkLayerAddress;
  message[25] = 1;  // of eight bytes
  std::ranges::copy(mac, message.begin() + 26);
  return message;
}

Status announceOnce(Address address, const Link& link) {
  return address.isIpv4() ? sendArp(address, link) : sendAdvertisement(address, link);
}

}  // namespace weir::manager
