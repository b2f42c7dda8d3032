# SPDX-License-Identifier: GPL-2.0-or-later
"""byte_collector.py NAME LOG PORT:HEADER...: a TCP server that takes what comes until the end and then says
what that was, as JSON: its name, the PROXY header, how many bytes followed and their SHA-256. HEADER: none, v1 or v2,
what the bytes begin with. Every connection is a line in LOG, also one that was reset."""

import asyncio
import hashlib
import json
import sys

import tls_hello

name, log_path = sys.argv[1], sys.argv[2]


def take_header(kind, data):
    if kind == "v1":
        header, _, rest = data.partition(b"\r\n")
        return header.decode(), rest
    if kind == "v2":
        family, body, rest = tls_hello.read_v2(data)
        return f"{family:02x} {body.hex()}", rest
    return "", data


async def serve(kind, reader, writer):
    data, end = b"", "end"
    try:
        while part := await reader.read(1 << 20):
            data += part
    except ConnectionError:
        end = "reset"
    try:
        header, data = take_header(kind, data)
    except ValueError as error:
        header = str(error)
    seen = {"name": name, "header": header, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "end": end}
    with open(log_path, "a", encoding="utf-8") as log:
        log.write(json.dumps(seen) + "\n")
    try:
        writer.write(json.dumps(seen).encode())
        writer.close()
        await writer.wait_closed()
    except OSError:
        pass


async def main():
    for word in sys.argv[3:]:
        port, kind = word.split(":")
        await asyncio.start_server(lambda r, w, kind=kind: serve(kind, r, w), None, int(port), backlog=1024)
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
