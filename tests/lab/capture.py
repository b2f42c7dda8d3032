# SPDX-License-Identifier: GPL-2.0-or-later
"""capture.py INTERFACE DESTINATION: prints the IP packets to that address that come in, one in
hexadecimal per line, until it is ended. Its first line is "ready"."""
import ipaddress
import socket
import sys

interface, destination = sys.argv[1], ipaddress.ip_address(sys.argv[2]).packed
PACKET_OUTGOING = 4
begin = 16 if len(destination) == 4 else 24
with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.ntohs(0x0800 if begin == 16 else 0x86DD)) as sock:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    sock.bind((interface, 0x0800 if begin == 16 else 0x86DD))
    print("ready", flush=True)
    while True:
        packet, source = sock.recvfrom(65600)
        if source[2] != PACKET_OUTGOING and packet[begin:begin + len(destination)] == destination:
            print(packet.hex(), flush=True)
