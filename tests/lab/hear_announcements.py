# SPDX-License-Identifier: GPL-2.0-or-later
"""hear_announcements.py INTERFACE: prints "ADDRESS MAC" for each gratuitous ARP request and each
unsolicited neighbour advertisement that comes in, until it is ended. Its first line is "ready"."""
import ipaddress
import socket
import sys

ETH_P_ALL = 0x0003
PACKET_OUTGOING = 4


def announcement(frame):
    kind = frame[12:14]
    if kind == b"\x08\x06" and frame[:6] == b"\xff" * 6 and frame[20:22] == b"\x00\x01" and frame[28:32] == frame[38:42]:
        return ipaddress.ip_address(frame[28:32]), frame[22:28]
    # To all nodes, hop limit 255, not solicited, overriding, with the target's link-layer address.
    if kind == b"\x86\xdd" and frame[20] == 58 and frame[21] == 255 and frame[54] == 136 and \
            frame[38:54] == bytes.fromhex("ff02" + 26 * "0" + "01") and frame[58] & 0x60 == 0x20 and frame[78:80] == b"\x02\x01":
        return ipaddress.ip_address(frame[62:78]), frame[80:86]
    return None


with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(ETH_P_ALL)) as sock:
    sock.bind((sys.argv[1], ETH_P_ALL))
    print("ready", flush=True)
    while True:
        try:
            frame, source = sock.recvfrom(2048)
        except OSError:  # the link went down
            continue
        if source[2] == PACKET_OUTGOING or len(frame) < 42:
            continue
        if heard := announcement(frame):
            print(heard[0], heard[1].hex(":"), flush=True)
