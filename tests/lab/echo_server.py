# SPDX-License-Identifier: GPL-2.0-or-later
"""echo_server.py PORT: a TCP server that sends back what it gets, and ends when the client does."""

import asyncio
import sys


async def echo(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


async def main():
    server = await asyncio.start_server(echo, None, int(sys.argv[1]), backlog=4096)
    print("ready", flush=True)
    await server.serve_forever()


asyncio.run(main())
