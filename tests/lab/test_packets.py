# SPDX-License-Identifier: GPL-2.0-or-later
"""What a simulation cannot show: real fragments, errors of real routers, odd protocols, bytes unchanged."""

import hashlib
import json
import os
import random
import sys
import time

import pytest
from lab import HERE, VIP4, VIP6
from resources import every_protocol
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import (IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, PadN,
                                fragment6)
from scapy.layers.sctp import SCTP, SCTPChunkInit
from scapy.packet import Raw

CLIENT4, CLIENT6 = "10.1.0.2", "fd01::2"


@pytest.fixture
def lab(make_lab):
    lab = make_lab()
    for backend in lab.backends:
        lab.serve(backend)
        lab.echo(backend)
    lab.configure(every_protocol())
    lab.start_weir()
    return lab


class Captures:
    """Records on every backend what comes in for an address."""

    def __init__(self, lab, destination):
        self.lab, self.processes = lab, {}
        for backend in lab.backends:
            path = f"{lab.directory}/capture-{backend.short}"
            with open(path, "wb") as out:
                process = backend.start(sys.executable, f"{HERE}/capture.py", "eth0", destination, stdout=out)
            self.processes[backend.short] = process, path
        lab.until(lambda: all(self.lines(path) for _, path in self.processes.values()), 10, "captures run")

    @staticmethod
    def lines(path):
        with open(path, encoding="ascii") as file:
            return file.read().split()

    def client_packets(self):
        return {name: [packet for line in self.lines(path)[1:] if from_client(packet := bytes.fromhex(line))]
                for name, (_, path) in self.processes.items()}

    def stop(self):
        """backend -> packets of the client, once no more came for half a second."""
        seen, quiet_since = None, time.monotonic()
        while time.monotonic() < quiet_since + 0.5:
            time.sleep(0.1)
            if (now := self.client_packets()) != seen:
                seen, quiet_since = now, time.monotonic()
        for process, _ in self.processes.values():
            self.lab.stop(process)
        return self.client_packets()


def from_client(packet):
    source = packet[12:16] if packet[0] >> 4 == 4 else packet[8:24]
    return source in (bytes([10, 1, 0, 2]), bytes.fromhex("fd01000000000000" "0000000000000002"))


def send(lab, packets):
    gateway = "10.1.0.1"
    lab.client.run(sys.executable, f"{HERE}/send_packets.py", "up0", gateway,
                   input="".join(bytes(packet).hex() + "\n" for packet in packets))


