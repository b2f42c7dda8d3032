// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_bench_batched_loop QUEUE MARK...
// The least that a program must do that gives every packet a mark of its own: many packets per
// recvmmsg(), all their verdicts in one send(). No table, no decision worth the name: the engine's
// floor. The marks are taken by the packet's source port.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "engine/queue.h"
#include "engine/queue_message.h"
#include "engine/verdict_writer.h"

int main(int argc, char** argv) {
  using weir::engine::Queue;
  if (argc < 3) return std::fprintf(stderr, "usage: %s QUEUE MARK...\n", argv[0]), 2;
  std::vector<std::uint32_t> marks;
  for (int i = 2; i < argc; ++i)
    marks.push_back(static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 0)));
  auto queue = Queue::open(static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10)),
                           std::chrono::milliseconds(200));
  if (!queue) return std::fprintf(stderr, "%s\n", queue.error().message.c_str()), 1;
  std::puts("ready");
  std::fflush(stdout);

  weir::engine::VerdictWriter verdicts(queue->number(), Queue::kBatch);
  for (;;) {
    const auto received = queue->receive();
    verdicts.clear();
    for (std::size_t i = 0; i < received.datagrams; ++i) {
      const auto message = weir::engine::parseQueueMessage(queue->datagram(i));
      if (message.kind != weir::engine::MessageKind::packet) continue;
      const auto bytes = message.packet.bytes;
      const std::size_t port = bytes.size() >= 22 ? bytes[20] * 256u + bytes[21] : 0;
      verdicts.add(message.packet.id, {true, true, marks[port % marks.size()]});
    }
    if (const auto messages = verdicts.finish(); !messages.empty()) queue->send(messages);
  }
}
