// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_bench_plain_loop QUEUE MARK...
// What a program does that follows libnetfilter_queue's manual: one recv() and one verdict with a
// mark for each packet. The marks are taken by the packet's source port, so that the load on the
// routes behind them is that of the engine.
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
#include <libnetfilter_queue/libnetfilter_queue.h>
}

namespace {

struct Loop {
  std::vector<std::uint32_t> marks;
};

int onPacket(nfq_q_handle* queue, nfgenmsg*, nfq_data* data, void* context) {
  const auto& loop = *static_cast<const Loop*>(context);
  const nfqnl_msg_packet_hdr* header = nfq_get_msg_packet_hdr(data);
  if (header == nullptr) return 0;
  unsigned char* payload = nullptr;
  const int length = nfq_get_payload(data, &payload);
  const std::size_t port = length >= 22 ? payload[20] * 256u + payload[21] : 0;
  return nfq_set_verdict2(queue, ntohl(header->packet_id), NF_ACCEPT,
                          loop.marks[port % loop.marks.size()], 0, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: %s QUEUE MARK...\n", argv[0]), 2;
  Loop loop;
  for (int i = 2; i < argc; ++i)
    loop.marks.push_back(static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 0)));

  nfq_handle* handle = nfq_open();
  if (handle == nullptr) return std::perror("nfq_open"), 1;
  const auto number = static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10));
  nfq_q_handle* queue = nfq_create_queue(handle, number, &onPacket, &loop);
  if (queue == nullptr) return std::perror("nfq_create_queue"), 1;
  if (nfq_set_mode(queue, NFQNL_COPY_PACKET, 128) < 0) return std::perror("nfq_set_mode"), 1;
  nfq_set_queue_flags(queue, NFQA_CFG_F_GSO, NFQA_CFG_F_GSO);
  nfq_set_queue_maxlen(queue, 16384);
  nfnl_rcvbufsiz(nfq_nfnlh(handle), 32 << 20);

  alignas(8) std::array<char, 4096> buffer;
  const int fd = nfq_fd(handle);
  std::puts("ready");
  std::fflush(stdout);
  for (;;) {
    const ssize_t length = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (length >= 0)
      nfq_handle_packet(handle, buffer.data(), static_cast<int>(length));
    else if (errno != ENOBUFS && errno != EINTR)
      return std::perror("recv"), 1;
  }
}
