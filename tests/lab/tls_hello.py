# SPDX-License-Identifier: GPL-2.0-or-later
"""ClientHellos and PROXY headers from named parts, whole or wrong in one place, for the proxy's lab."""

import socket
import struct

V2_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def counted(size, body):
    """Bytes preceded by their length."""
    return len(body).to_bytes(size, "big") + body


def extension(number, body=b""):
    return struct.pack(">H", number) + counted(2, body)


def name_entry(name, kind=0):
    return bytes([kind]) + counted(2, name.encode() if isinstance(name, str) else name)


def sni(name, kind=0):
    return extension(0, counted(2, name_entry(name, kind)))


def sni_list(entries):
    return extension(0, counted(2, entries))


def alpn(*names):
    return extension(16, counted(2, b"".join(counted(1, name.encode()) for name in names)))


def padding(size):
    return extension(21, bytes(size))


GREASE = extension(0x3A3A, b"\0")
EARLY_DATA = extension(42)
ENCRYPTED_HELLO = extension(0xFE0D, b"\x7f" * 250)
KEY_SHARES = extension(51, counted(2, struct.pack(">H", 0x11EC) + counted(2, b"\x33" * 1216)))
VERSIONS = extension(43, counted(1, b"\x7f\x7f\x03\x04\x03\x03"))


def message(*extensions, kind=1, session=32, suites=17, with_extensions=True, version=b"\3\3"):
    """A handshake message; a ClientHello unless `kind` says otherwise."""
    body = version + b"\x5a" * 32 + counted(1, b"\x11" * session) + counted(2, b"\x13\x01" * suites) + counted(1, b"\0")
    if with_extensions:
        body += counted(2, b"".join(extensions))
    return bytes([kind]) + counted(3, body)


def record(payload, kind=22, version=b"\3\1"):
    return bytes([kind]) + version + counted(2, payload)


def records(payload, size=16384, version=b"\3\1"):
    """A message cut into records of at most `size` bytes."""
    return b"".join(record(payload[at:at + size], version=version) for at in range(0, len(payload), size))


def split_records(payload, *at):
    """A message cut into records at these offsets."""
    ends = [0, *at, len(payload)]
    return b"".join(record(payload[a:b]) for a, b in zip(ends, ends[1:]))


def hello(*extensions, **parts):
    return records(message(*extensions, **parts))


def hello_of_size(size, name):
    """A hello of `size` bytes with the name in its last extension, as long ones have it."""
    empty = len(message(padding(0), sni(name)))
    return records(message(padding(size - empty), sni(name)))


def segments(data, size):
    return [data[at:at + size] for at in range(0, len(data), size)]


# --- PROXY protocol


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def tlv(kind, value):
    return bytes([kind]) + counted(2, value)


def v2(body, family=0x11, command=0x21):
    return V2_SIGNATURE + bytes([command, family]) + counted(2, body)


def v2_addresses(client, server, client_port, server_port):
    kind = socket.AF_INET6 if ":" in client else socket.AF_INET
    return socket.inet_pton(kind, client) + socket.inet_pton(kind, server) + struct.pack(">HH", client_port, server_port)


def v2_with_checksum(body, family=0x11, wrong=0):
    whole = v2(body + tlv(3, bytes(4)), family)
    return whole[:-4] + struct.pack(">I", crc32c(whole) ^ wrong)


def read_v2(data):
    """(family and transport, addresses and TLVs, what follows the header)."""
    if not data.startswith(V2_SIGNATURE):
        raise ValueError(f"no PROXY header of version 2: {data[:32]!r}")
    length = struct.unpack(">H", data[14:16])[0]
    return data[13], data[16:16 + length], data[16 + length:]
