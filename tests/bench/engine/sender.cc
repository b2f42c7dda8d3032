// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_bench_sender SOURCE DESTINATION FLOWS PACKETS_PER_SECOND SECONDS [udp|syn]
// Sends UDP packets of 64 bytes, or TCP packets with SYN alone, to port 80, the flows in turn, at a
// bounded rate; prints how many were sent. FLOWS is PORTS or ADDRESSESxPORTS: so many source
// addresses, SOURCE and others scattered over the 2^24 behind it, with so many ports each. Packets
// are built beforehand, so that the sender costs little beside what it loads.
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace {

constexpr std::size_t kPacketBytes = 64;
constexpr std::size_t kBurst = 32;
constexpr std::uint16_t kFirstPort = 10000;
constexpr std::size_t kMostPorts = 50000;
constexpr std::size_t kMostFlows = std::size_t{1} << 22;
constexpr std::uint32_t kScatter = 0x9e3779b1;  // odd: no address twice within 2^24
constexpr std::uint32_t kScatterMask = 0xffffff;

using PacketBytes = std::array<unsigned char, kPacketBytes>;

struct Endpoint {
  int family = AF_INET;
  std::array<unsigned char, 16> bytes{};  // the first four for IPv4

  static std::optional<Endpoint> parse(const char* text) {
    Endpoint endpoint;
    if (::inet_pton(AF_INET, text, endpoint.bytes.data()) == 1) return endpoint;
    endpoint.family = AF_INET6;
    if (::inet_pton(AF_INET6, text, endpoint.bytes.data()) == 1) return endpoint;
    return std::nullopt;
  }
  std::span<const unsigned char> used() const { return std::span(bytes).first(length()); }
  std::size_t length() const { return family == AF_INET ? 4 : 16; }
  Endpoint scattered(std::size_t number) const {
    Endpoint other = *this;
    std::uint32_t low = 0;
    unsigned char* last = other.bytes.data() + length() - sizeof low;
    std::memcpy(&low, last, sizeof low);
    low = htonl(ntohl(low) + ((static_cast<std::uint32_t>(number) * kScatter) & kScatterMask));
    std::memcpy(last, &low, sizeof low);
    return other;
  }
};

// The one's complement sum of RFC 1071, of an even number of bytes.
std::uint32_t sumOf(std::span<const unsigned char> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += bytes[i] * 256u + bytes[i + 1];
  return sum;
}

struct Builder {
  Endpoint source, destination;
  bool syn = false;

  std::size_t headerBytes() const {
    return source.family == AF_INET ? sizeof(iphdr) : sizeof(ip6_hdr);
  }
  std::size_t packetBytes() const { return syn ? headerBytes() + sizeof(tcphdr) : kPacketBytes; }

  PacketBytes make(std::size_t address, std::size_t port) const {
    PacketBytes bytes{};
    const Endpoint from = source.scattered(address);
    putHeader(bytes.data(), from);
    unsigned char* payload = bytes.data() + headerBytes();
    const auto sourcePort = static_cast<std::uint16_t>(kFirstPort + port);
    if (syn)
      putSyn(payload, from, sourcePort);
    else
      putUdp(payload, sourcePort);
    return bytes;
  }

 private:
  void putHeader(unsigned char* at, const Endpoint& from) const {
    const unsigned char protocol = syn ? IPPROTO_TCP : IPPROTO_UDP;
    if (from.family == AF_INET) {
      iphdr ip{};
      ip.version = 4;
      ip.ihl = 5;
      ip.tot_len = htons(static_cast<std::uint16_t>(packetBytes()));
      ip.ttl = 64;
      ip.protocol = protocol;
      std::memcpy(&ip.saddr, from.bytes.data(), sizeof ip.saddr);
      std::memcpy(&ip.daddr, destination.bytes.data(), sizeof ip.daddr);
      std::memcpy(at, &ip, sizeof ip);
      return;
    }
    ip6_hdr ip{};
    ip.ip6_flow = htonl(6u << 28);
    ip.ip6_plen = htons(static_cast<std::uint16_t>(packetBytes() - sizeof ip));
    ip.ip6_nxt = protocol;
    ip.ip6_hlim = 64;
    std::memcpy(&ip.ip6_src, from.bytes.data(), sizeof ip.ip6_src);
    std::memcpy(&ip.ip6_dst, destination.bytes.data(), sizeof ip.ip6_dst);
    std::memcpy(at, &ip, sizeof ip);
  }

  // Without a checksum: nobody who receives it looks.
  void putUdp(unsigned char* at, std::uint16_t port) const {
    udphdr udp{};
    udp.source = htons(port);
    udp.dest = htons(80);
    udp.len = htons(static_cast<std::uint16_t>(packetBytes() - headerBytes()));
    std::memcpy(at, &udp, sizeof udp);
  }

  void putSyn(unsigned char* at, const Endpoint& from, std::uint16_t port) const {
    tcphdr tcp{};
    tcp.source = htons(port);
    tcp.dest = htons(80);
    tcp.seq = htonl(port * kScatter);
    tcp.doff = sizeof tcp / 4;
    tcp.syn = 1;
    tcp.window = htons(64240);
    std::memcpy(at, &tcp, sizeof tcp);
    std::uint32_t sum = sumOf(from.used()) + sumOf(destination.used()) + IPPROTO_TCP + sizeof tcp +
                        sumOf({at, sizeof tcp});
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    tcp.check = htons(static_cast<std::uint16_t>(~sum));
    std::memcpy(at, &tcp, sizeof tcp);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto source = argc >= 6 ? Endpoint::parse(argv[1]) : std::nullopt;
  const auto destination = argc >= 6 ? Endpoint::parse(argv[2]) : std::nullopt;
  const std::string_view kind = argc == 7 ? argv[6] : "udp";
  if (argc > 7 || !source || !destination || source->family != destination->family ||
      (kind != "udp" && kind != "syn"))
    return std::fprintf(stderr,
                        "usage: %s SOURCE DESTINATION [ADDRESSESx]PORTS RATE SECONDS [udp|syn]\n",
                        argv[0]),
           2;
  char* rest = nullptr;
  std::size_t addresses = 1, ports = std::strtoul(argv[3], &rest, 10);
  if (*rest == 'x') addresses = ports, ports = std::strtoul(rest + 1, nullptr, 10);
  ports = std::clamp<std::size_t>(ports, 1, kMostPorts);
  addresses = std::clamp<std::size_t>(addresses, 1, kMostFlows / ports);
  const double rate = std::clamp(std::strtod(argv[4], nullptr), 1.0, 1e6);
  const double seconds = std::clamp(std::strtod(argv[5], nullptr), 0.1, 120.0);

  const weir::Fd fd(::socket(source->family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
  if (!fd) return std::perror("raw socket"), 1;
  const int buffer = 4 << 20;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);

  const Builder builder{*source, *destination, kind == "syn"};
  std::vector<PacketBytes> packets;
  packets.reserve(addresses * ports);
  for (std::size_t address = 0; address < addresses; ++address)
    for (std::size_t port = 0; port < ports; ++port) packets.push_back(builder.make(address, port));

  sockaddr_storage to{};
  to.ss_family = static_cast<sa_family_t>(source->family);
  if (source->family == AF_INET)
    std::memcpy(&reinterpret_cast<sockaddr_in&>(to).sin_addr, destination->bytes.data(), 4);
  else
    std::memcpy(&reinterpret_cast<sockaddr_in6&>(to).sin6_addr, destination->bytes.data(), 16);
  std::array<iovec, kBurst> parts{};
  std::array<mmsghdr, kBurst> burst{};
  for (std::size_t i = 0; i < kBurst; ++i) {
    burst[i].msg_hdr.msg_name = &to;
    burst[i].msg_hdr.msg_namelen =
        source->family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    burst[i].msg_hdr.msg_iov = &parts[i];
    burst[i].msg_hdr.msg_iovlen = 1;
  }

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto total = static_cast<std::size_t>(rate * seconds);
  std::size_t sent = 0;
  while (sent < total) {
    for (std::size_t i = 0; i < kBurst; ++i)
      parts[i] = {packets[(sent + i) % packets.size()].data(), builder.packetBytes()};
    const int count = ::sendmmsg(fd.get(), burst.data(), kBurst, 0);
    if (count < 0 && errno != ENOBUFS && errno != EAGAIN) return std::perror("sendmmsg"), 1;
    if (count > 0) sent += static_cast<std::size_t>(count);
    const auto due = start + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(static_cast<double>(sent) / rate));
    // Ahead of the rate: wait. Behind it by much: the machine cannot, so stop at the time given.
    std::this_thread::sleep_until(due);
    if (Clock::now() - start > std::chrono::duration<double>(seconds * 1.5)) break;
  }
  std::printf("%zu\n", sent);
  return 0;
}
