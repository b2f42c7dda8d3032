# SPDX-License-Identifier: GPL-2.0-or-later
"""udp_echo.py NAME PORT: answers each datagram with "NAME SOURCE DATAGRAM", from the address it was sent to."""
import socket
import struct
import sys

NAME, PORT = sys.argv[1].encode(), int(sys.argv[2])
IP_PKTINFO, IPV6_RECVPKTINFO, IPV6_PKTINFO = 8, 49, 50

sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
sock.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
sock.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
sock.bind(("::", PORT))
while True:
    data, control, _, client = sock.recvmsg(65535, 256)
    answer_from = []
    for level, kind, value in control:
        # The answer must leave from the virtual address, as TCP's does by itself.
        if level == socket.IPPROTO_IPV6 and kind == IPV6_PKTINFO:
            answer_from = [(level, kind, value[:16] + struct.pack("i", 0))]
        elif level == socket.IPPROTO_IP and kind == IP_PKTINFO:
            answer_from = [(level, kind, struct.pack("i", 0) + value[8:12] + bytes(4))]
    source = client[0].removeprefix("::ffff:").encode()
    sock.sendmsg([NAME + b" " + source + b" " + data], answer_from, 0, client)
