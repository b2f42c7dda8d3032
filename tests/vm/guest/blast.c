// SPDX-License-Identifier: GPL-2.0-or-later
// blast INTERFACE MAC SOURCE DESTINATION PACKETS FLOWS [MICROSECONDS]
//
// Sends UDP packets of 60 bytes and FLOWS 5-tuples in turn through a packet socket, as fast as it
// can or with a pause between batches. Static, so that it runs in a guest with nothing else.
#define _GNU_SOURCE  // sendmmsg
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kBatch = 64, kPayload = 18 };

struct frame {
  struct ethhdr ethernet;
  struct iphdr ip;
  struct udphdr udp;
  unsigned char payload[kPayload];
} __attribute__((packed));

static unsigned short checksum(const void* header) {
  unsigned short words[sizeof(struct iphdr) / 2];
  unsigned long sum = 0;
  memcpy(words, header, sizeof words);
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) sum += words[i];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return (unsigned short)~sum;
}

static void fail(const char* what) {
  perror(what);
  exit(1);
}

int main(int argc, char** argv) {
  if (argc < 7) {
    fprintf(stderr, "usage: blast INTERFACE MAC SOURCE DESTINATION PACKETS FLOWS [MICROSECONDS]\n");
    return 2;
  }
  const unsigned long packets = strtoul(argv[5], NULL, 10), flows = strtoul(argv[6], NULL, 10);
  const useconds_t pause = argc > 7 ? (useconds_t)strtoul(argv[7], NULL, 10) : 0;
  const int fd = socket(AF_PACKET, SOCK_RAW, 0);
  if (fd < 0) fail("socket");
  struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(argv[1])};
  if (bind(fd, (struct sockaddr*)&to, sizeof to) != 0) fail("bind");

  static struct frame frames[kBatch];
  static struct iovec parts[kBatch];
  static struct mmsghdr messages[kBatch];
  unsigned mac[6];
  if (sscanf(argv[2], "%x:%x:%x:%x:%x:%x", mac, mac + 1, mac + 2, mac + 3, mac + 4, mac + 5) != 6) return 2;
  const unsigned base = ntohl(inet_addr(argv[3]));
  for (int i = 0; i < kBatch; ++i) {
    struct frame* f = &frames[i];
    for (int j = 0; j < 6; ++j) f->ethernet.h_dest[j] = (unsigned char)mac[j];
    f->ethernet.h_source[0] = 2;
    f->ethernet.h_proto = htons(ETH_P_IP);
    f->ip.version = 4;
    f->ip.ihl = 5;
    f->ip.ttl = 64;
    f->ip.protocol = IPPROTO_UDP;
    f->ip.tot_len = htons(sizeof f->ip + sizeof f->udp + kPayload);
    f->ip.daddr = inet_addr(argv[4]);
    f->udp.dest = htons(53);
    f->udp.len = htons(sizeof f->udp + kPayload);
    parts[i].iov_base = f;
    parts[i].iov_len = sizeof *f;
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  for (unsigned long sent = 0; sent < packets;) {
    unsigned batch = packets - sent < kBatch ? (unsigned)(packets - sent) : kBatch;
    for (unsigned i = 0; i < batch; ++i) {
      const unsigned long flow = (sent + i) % flows;
      frames[i].ip.saddr = htonl(base + (unsigned)(flow >> 15));
      frames[i].udp.source = htons((unsigned short)(1024 + (flow & 0x7fff)));
      frames[i].ip.check = 0;
      frames[i].ip.check = checksum(&frames[i].ip);
    }
    const int done = sendmmsg(fd, messages, batch, 0);
    if (done < 0) fail("sendmmsg");
    sent += (unsigned)done;
    if (pause) usleep(pause);
  }
  return 0;
}
