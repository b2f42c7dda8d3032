# SPDX-License-Identifier: GPL-2.0-or-later
"""Client traffic for the lab, each kind bounded in time and count; prints one JSON object.

  traffic.py burst ADDRESS PORT COUNT [CONCURRENCY]
      opens COUNT TCP connections, one HTTP request each.
  traffic.py hold ADDRESS PORT COUNT SECONDS NEW_PER_SECOND
      keeps COUNT connections open for SECONDS and asks over each of them five times a second;
      meanwhile opens NEW_PER_SECOND further connections a second with one request each.
  traffic.py udp ADDRESS PORT COUNT
      COUNT exchanges from as many source ports, one datagram each way.
  traffic.py stream ADDRESS PORT FLOWS PER_SECOND SECONDS
      numbered datagrams over FLOWS source ports at a fixed rate; counts what came back.
"""

import asyncio
import collections
import json
import socket
import sys
import time

TIMEOUT_S = 5.0


async def request(reader, writer):
    """One HTTP request; (backend, client address it saw, address it was called at)."""
    writer.write(b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n")
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise OSError(head.split(b"\r\n")[0].decode())
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    return (await reader.readexactly(length)).decode().split()


async def connect(address, port):
    reader, writer = await asyncio.open_connection(address, port)
    # RST at close: a thousand connections must not leave a thousand ports in TIME_WAIT.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    return reader, writer


async def one_shot(address, port, report):
    writer = None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reader, writer = await connect(address, port)
            name, client, server = await request(reader, writer)
        report["shares"][name] += 1
        report["clients"].add(client)
        report["servers"].add(server)
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        report["failed"] += 1
        report["failures"].append([round(time.monotonic() - report["begin"], 3), repr(error)])
    finally:
        if writer:
            writer.close()


def new_report():
    return {"shares": collections.Counter(), "failed": 0, "failures": [], "clients": set(), "servers": set(),
            "begin": time.monotonic()}


def plain(report):
    del report["begin"]
    return {key: sorted(value) if isinstance(value, set) else value for key, value in report.items()}


async def burst(address, port, count, concurrency=50):
    report, gate = new_report(), asyncio.Semaphore(int(concurrency))

    async def limited():
        async with gate:
            await one_shot(address, port, report)
    await asyncio.gather(*(limited() for _ in range(int(count))))
    return plain(report)


async def hold(address, port, count, seconds, per_second):
    report = new_report()
    end, held = time.monotonic() + float(seconds), []

    async def holder(record):
        try:
            async with asyncio.timeout(TIMEOUT_S):
                reader, writer = await connect(address, port)
                record["backend"] = (await request(reader, writer))[0]
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            record["error"] = repr(error)
            return
        while time.monotonic() < end:
            await asyncio.sleep(0.2)
            begin = time.monotonic()
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    name = (await request(reader, writer))[0]
                record["moved"] |= name != record["backend"]
                record["requests"] += 1
                record["slowest_s"] = max(record["slowest_s"], time.monotonic() - begin)
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                record["error"] = repr(error)
                record["at_s"] = round(time.monotonic() - report["begin"], 3)
                return
        writer.close()

    tasks = []
    for _ in range(int(count)):
        record = {"backend": None, "requests": 0, "moved": False, "error": None, "slowest_s": 0.0}
        held.append(record)
        tasks.append(asyncio.create_task(holder(record)))
    due, interval = time.monotonic(), 1.0 / float(per_second) if float(per_second) else None
    while time.monotonic() < end:
        if interval is None:
            await asyncio.sleep(0.1)
            continue
        tasks.append(asyncio.create_task(one_shot(address, port, report)))
        due += interval
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    await asyncio.gather(*tasks)
    return plain(report) | {"held": held}


def udp_socket(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    return sock


async def udp(address, port, count):
    report = new_report()
    for _ in range(int(count)):
        with udp_socket(address) as sock:
            sock.settimeout(TIMEOUT_S)
            sock.connect((address, int(port)))
            try:
                sock.send(b"hello")
                name, client, _ = sock.recv(2048).decode().split()
                report["shares"][name] += 1
                report["clients"].add(client)
                report["servers"].add(address)
            except OSError as error:
                report["failed"] += 1
                report["failures"].append([round(time.monotonic() - report["begin"], 3), repr(error)])
    return plain(report)


async def stream(address, port, flows, per_second, seconds):
    loop, seen, shares = asyncio.get_running_loop(), set(), collections.Counter()
    sockets = [udp_socket(address) for _ in range(int(flows))]

    def receive(sock):
        while True:
            try:
                name, _, number = sock.recv(2048).decode().split()
            except BlockingIOError:
                return
            seen.add(int(number))
            shares[name] += 1

    for sock in sockets:
        sock.setblocking(False)
        sock.connect((address, int(port)))
        loop.add_reader(sock, receive, sock)
    total, sent, begin = int(float(per_second) * float(seconds)), 0, time.monotonic()
    while sent < total:
        due = min(total, int((time.monotonic() - begin) * float(per_second)) + 1)
        while sent < due:
            sockets[sent % len(sockets)].send(str(sent).encode())
            sent += 1
        await asyncio.sleep(0.002)
    await asyncio.sleep(1.0)
    return {"sent": sent, "lost": sent - len(seen), "duplicates": sum(shares.values()) - len(seen), "shares": shares}


def main():
    kinds = {f.__name__: f for f in (burst, hold, udp, stream)}
    if len(sys.argv) < 2 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    print(json.dumps(asyncio.run(kinds[sys.argv[1]](*sys.argv[2:]))))


if __name__ == "__main__":
    main()
