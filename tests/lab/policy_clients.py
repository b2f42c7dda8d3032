# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of policy_servers.py behind the proxy, in one process.

  policy_clients.py ADDRESS PORT

Commands come as lines of the input; each is answered with one line of JSON: how many connections are
held now by each member, and how many of this command found none ("closed").

  open N          opens N more and holds them
  drop N          closes N of those held, at random
  rate R SECONDS  opens R a second, evenly, and closes each as soon as a member has answered; the answer
                  counts those of the last SECONDS - 1, since a rate is known after a second only
"""

import asyncio
import collections
import json
import random
import socket
import sys
import time

RESET = b"\1\0\0\0\0\0\0\0"  # SO_LINGER on, 0 s: no ports in TIME_WAIT
TIMEOUT_S = 10.0
AT_ONCE = 32


class Clients:
    def __init__(self, address, port):
        self.address, self.port = address, port
        self.held = {}  # writer -> name of the member
        self.random = random.Random(7)

    async def connect(self):
        """A connection and its member's name; no name: it was closed."""
        writer = None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                reader, writer = await asyncio.open_connection(self.address, self.port)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                writer.write(b"hold\n")
                name = (await reader.readline()).decode().strip()
        except OSError:
            name = ""
        if not name and writer:
            writer.close()
        return reader if name else None, writer, name

    async def hold(self, limit, closed):
        async with limit:
            reader, writer, name = await self.connect()
        if not name:
            closed.append(time.monotonic())
            return
        self.held[writer] = name
        asyncio.ensure_future(self.watch(reader, writer))

    async def watch(self, reader, writer):
        """A connection that its member resets is held no longer."""
        try:
            await reader.read()
        except OSError:
            pass
        self.held.pop(writer, None)
        writer.close()

    async def open(self, count):
        limit, closed = asyncio.Semaphore(AT_ONCE), []
        await asyncio.gather(*(self.hold(limit, closed) for _ in range(count)))
        return self.report(collections.Counter(self.held.values()), len(closed))

    async def drop(self, count):
        for writer in self.random.sample(sorted(self.held, key=id), min(count, len(self.held))):
            del self.held[writer]
            writer.transport.abort()
        return self.report(collections.Counter(self.held.values()), 0)

    async def rate(self, per_second, seconds):
        begin, counts, closed, tasks, seen = time.monotonic(), collections.Counter(), [0], [], [0]

        async def one():
            at = time.monotonic() - begin
            _, writer, name = await self.connect()
            if at < 1:
                pass
            elif name:
                counts[name] += 1
            else:
                closed[0] += 1
            seen[0] += at >= 1
            if name:
                writer.transport.abort()

        for number in range(int(per_second * seconds)):
            await asyncio.sleep(max(0.0, begin + number / per_second - time.monotonic()))
            tasks.append(asyncio.ensure_future(one()))
        await asyncio.gather(*tasks)
        report = self.report(counts, closed[0])
        report["seconds"] = seconds - 1
        return report

    @staticmethod
    def report(counts, closed):
        return {"members": dict(counts), "closed": closed}


async def main():
    clients = Clients(sys.argv[1], int(sys.argv[2]))
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := (await commands.readline()).decode().split():
        if line[0] == "rate":
            answer = await clients.rate(float(line[1]), float(line[2]))
        else:
            answer = await getattr(clients, line[0])(int(line[1]))
        print(json.dumps(answer), flush=True)


asyncio.run(main())
