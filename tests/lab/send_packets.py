# SPDX-License-Identifier: GPL-2.0-or-later
"""send_packets.py INTERFACE GATEWAY: sends the IP packets on standard input, one in hexadecimal per
line, byte for byte as they are to the gateway's MAC address."""
import socket
import subprocess
import sys

interface, gateway = sys.argv[1:3]
subprocess.run(["ping", "-c1", "-W2", gateway], check=True, stdout=subprocess.DEVNULL)
neighbour = subprocess.check_output(["ip", "neigh", "show", gateway, "dev", interface], text=True).split()
mac = bytes.fromhex(neighbour[neighbour.index("lladdr") + 1].replace(":", ""))
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
    sock.bind((interface, 0))
    own = sock.getsockname()[4]
    for line in sys.stdin:
        packet = bytes.fromhex(line)
        kind = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
        sock.send(mac + own + kind + packet)
