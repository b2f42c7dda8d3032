# SPDX-License-Identifier: GPL-2.0-or-later
"""weir's generic netlink family (include/uapi/weir.h) from Python. Values of attributes are given by
their type in the tables below; arrays are lists of dictionaries."""

import errno
import ipaddress
import os
import socket
import struct

NETLINK_GENERIC, NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 16, 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE, NESTED = 2, 3, 0x8000
SOL_NETLINK, NETLINK_CAP_ACK, NETLINK_EXT_ACK = 270, 10, 11

COMMANDS = {name: number for number, name in enumerate(
    "node_set node_del node_get service_set service_del service_get backend_set backend_del backend_get flow_del "
    "flow_get".split(), 1)}
RULE = {"address": (1, "address"), "protocol": (2, "u8"), "first_port": (3, "u16"), "last_port": (4, "u16")}
BACKEND = {"slot": (1, "u16"), "mark": (2, "u32"), "epoch_tcp": (3, "u32"), "epoch_udp": (4, "u32"),
           "epoch_other": (5, "u32"), "packets": (6, "u64"), "bytes": (7, "u64")}
FLOW = {"service": (1, "u16"), "kind": (2, "u8"), "source": (3, "address"), "destination": (4, "address"),
        "protocol": (5, "u8"), "source_port": (6, "u16"), "destination_port": (7, "u16"), "slot": (8, "u16"),
        "epoch": (9, "u32"), "idle": (10, "u32"), "only_syn": (11, "flag")}
COUNTERS = {name: (number, "u64") for number, name in enumerate(
    "direct marked missed new_by_syn unusual learned replaced expired evicted unlearned".split(), 1)}
TOP = {"version": (1, "string"), "mark_mask": (2, "u32"), "max_flows": (3, "u32"), "flow_count": (4, "u32"),
       "bytes_per_flow": (5, "u32"), "counters": (6, COUNTERS), "service": (7, "u16"), "key": (8, "u8"),
       "flags": (9, "u32"), "idle_timeout": (10, "u32"), "epoch": (11, "u32"), "rules": (12, [RULE]),
       "slot": (13, "u16"), "backends": (14, [BACKEND]), "flows": (15, [FLOW])}
FORMATS = {"u8": "=B", "u16": "=H", "u32": "=I", "u64": "=Q"}


def attribute(number, payload):
    return struct.pack("=HH", len(payload) + 4, number) + payload + bytes(-len(payload) % 4)


def encode(table, values):
    out = b""
    for name, value in values.items():
        number, kind = table[name]
        if isinstance(kind, list):
            out += attribute(number | NESTED, b"".join(attribute(1 | NESTED, encode(kind[0], item)) for item in value))
        elif kind == "address":
            out += attribute(number, ipaddress.ip_address(value).packed)
        elif isinstance(value, bytes):
            out += attribute(number, value)
        else:
            out += attribute(number, struct.pack(FORMATS[kind], value))
    return out


def split(data):
    while len(data) >= 4:
        length, number = struct.unpack_from("=HH", data)
        if length < 4:
            return
        yield number & 0x3FFF, data[4:length]
        data = data[(length + 3) & ~3:]


def decode(table, data):
    names = {number: (name, kind) for name, (number, kind) in table.items()}
    out = {}
    for number, payload in split(data):
        if number not in names:
            continue  # padding
        name, kind = names[number]
        if isinstance(kind, list):
            out.setdefault(name, []).extend(decode(kind[0], item) for _, item in split(payload))
        elif isinstance(kind, dict):
            out[name] = decode(kind, payload)
        elif kind == "address":
            out[name] = str(ipaddress.ip_address(payload))
        elif kind == "string":
            out[name] = payload.rstrip(b"\0").decode()
        elif kind == "flag":
            out[name] = True
        else:
            out[name] = struct.unpack(FORMATS[kind], payload)[0]
    return out


class Refused(OSError):
    """What the kernel answered; `words` are those of its extended acknowledgement."""

    def __init__(self, number, words):
        super().__init__(number, f"{os.strerror(number)}: {words}")
        self.words = words


class Weir:
    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)  # an error then quotes the header alone
        self.socket.settimeout(30)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.bind((0, 0))
        self.sequence = 0
        answer = self.exchange(16, struct.pack("=BBH", 3, 1, 0) + attribute(2, b"weir\0"), NLM_F_REQUEST | NLM_F_ACK)
        self.family = next(struct.unpack("=H", payload)[0] for number, payload in split(answer[0][4:]) if number == 1)

    def send(self, kind, payload, flags):
        self.sequence += 1
        self.socket.send(struct.pack("=IHHII", len(payload) + 16, kind, flags, self.sequence, 0) + payload)

    def exchange(self, kind, payload, flags):
        self.send(kind, payload, flags)
        answers = []
        while True:
            data = self.socket.recv(1 << 17)
            while data:
                length, what, _, sequence, _ = struct.unpack_from("=IHHII", data)
                body, data = data[16:length], data[(length + 3) & ~3:]
                if sequence != self.sequence:
                    continue
                if what == NLMSG_DONE:
                    return answers
                if what == NLMSG_ERROR:
                    number = -struct.unpack_from("=i", body)[0]
                    if number == 0:
                        return answers
                    raise Refused(number, self.words(body))
                answers.append(body)

    @staticmethod
    def words(body):
        for number, payload in split(body[4 + 16:]):
            if number == 1:
                return payload[:-1].decode(errors="replace")
        return ""

    def __call__(self, command, **values):
        return self.raw(command, encode(TOP, values))

    def raw(self, command, attributes):
        answers = self.exchange(self.family, struct.pack("=BBH", COMMANDS[command], 1, 0) + attributes,
                                NLM_F_REQUEST | NLM_F_ACK)
        return decode(TOP, answers[0][4:]) if answers else None

    def dump(self, command):
        answers = self.exchange(self.family, struct.pack("=BBH", COMMANDS[command], 1, 0), NLM_F_REQUEST | NLM_F_DUMP)
        return [decode(TOP, answer[4:]) for answer in answers]

    def flows(self):
        return [flow for message in self.dump("flow_get") for flow in message.get("flows", [])]

    def counters(self):
        return self("node_get")["counters"]


def refused(function, *arguments, **values):
    """The error's name and words, or None."""
    try:
        function(*arguments, **values)
    except Refused as error:
        return errno.errorcode[error.errno], error.words
    return None
