#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The little network of the package's tests, within the virtual machine: a client and two backends in namespaces.

             198.51.100.0/24                192.0.2.0/24
   client .7 ---------------- .1 weir .1 ------ bridge ------ .11 b1, .12 b2
                                                              203.0.113.9 on lo

It is made by a unit at every boot, as somebody's network would be, and knows nothing of weir. Each backend says its
name over HTTP at port 80 and echoes at ports 443 and 9001.
"""

import asyncio
import subprocess
import sys

VIRTUAL = "203.0.113.9"


def run(line):
    subprocess.run(line.split(), check=True)


def inside(namespace, line):
    run(f"ip netns exec {namespace} {line}")


def make():
    run("ip link add br-b type bridge")
    run("ip addr add 192.0.2.1/24 dev br-b")
    run("ip link set br-b up")
    for number, name in ((11, "b1"), (12, "b2")):
        run(f"ip netns add {name}")
        run(f"ip link add v-{name} type veth peer name eth0 netns {name}")
        run(f"ip link set v-{name} master br-b up")
        inside(name, "ip link set lo up")
        inside(name, "sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2")
        inside(name, f"ip addr add {VIRTUAL}/32 dev lo")
        inside(name, f"ip addr add 192.0.2.{number}/24 dev eth0")
        inside(name, "ip link set eth0 up")
        inside(name, "ip route add default via 192.0.2.1")
    run("ip netns add client")
    run("ip link add v-client type veth peer name eth0 netns client")
    run("ip addr add 198.51.100.1/24 dev v-client")
    run("ip link set v-client up")
    inside("client", "ip link set lo up")
    inside("client", "ip addr add 198.51.100.7/24 dev eth0")
    inside("client", "ip link set eth0 up")
    inside("client", "ip route add default via 198.51.100.1")


async def echo(reader, writer):
    try:
        while data := await reader.read(4096):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def serve(name):
    async def say(reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(name)}\r\nConnection: close\r\n\r\n{name}".encode())
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        writer.close()
    servers = [await asyncio.start_server(say, "0.0.0.0", 80, backlog=1024)]
    for port in (443, 9001):
        servers.append(await asyncio.start_server(echo, "0.0.0.0", port, backlog=1024))
    await asyncio.gather(*(server.serve_forever() for server in servers))


if sys.argv[1:] == ["make"]:
    make()
else:
    asyncio.run(serve(sys.argv[2]))
