#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds connections open: hold_connections.py ADDRESS:PORT=COUNT ...

For every line on its input each connection sends a word and waits for its echo; then a line of JSON tells for each
target how many still answer, and the first reason why one does not.
"""

import asyncio
import json
import sys

PATIENCE = 45  # seconds; a virtual machine in emulation is slow, and TCP repeats with growing pauses


async def open_one(target):
    address, port = target.rsplit(":", 1)
    return await asyncio.wait_for(asyncio.open_connection(address, int(port)), PATIENCE)


async def ask(connection, word):
    reader, writer = connection
    writer.write(word)
    await writer.drain()
    answer = await asyncio.wait_for(reader.readexactly(len(word)), PATIENCE)
    if answer != word:
        raise ValueError(f"sent {word!r}, got {answer!r}")


async def main():
    held = {}
    for argument in sys.argv[1:]:
        target, count = argument.split("=")
        held[target] = []
        for _ in range(int(count)):
            held[target].append(await open_one(target))
    lines = asyncio.StreamReader()
    await asyncio.get_event_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    print(json.dumps({"open": {target: len(connections) for target, connections in held.items()}}), flush=True)
    turn = 0
    while await lines.readline():
        turn += 1
        report = {}
        for target, connections in held.items():
            answers = await asyncio.gather(*(ask(connection, f"{turn} {i}\n".encode()) for i, connection in
                                             enumerate(connections)), return_exceptions=True)
            broken = [repr(answer) for answer in answers if answer is not None]
            report[target] = {"answer": len(answers) - len(broken), "broken": len(broken), "reason": (broken or [""])[0]}
        print(json.dumps(report), flush=True)


asyncio.run(main())
