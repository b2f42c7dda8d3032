# SPDX-License-Identifier: GPL-2.0-or-later
"""dialogue_server.py PORT LOG: a TCP server that does what the first line of a connection says, JSON:
{"id": ..., "steps": [...]}, and appends to LOG what it saw of each connection, JSON by lines.

Steps: {"send": N} bytes of a pattern, "end" of its direction, "reset", {"wait": seconds},
{"read": N} bytes, "read all" until the end or a reset. `play()` does such steps for a client, too."""

import hashlib
import json
import socket
import struct
import sys
import threading

PATIENCE_S = 15


def pattern(size):
    return bytes(range(251)) * (size // 251) + bytes(range(size % 251))


def play(sock, steps, pause):
    """What was received, and how it ended: "end", "reset" or "open"."""
    sock.settimeout(PATIENCE_S)
    received, end = b"", "open"
    try:
        for step in steps:
            if step == "end":
                sock.shutdown(socket.SHUT_WR)
            elif step == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                break
            elif step == "read all" or "read" in step:
                wanted = None if step == "read all" else step["read"]
                while wanted is None or len(received) < wanted:
                    part = sock.recv(65536 if wanted is None else wanted - len(received))
                    if not part:
                        end = "end"
                        break
                    received += part
            elif "send" in step:
                sock.sendall(pattern(step["send"]))
            else:
                pause(step["wait"])
    except ConnectionError:
        end = "reset"
    except TimeoutError:
        end = "nothing"
    sock.close()
    return {"bytes": len(received), "sha256": hashlib.sha256(received).hexdigest(), "end": end}


def serve(sock, log_path, lock):
    line = b""
    while not line.endswith(b"\n"):
        byte = sock.recv(1)
        if not byte:
            break
        line += byte
    script = json.loads(line) if line else {"id": None, "steps": []}
    seen = play(sock, script["steps"], threading.Event().wait) | {"id": script["id"]}
    with lock, open(log_path, "a", encoding="utf-8") as log:
        log.write(json.dumps(seen) + "\n")


def main():
    listener = socket.create_server(("", int(sys.argv[1])), backlog=256)
    print("ready", flush=True)
    lock = threading.Lock()
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve, args=(sock, sys.argv[2], lock), daemon=True).start()


if __name__ == "__main__":
    main()
