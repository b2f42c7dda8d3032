# SPDX-License-Identifier: GPL-2.0-or-later
"""The members of one group: a server on each of the ports given, all in one process.

  policy_servers.py GROUP PORT...

A client that sends the line "hold" is told "GROUP:PORT" and kept until it goes. A health probe (GET)
is answered with 200, and with the member's utilization where it has one. Commands come as lines of
the input, each is answered with "ok":

  down PORT...         the member is gone: connections are reset, new ones are refused
  up PORT...           it is back
  report VALUE PORT... what it says of its utilization from now on: a number; a number for each
                       connection that it holds, with "*" in front; "-": nothing
"""

import asyncio
import socket
import sys

RESET = b"\1\0\0\0\0\0\0\0"  # SO_LINGER on, 0 s


class Member:
    def __init__(self, group, port):
        self.name, self.port, self.report = f"{group}:{port}", port, "-"
        self.server, self.held = None, set()

    async def up(self):
        if self.server is None:
            self.server = await asyncio.start_server(self.serve, "0.0.0.0", self.port, backlog=4096)

    async def down(self):
        if self.server is None:
            return
        self.server.close()
        self.server = None
        for writer in list(self.held):
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()

    def header(self):
        if self.report == "-":
            return ""
        value = float(self.report.lstrip("*")) * (len(self.held) if self.report.startswith("*") else 1)
        return f"endpoint-load-metrics: TEXT cpu_utilization={value:.4f}\r\n"

    async def serve(self, reader, writer):
        try:
            line = await reader.readline()
            if line.startswith(b"GET "):
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n{self.header()}\r\n".encode())
                await writer.drain()
            elif line == b"hold\n":
                self.held.add(writer)
                writer.write(f"{self.name}\n".encode())
                await reader.read()
        except OSError:
            pass
        finally:
            self.held.discard(writer)
            writer.close()


async def main():
    group, members = sys.argv[1], {}
    for port in sys.argv[2:]:
        members[port] = Member(group, int(port))
        await members[port].up()
    print("ok", flush=True)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := (await commands.readline()).decode().split():
        command, ports = line[0], line[2:] if line[0] == "report" else line[1:]
        for port in ports:
            if command == "report":
                members[port].report = line[1]
            else:
                await getattr(members[port], command)()
        print("ok", flush=True)


asyncio.run(main())
