#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays random dialogues, the client's part or the server's, and writes down what it did and saw.

  random_dialogues.py server PORT REPORT             until it is terminated
  random_dialogues.py client ADDRESS PORT COUNT AT_ONCE FIRST_SEED [SIZE]

A dialogue's seed decides what both sides do: how much they say in which pieces, where they stall, how slowly they listen,
and how they end: orderly (an end after the last byte, then listening to the other's) or by a reset in the middle. With a
SIZE both say so much at once, and end orderly. The client's first bytes are the seed and SIZE.

A record: seed, did ("end", "reset"), sent, got, same (whether what it got is the beginning of what the other says),
saw ("end", "reset"; "nothing": it was the one who ended the dialogue; "stuck": no end came in time).
"""

import asyncio
import json
import random
import signal
import socket
import struct
import sys

PATIENCE = 60
SLOWEST = 2_000_000  # bytes a second, of much: on a machine that others keep busy
BLOCK = 1 << 20


class Words:
    """What a side says; any part of it, at any time, without holding all."""

    def __init__(self, seed, role, size):
        self.size = size
        self.block = random.Random(f"{seed} {role} words").randbytes(min(size, BLOCK) or 1)

    def part(self, start, length):
        end, parts = min(start + length, self.size), []
        while start < end:
            # Every repetition of the block begins with its number, so that a lost one is noticed.
            number, offset = divmod(start, BLOCK)
            block = struct.pack("!Q", number) + self.block[8:] if number else self.block
            parts.append(block[offset:offset + end - start])
            start += len(parts[-1])
        return b"".join(parts)


class Side:
    def __init__(self, sock, role, seed, size):
        self.sock, self.seed, self.loop = sock, seed, asyncio.get_running_loop()
        self.random = random.Random(f"{seed} {role} deeds")
        other = "server" if role == "client" else "client"
        self.say, self.hear = (Words(seed, side, size or self.size_of(seed, side)) for side in (role, other))
        self.hurried = bool(size)
        self.resets_at = None
        if not size and self.random.random() < 0.2:
            self.resets_at = self.random.randint(0, self.say.size)
        self.seen = {"seed": seed, "did": "end", "sent": 0, "got": 0, "same": True, "saw": "stuck"}

    @staticmethod
    def size_of(seed, role):
        source = random.Random(f"{seed} {role} size")
        return source.choice((0, 1, source.randint(2, 2000), source.randint(2, 100_000), source.randint(2, 100_000),
                              source.randint(100_000, 1_500_000)))

    async def stall(self, likely):
        if not self.hurried and self.random.random() < likely:
            await asyncio.sleep(self.random.random() * 0.04)

    async def talk(self):
        """False: the other side has reset the connection."""
        seen, until = self.seen, self.say.size if self.resets_at is None else self.resets_at
        await self.stall(0.3)
        while seen["sent"] < until:
            piece = 4 * BLOCK if self.hurried else self.random.choice((1, 700, 5_000, 60_000, 300_000))
            part = self.say.part(seen["sent"], min(piece, until - seen["sent"]))
            try:
                await self.loop.sock_sendall(self.sock, part)
            except (ConnectionResetError, BrokenPipeError):
                return False
            seen["sent"] += len(part)
            await self.stall(0.2)
        if self.resets_at is not None:
            seen["did"] = "reset"
        else:
            try:
                self.sock.shutdown(socket.SHUT_WR)
            except OSError:  # not connected any more
                return False
        return True

    async def listen(self):
        seen, slow = self.seen, self.random.random() < 0.3
        while True:
            await self.stall(0.3 if slow else 0.02)
            try:
                part = await self.loop.sock_recv(self.sock, 4 * BLOCK if self.hurried else self.random.choice((10, 3_000, 200_000)))
            except ConnectionResetError:
                return "reset"
            if not part:
                return "end"
            if part != self.hear.part(seen["got"], len(part)):
                seen["same"] = False
            seen["got"] += len(part)

    async def play(self):
        listening = asyncio.ensure_future(self.listen())
        try:
            async with asyncio.timeout(PATIENCE + (self.say.size + self.hear.size) / SLOWEST):
                whole = await self.talk()
                if self.seen["did"] == "reset":
                    self.seen["saw"] = "nothing"
                else:
                    saw = await listening
                    # The error is told once, to the one who asks first; the other is told of an end.
                    self.seen["saw"] = saw if whole else "reset"
        except TimeoutError:
            pass
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        if self.seen["did"] == "reset":
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
        return self.seen


async def serve(port, path):
    listener = socket.create_server(("", port), backlog=1024)
    listener.setblocking(False)
    loop, report, tasks = asyncio.get_running_loop(), open(path, "w", encoding="utf-8"), set()

    async def one(sock):
        first = b""
        try:
            while len(first) < 16:
                part = await loop.sock_recv(sock, 16 - len(first))
                if not part:
                    return sock.close()
                first += part
        except ConnectionResetError:
            return sock.close()
        seen = await Side(sock, "server", *struct.unpack("!QQ", first)).play()
        print(json.dumps(seen), file=report, flush=True)

    loop.add_signal_handler(signal.SIGTERM, lambda: sys.exit(0))
    print("ready", flush=True)
    while True:
        sock, _ = await loop.sock_accept(listener)
        sock.setblocking(False)
        tasks.add(task := asyncio.ensure_future(one(sock)))
        task.add_done_callback(tasks.discard)


async def call(address, port, count, at_once, first_seed, size):
    room, loop = asyncio.Semaphore(at_once), asyncio.get_running_loop()

    async def one(seed):
        async with room:
            sock = socket.socket()
            sock.setblocking(False)
            await loop.sock_connect(sock, (address, port))
            await loop.sock_sendall(sock, struct.pack("!QQ", seed, size))
            return await Side(sock, "client", seed, size).play()
    print(json.dumps(await asyncio.gather(*(one(seed) for seed in range(first_seed, first_seed + count)))))


def main():
    if sys.argv[1] == "server":
        asyncio.run(serve(int(sys.argv[2]), sys.argv[3]))
    else:
        address, *numbers = sys.argv[2:]
        port, count, at_once, first_seed, *size = map(int, numbers)
        asyncio.run(call(address, port, count, at_once, first_seed, size[0] if size else 0))


if __name__ == "__main__":
    main()
