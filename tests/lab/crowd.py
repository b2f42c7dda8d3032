# SPDX-License-Identifier: GPL-2.0-or-later
"""crowd.py ADDRESS PORT COUNT: opens COUNT connections to an echo server and obeys lines from standard input:

  ask      a word over each connection; prints the numbers of those that were answered within a second
  close N  closes the first N that were answered at the last `ask`
"""

import json
import selectors
import socket
import sys
import time

sockets = {}
for number in range(int(sys.argv[3])):
    sockets[number] = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
answered = []
print("ready", flush=True)
for line in sys.stdin:
    if line.startswith("close"):
        for number in answered[:int(line.split()[1])]:
            sockets.pop(number).close()
        print("closed", flush=True)
        continue
    selector = selectors.DefaultSelector()
    answered, broken = [], []
    for number, sock in sockets.items():
        try:
            sock.sendall(b"x")
            selector.register(sock, selectors.EVENT_READ, number)
        except OSError:
            broken.append(number)
    end = time.monotonic() + 1
    while (left := end - time.monotonic()) > 0:
        for key, _ in selector.select(left):
            try:
                alive = key.fileobj.recv(4096)
            except OSError:
                alive = b""
            if alive and key.data not in answered:
                answered.append(key.data)
            elif not alive:
                broken.append(key.data)
                selector.unregister(key.fileobj)
    print(json.dumps({"answered": sorted(set(answered)), "broken": sorted(broken)}), flush=True)
