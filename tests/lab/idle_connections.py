# SPDX-License-Identifier: GPL-2.0-or-later
"""idle_connections.py ADDRESS PORT COUNT: opens connections with one request on each, prints the
backends that answered, and leaves the connections alone until a line comes in; then asks once more
over each and prints the backends again, "-" for a connection that is broken."""
import socket
import sys

address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def ask(connection):
    try:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n")
        text = b""
        while not text.endswith(b"\n") or b"\r\n\r\n" not in text or text.endswith(b"\r\n\r\n"):
            part = connection.recv(4096)
            if not part:
                return "-"
            text += part
        return text.split(b"\r\n\r\n")[1].split()[0].decode()
    except OSError:
        return "-"


connections = [socket.create_connection((address, port), timeout=5) for _ in range(count)]
print(*map(ask, connections), flush=True)
sys.stdin.readline()
print(*map(ask, connections), flush=True)
