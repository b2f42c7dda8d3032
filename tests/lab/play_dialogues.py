# SPDX-License-Identifier: GPL-2.0-or-later
"""play_dialogues.py ADDRESS PORT: {"id": {"client": steps, "server": steps}, ...} on standard input, JSON; plays all
dialogues at once with a dialogue_server.py behind the address, and prints what the client saw of each."""

import concurrent.futures
import json
import socket
import sys
import time

from dialogue_server import play


def one(name, dialogue):
    sock = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begin = time.monotonic()
    sock.sendall(json.dumps({"id": name, "steps": dialogue["server"]}).encode() + b"\n")
    return name, play(sock, dialogue["client"], time.sleep) | {"elapsed_s": time.monotonic() - begin}


dialogues = json.load(sys.stdin)
with concurrent.futures.ThreadPoolExecutor(len(dialogues)) as pool:
    print(json.dumps(dict(pool.map(lambda item: one(*item), dialogues.items()))))
