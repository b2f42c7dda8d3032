# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP/2 frames by hand, right ones and wrong ones."""

import struct

from hpack import Encoder

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
SETTINGS_FRAME = b"\0\0\0\4\0\0\0\0\0"


def frame(kind, flags, stream, payload=b"", length=None):
    size = len(payload) if length is None else length
    return struct.pack(">I", size)[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def headers(*fields, end=False, flags=END_HEADERS):
    """A block of its own; a second one on a connection would need the first one's encoder."""
    block = Encoder().encode(fields, huffman=False)
    return frame(HEADERS, flags | (END_STREAM if end else 0), 1, block)


def data(payload, end=False):
    return frame(DATA, END_STREAM if end else 0, 1, payload)


def goaway(last_stream, code, debug=b""):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last_stream, code) + debug)


def reset(code):
    return frame(RST_STREAM, 0, 1, struct.pack(">I", code))


def grpc_message(payload, compressed=0, length=None):
    return struct.pack(">BI", compressed, len(payload) if length is None else length) + payload


GRPC_HEADERS = ((":status", "200"), ("content-type", "application/grpc"))


def grpc_answer(message, *trailers, fields=GRPC_HEADERS):
    """A whole answer: settings, headers, one DATA frame, trailers."""
    encoder = Encoder()
    first = encoder.encode(fields, huffman=False)
    last = encoder.encode(trailers or (("grpc-status", "0"),), huffman=False)
    return (SETTINGS_FRAME + frame(HEADERS, END_HEADERS, 1, first) + data(message) +
            frame(HEADERS, END_HEADERS | END_STREAM, 1, last))