def hop_lowered(packet):
    """The packet after one router: TTL and header checksum, or hop limit, and nothing else."""
    packet = bytearray(packet)
    if packet[0] >> 4 == 6:
        packet[7] -= 1
        return bytes(packet)
    packet[8] -= 1
    packet[10:12] = bytes(2)
    length = (packet[0] & 15) * 4
    total = sum(int.from_bytes(packet[i:i + 2], "big") for i in range(0, length, 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    packet[10:12] = (0xFFFF - total).to_bytes(2, "big")
    return bytes(packet)


def counters(lab):
    return lab.weirctl("status")["engine"]["totals"]


def arrived(backend):
    """Packets and bytes that came in; one of segmentation offload is one packet as long as it is whole."""
    files = [f"/sys/class/net/eth0/statistics/rx_{what}" for what in ("packets", "bytes")]
    return [int(word) for word in backend.run("cat", *files).stdout.split()]


def datagram(version, sport, size=9000):
    layer = IP(src=CLIENT4, dst=VIP4, id=sport) if version == 4 else IPv6(src=CLIENT6, dst=VIP6)
    body = bytes(random.Random(sport).randbytes(size))
    return layer, UDP(sport=sport, dport=9) / Raw(body)  # nobody answers there


def fragments_of(version, sport):
    layer, payload = datagram(version, sport)
    if version == 4:
        return [bytes(part) for part in fragment(layer / payload, fragsize=1480)]
    return [bytes(part) for part in fragment6(layer / IPv6ExtHdrFragment(id=sport) / payload, 1500)]


ORDERS = {
    "in order": lambda parts: [p for flow in parts for p in flow],
    "reversed": lambda parts: [p for flow in parts for p in reversed(flow)],
    "interleaved": lambda parts: [p for row in zip(*parts) for p in row],
    "shuffled": lambda parts: random.Random(7).sample([p for flow in parts for p in flow], sum(map(len, parts))),
}


@pytest.mark.parametrize("version", [4, 6])
def test_P8_4_all_fragments_of_a_datagram_reach_one_backend_as_they_come(lab, version):
    vip = VIP4 if version == 4 else VIP6
    for order, arrange in ORDERS.items():
        captures = Captures(lab, vip)
        parts = [fragments_of(version, 20000 + flow) for flow in range(4)]
        assert all(len(flow) >= 7 for flow in parts)
        sent = arrange(parts)
        send(lab, sent)
        got = captures.stop()
        busy = [name for name, packets in got.items() if packets]
        assert len(busy) == 1, (order, {name: len(packets) for name, packets in got.items()})
        # Never put together, never held back, never reordered: the very same packets, one hop older.
        assert got[busy[0]] == [hop_lowered(packet) for packet in sent], order


@pytest.mark.parametrize("version", [4, 6])
def test_P8_4_a_9000_byte_exchange_works(lab, version):
    """The whole way with real stacks: the client's kernel cuts, the backend's puts together."""
    vip, family = (VIP4, "AF_INET") if version == 4 else (VIP6, "AF_INET6")
    answers = lab.client.run(sys.executable, "-c", f"""
import socket
for n in range(20):
    s = socket.socket(socket.{family}, socket.SOCK_DGRAM); s.settimeout(5)
    s.connect(("{vip}", 5353)); s.send(bytes([97 + n]) * 9000)
    answer = s.recv(65535); print(answer.split()[0].decode(), answer.endswith(bytes([97 + n]) * 9000))
""").stdout.split("\n")[:-1]
    assert len(answers) == 20 and len(set(answers)) == 1 and answers[0].endswith("True"), answers


def other_protocols(version):
    layer = IP(src=CLIENT4, dst=VIP4, ttl=9) if version == 4 else IPv6(src=CLIENT6, dst=VIP6, hlim=9)
    esp, ah, number = 50, 51, "proto" if version == 4 else "nh"
    packets = {
        "SCTP": layer / SCTP(sport=1000, dport=2000) / SCTPChunkInit(),
        "GRE": layer / GRE(proto=0x0800) / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(),
        "TCP on another port": layer / TCP(sport=1234, dport=8443, flags="A"),
        "ESP": layer.copy() / Raw(bytes(range(64))),
        "AH": layer.copy() / Raw(bytes([17, 4, 0, 0]) + bytes(20) + b"\0\1\0\2\0\x08\0\0"),
        "a protocol without a name": layer.copy() / Raw(b"whatever this is"),
    }
    for name, protocol in (("ESP", esp), ("AH", ah), ("a protocol without a name", 253)):
        setattr(packets[name], number, protocol)
    if version == 4:
        packets["ICMP echo"] = layer / ICMP() / Raw(b"ping")
    return packets


@pytest.mark.parametrize("version", [4, 6])
def test_P8_1_and_P8_8_every_protocol_passes_unchanged_but_for_one_hop(lab, version):
    captures = Captures(lab, VIP4 if version == 4 else VIP6)
    packets = other_protocols(version)
    for packet in packets.values():
        send(lab, [packet, packet])
    got = captures.stop()
    for name, packet in packets.items():
        # Both copies arrive at one and the same backend: the second is a known connection.
        expected = hop_lowered(bytes(packet))
        where = {backend: seen.count(expected) for backend, seen in got.items() if expected in seen}
        assert list(where.values()) == [2], (name, where)
    assert counters(lab)["forwarded"]["known"] >= len(packets)


def test_P8_5_extension_headers_are_walked_to_the_ports(lab):
    """A packet with extension headers goes where the plain packet of its 5-tuple goes."""
    base = IPv6(src=CLIENT6, dst=VIP6)
    pad = PadN(optdata=b"\0" * 4)
    chains = {
        "hop-by-hop": IPv6ExtHdrHopByHop(options=[pad]),
        "destination options": IPv6ExtHdrDestOpt(options=[pad]),
        "routing": IPv6ExtHdrRouting(type=2, segleft=0, addresses=["fd00::1"]),
        "all of them": IPv6ExtHdrHopByHop(options=[pad]) / IPv6ExtHdrDestOpt(options=[pad])
        / IPv6ExtHdrRouting(type=2, segleft=0, addresses=["fd00::1"]) / IPv6ExtHdrDestOpt(options=[pad]),
    }
    captures = Captures(lab, VIP6)
    sent = {}
    for flow in range(12):
        transport = TCP(sport=30000 + flow, dport=8443, flags="A") / Raw(b"x")
        packets = [base / chain / transport for chain in chains.values()] + [base / transport]
        sent[flow] = [hop_lowered(bytes(packet)) for packet in packets]
        send(lab, packets)
    got = captures.stop()
    used = set()
    for flow, packets in sent.items():
        where = {backend for backend, seen in got.items() for packet in packets if packet in seen}
        assert len(where) == 1, (flow, where)
        assert all(packet in got[next(iter(where))] for packet in packets)
        used |= where
    assert len(used) > 1  # or the test would prove nothing


def test_P8_7_malformed_packets_are_dropped_and_counted(lab):
    good = bytes(IP(src=CLIENT4, dst=VIP4) / TCP(sport=1, dport=80, flags="S"))
    bad = []
    for offset in (5, 1):  # TCP data offsets: beyond the packet (15 words in 20 bytes), below the least
        broken = bytearray(good)
        broken[32] = (15 if offset == 5 else 1) << 4
        bad.append(bytes(broken))
    short = IP(src=CLIENT4, dst=VIP4) / UDP(sport=1, dport=2)
    bad.append(bytes(IP(src=CLIENT4, dst=VIP4, proto=17, len=24) / Raw(bytes(short)[20:24])))
    before = sum(counters(lab)["malformed"].values())
    captures = Captures(lab, VIP4)
    send(lab, bad)
    got = captures.stop()
    assert not any(got.values()), got
    assert sum(counters(lab)["malformed"].values()) - before == len(bad)
    assert lab.traffic("burst", VIP4, 80, 50)["failed"] == 0


@pytest.mark.parametrize("vip", [VIP4, VIP6])
def test_P8_8_large_segments_pass_whole(lab, vip):
    """64 KB packets of segmentation offload are neither cut nor taken for too big."""
    path = f"{lab.directory}/upload.bin"
    with open(path, "wb") as out:
        out.write(os.urandom(30 << 20))
    with open(path, "rb") as source:
        digest = hashlib.sha256(source.read()).hexdigest()
    before = [arrived(backend) for backend in lab.backends]
    url = f"http://[{vip}]/upload/file" if ":" in vip else f"http://{vip}/upload/file"
    lab.client.run("curl", "-sSf", "--max-time", "30", "-T", path, url)
    stored = {b: f"{lab.directory}/nginx-{b.short}-80/upload/file" for b in lab.backends}
    found = [backend for backend, name in stored.items() if os.path.exists(name)]
    assert len(found) == 1
    with open(stored[found[0]], "rb") as upload:
        assert hashlib.sha256(upload.read()).hexdigest() == digest
    packets, size = (after - at_first for after, at_first in zip(arrived(found[0]), before[lab.backends.index(found[0])]))
    assert size / packets > 4000, f"{size} bytes in {packets} packets"  # far above the MTU: they arrived uncut


@pytest.mark.parametrize("vip,client", [(VIP4, CLIENT4), (VIP6, CLIENT6)])
def test_P8_6_a_routers_packet_too_big_reaches_the_backend_that_serves(make_lab, vip, client):
    """The way back to the client narrows behind a router; its error goes to the virtual address
    and must find the backend, or the transfer stands still."""
    lab = make_lab(router=True)
    for backend in lab.backends:
        lab.serve(backend)
    os.makedirs(f"{lab.directory}/files")
    with open(f"{lab.directory}/files/big", "wb") as out:
        out.write(os.urandom(4 << 20))
    lab.configure(every_protocol())
    lab.start_weir()
    lab.router.ip("link set client0 mtu 1300")
    url = f"http://[{vip}]/files/big" if ":" in vip else f"http://{vip}/files/big"
    for _ in range(4):  # several ports, several backends
        lab.client.run("curl", "-sSf", "--max-time", "20", "-o", f"{lab.directory}/got", url)
        with open(f"{lab.directory}/got", "rb") as got, open(f"{lab.directory}/files/big", "rb") as big:
            assert got.read() == big.read()
    assert counters(lab)["forwarded"]["related"] >= 1
    learnt = [b.short for b in lab.backends
              if "mtu 1300" in b.run("ip", "route", "get", client, "from", vip).stdout]
    assert learnt
    connections = json.dumps(lab.weirctl("connections", "list"))
    assert '"ICMP' not in connections.upper().replace("ICMP_ERRORS", "")  # no entry was made for an error
