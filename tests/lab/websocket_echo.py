# SPDX-License-Identifier: GPL-2.0-or-later
"""A WebSocket (RFC 6455) over TLS, as little of it as an echo needs.

  websocket_echo.py serve PORT CERTIFICATE KEY
  websocket_echo.py call ADDRESS PORT NAME IDLE_S    says a word, is idle, says another; prints both answers, or how it ended
"""

import base64
import hashlib
import os
import socket
import ssl
import sys
import threading
import time

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def exactly(sock, size):
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise EOFError("the connection has ended")
        data += part
    return data


def head(sock):
    text = b""
    while not text.endswith(b"\r\n\r\n"):
        text += exactly(sock, 1)
    return text


def read_frame(sock):
    first, second = exactly(sock, 2)
    mask = exactly(sock, 4) if second & 0x80 else bytes(4)
    data = exactly(sock, second & 0x7F)
    return first, bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))


def frame(data, mask=b""):
    body = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)) if mask else data
    return bytes([0x81, len(data) | (0x80 if mask else 0)]) + mask + body


def serve_one(sock):
    try:
        key = next(line.split(b": ")[1] for line in head(sock).split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
        sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        while True:
            sock.sendall(frame(b"echo " + read_frame(sock)[1]))
    except (OSError, EOFError):
        sock.close()


def serve(port, certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("", int(port)))
    print("ready", flush=True)
    while True:
        sock, _ = listener.accept()
        try:
            wrapped = context.wrap_socket(sock, server_side=True)
        except OSError:
            continue
        threading.Thread(target=serve_one, args=(wrapped,), daemon=True).start()


def call(address, port, name, idle_s):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    raw = socket.create_connection((address, int(port)), timeout=float(idle_s) + 10)
    sock = context.wrap_socket(raw, server_hostname=name)
    sock.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                 f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n".encode())
    assert head(sock).startswith(b"HTTP/1.1 101"), "no WebSocket"
    for number, pause in ((1, 0), (2, float(idle_s))):
        begin = time.monotonic()
        if pause:
            raw_timeout, _ = sock.gettimeout(), sock.settimeout(pause)
            try:
                print("ended" if not sock.recv(1) else "unexpected", f"after {time.monotonic() - begin:.1f} s", flush=True)
                return
            except TimeoutError:
                sock.settimeout(raw_timeout)
        sock.sendall(frame(b"word %d" % number, os.urandom(4)))
        print(read_frame(sock)[1].decode(), flush=True)


if __name__ == "__main__":
    {"serve": serve, "call": call}[sys.argv[1]](*sys.argv[2:])
