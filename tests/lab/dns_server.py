# SPDX-License-Identifier: GPL-2.0-or-later
"""dns_server.py ADDRESS FILE: answers DNS questions over UDP by FILE, JSON, which is read anew for each:
{"a.example.com": {"ttl": 1, "A": ["192.0.2.1"], "AAAA": [], "rcode": 0}}. What is not in it does not exist. Writes a
line for each question."""

import json
import socket
import struct
import sys

TYPES = {1: ("A", socket.AF_INET), 28: ("AAAA", socket.AF_INET6)}
NO_SUCH_NAME = 3


def answer(query, records):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += query[at] + 1
    name, kind = ".".join(labels).lower(), struct.unpack(">H", query[at + 1:at + 3])[0]
    known = records.get(name, {"rcode": NO_SUCH_NAME})
    label, family = TYPES.get(kind, ("", None))
    addresses = known.get(label, []) if not known.get("rcode") else []
    reply = query[:2] + struct.pack(">HHHHH", 0x8180 | known.get("rcode", 0), 1, len(addresses), 0, 0) + query[12:at + 5]
    for address in addresses:
        data = socket.inet_pton(family, address)
        reply += struct.pack(">HHHIH", 0xC00C, kind, 1, known.get("ttl", 60), len(data)) + data
    return f"{name} {label}", reply


with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind((sys.argv[1], 53))
    print("ready", flush=True)
    while True:
        question, sender = server.recvfrom(2048)
        with open(sys.argv[2], encoding="utf-8") as table:
            text, reply = answer(question, json.load(table))
        server.sendto(reply, sender)
        print(text, flush=True)
