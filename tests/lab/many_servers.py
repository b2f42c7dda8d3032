# SPDX-License-Identifier: GPL-2.0-or-later
"""Client traffic to many servers, bounded in time and count; prints one JSON object.

  many_servers.py once PREFIX4 PREFIX6 COUNT
      one HTTP request over TCP (port 80) and one UDP exchange (port 5353) with each of the servers
      PREFIX4.1 to .COUNT and PREFIX6::1 to ::COUNT, each from a port of its own.
  many_servers.py hold PREFIX4 PREFIX6 COUNT SECONDS
      one TCP connection to each server, held open for SECONDS with ten requests a second.
"""

import asyncio
import json
import sys
import time

from traffic import TIMEOUT_S, connect, request, udp_socket


def servers(prefix4, prefix6, count):
    numbers = range(1, int(count) + 1)
    return [f"{prefix4}.{n}" for n in numbers] + [f"{prefix6}::{n}" for n in numbers]


async def tcp_once(address, report):
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reader, writer = await connect(address, 80)
            report["tcp"].append([writer.get_extra_info("sockname")[1], address])
            await request(reader, writer)
            writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        report["failures"].append([address, repr(error)])


def udp_once(address, report):
    with udp_socket(address) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.connect((address, 5353))
        report["udp"].append([sock.getsockname()[1], address])
        try:
            sock.send(b"hello")
            sock.recv(2048)
        except OSError as error:
            report["failures"].append([address, repr(error)])


async def once(prefix4, prefix6, count):
    report = {"tcp": [], "udp": [], "failures": []}
    everyone = servers(prefix4, prefix6, count)
    await asyncio.gather(*(tcp_once(address, report) for address in everyone))
    for address in everyone:
        udp_once(address, report)
    return report


async def hold(prefix4, prefix6, count, seconds):
    end, held = time.monotonic() + float(seconds), []

    async def holder(address):
        record = {"server": address, "port": None, "requests": 0, "error": None, "slowest_s": 0.0}
        held.append(record)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                reader, writer = await connect(address, 80)
            record["port"] = writer.get_extra_info("sockname")[1]
            while time.monotonic() < end:
                begin = time.monotonic()
                async with asyncio.timeout(TIMEOUT_S):
                    await request(reader, writer)
                record["requests"] += 1
                record["slowest_s"] = max(record["slowest_s"], time.monotonic() - begin)
                await asyncio.sleep(0.1)
            writer.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            record["error"] = repr(error)

    await asyncio.gather(*(holder(address) for address in servers(prefix4, prefix6, count)))
    return {"held": held}


def main():
    kinds = {f.__name__: f for f in (once, hold)}
    if len(sys.argv) < 2 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    print(json.dumps(asyncio.run(kinds[sys.argv[1]](*sys.argv[2:]))))


if __name__ == "__main__":
    main()
