# SPDX-License-Identifier: GPL-2.0-or-later
"""send_vectors.py ADDRESS: plays all vectors of hello_vectors.py against the fronts at ADDRESS, many at once, and
prints what came of each: JSON, by name."""

import asyncio
import json
import socket
import struct
import sys
import time

from hello_vectors import FIN, RST, VECTORS

AT_ONCE = 100
PATIENCE_S = 20


async def play(sock, steps):
    loop = asyncio.get_running_loop()
    for step in steps:
        if isinstance(step, bytes):
            await loop.sock_sendall(sock, step)
        elif step == FIN:
            sock.shutdown(socket.SHUT_WR)
        elif step == RST:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        else:
            await asyncio.sleep(step)


async def one(address, vector, gate):
    loop, answer = asyncio.get_running_loop(), b""
    async with gate:
        sock = socket.socket(socket.AF_INET)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.wait_for(loop.sock_connect(sock, (address, vector.front)), PATIENCE_S)
        begin, port = time.monotonic(), sock.getsockname()[1]
        player = asyncio.create_task(play(sock, vector.steps))
        end = "nothing"
        try:
            if RST in vector.steps:
                await player
                end = "reset by the client"
            else:
                async with asyncio.timeout(PATIENCE_S):
                    while part := await loop.sock_recv(sock, 65536):
                        answer += part
                end = "end"
        except ConnectionError:
            end = "reset"
        except TimeoutError:
            pass
        elapsed = time.monotonic() - begin
        player.cancel()
        await asyncio.gather(player, return_exceptions=True)
        sock.close()
    return {"port": port, "answer": answer.decode(errors="replace"), "end": end, "elapsed_s": elapsed}


async def main():
    gate = asyncio.Semaphore(AT_ONCE)
    results = await asyncio.gather(*(one(sys.argv[1], vector, gate) for vector in VECTORS))
    print(json.dumps({vector.name: result for vector, result in zip(VECTORS, results)}))


asyncio.run(main())
