// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_bench_sender SOURCE DESTINATION FLOWS PACKETS_PER_SECOND SECONDS
// Sends UDP packets of 64 bytes, the flows (source ports) in turn, at a bounded rate; prints how
// many were sent. Packets are built beforehand, so that the sender costs little beside what it
// loads.
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace {

constexpr std::size_t kPacketBytes = 64;
constexpr std::size_t kBurst = 32;
constexpr std::uint16_t kFirstPort = 10000;

using PacketBytes = std::array<unsigned char, kPacketBytes>;

PacketBytes makePacket(in_addr source, in_addr destination, std::size_t flow) {
  PacketBytes bytes{};
  iphdr ip{};
  ip.version = 4;
  ip.ihl = 5;
  ip.tot_len = htons(kPacketBytes);
  ip.ttl = 64;
  ip.protocol = IPPROTO_UDP;
  ip.saddr = source.s_addr;
  ip.daddr = destination.s_addr;
  udphdr udp{};
  udp.source = htons(static_cast<std::uint16_t>(kFirstPort + flow));
  udp.dest = htons(80);
  udp.len = htons(kPacketBytes - sizeof ip);
  std::memcpy(bytes.data(), &ip, sizeof ip);
  std::memcpy(bytes.data() + sizeof ip, &udp, sizeof udp);
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  in_addr source{}, destination{};
  if (argc != 6 || ::inet_pton(AF_INET, argv[1], &source) != 1 ||
      ::inet_pton(AF_INET, argv[2], &destination) != 1)
    return std::fprintf(stderr, "usage: %s SOURCE DESTINATION FLOWS RATE SECONDS\n", argv[0]), 2;
  const auto flows = std::clamp<std::size_t>(std::strtoul(argv[3], nullptr, 10), 1, 50000);
  const double rate = std::clamp(std::strtod(argv[4], nullptr), 1.0, 1e6);
  const double seconds = std::clamp(std::strtod(argv[5], nullptr), 0.1, 60.0);

  const weir::Fd fd(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
  if (!fd) return std::perror("raw socket"), 1;
  const int buffer = 4 << 20;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);

  std::vector<PacketBytes> packets;
  for (std::size_t i = 0; i < flows; ++i) packets.push_back(makePacket(source, destination, i));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr = destination;
  std::array<iovec, kBurst> parts{};
  std::array<mmsghdr, kBurst> burst{};
  for (std::size_t i = 0; i < kBurst; ++i) {
    burst[i].msg_hdr.msg_name = &to;
    burst[i].msg_hdr.msg_namelen = sizeof to;
    burst[i].msg_hdr.msg_iov = &parts[i];
    burst[i].msg_hdr.msg_iovlen = 1;
  }

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto total = static_cast<std::size_t>(rate * seconds);
  std::size_t sent = 0;
  while (sent < total) {
    for (std::size_t i = 0; i < kBurst; ++i)
      parts[i] = {packets[(sent + i) % flows].data(), kPacketBytes};
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
