# SPDX-License-Identifier: GPL-2.0-or-later
"""What clients may send first, and what has to come of it: the table of test_proxy_hellos.py.

A vector is a name, a front, steps and what is expected. Steps: bytes are sent as one segment; FIN
ends the client's direction; RST resets; a number waits so many seconds. Expected: `Served` by a
service, byte for byte and with the end passed on, or `Closed` without a byte and without a backend.
"""

import dataclasses

from tls_hello import (EARLY_DATA, ENCRYPTED_HELLO, GREASE, KEY_SHARES, V2_SIGNATURE, VERSIONS, alpn, counted, extension,
                       hello, hello_of_size, message, name_entry, padding, record, records, segments, sni, sni_list,
                       split_records, tlv, v2, v2_addresses, v2_with_checksum)

FIN, RST = "FIN", "RST"
TLS, PLAIN, PROXIED, PROXIED_TLS, SENDS_V1, REFUSED = 443, 80, 8080, 8443, 81, 82
HELLO_TIMEOUT_S = 4  # long enough for those that are slow on a busy machine
POSTGRES_TLS = b"\0\0\0\x08\x04\xd2\x16\x2f"
APP = record(b"\xee" * 300, kind=23)  # whatever follows a hello


@dataclasses.dataclass
class Served:
    by: str
    client: str = None  # announced by a PROXY header; None: the connection's own
    header: int = 0     # bytes at the start that the proxy keeps for itself


@dataclasses.dataclass
class Closed:
    reason: str
    detail: str
    after_s: float = 0
    client: str = None


@dataclasses.dataclass
class Vector:
    name: str
    steps: list
    expect: object
    front: int = TLS


def bad(detail):
    return Closed("tls_protocol_error", detail)


ONE, OTHER = Served("one"), Served("other")
NOT_TLS, MALFORMED = bad("client_hello_not_detected"), bad("client_hello_malformed")
BAD_NAME, NO_NAME = bad("invalid_sni_rfc_6066"), bad("sni_missing")
NO_ROUTE = Closed("destination_unavailable", "destination_not_found")
TOO_LATE = Closed("connection_timeout", "client_hello_timeout", HELLO_TIMEOUT_S)
BAD_HEADER = Closed("connection_terminated", "invalid_proxy_header")
LEFT = Closed("connection_terminated", "client_disconnected_before_any_response")
RESET = Closed("connection_terminated", "client_reset")

NAME = "one.example.com"
PLAIN_HELLO = message(GREASE, VERSIONS, KEY_SHARES, alpn("h2", "http/1.1"), sni(NAME))
LABEL = "a" * 63
LONGEST = ".".join([LABEL, LABEL, LABEL, "b" * 49, "example.com"])
assert len(LONGEST) == 253


def routed(name, data, expect=ONE, **kwargs):
    steps = data if isinstance(data, list) else [data]
    return Vector(name, steps + [0.05, FIN], expect, **kwargs)


def segmentations():
    whole = records(PLAIN_HELLO) + APP
    yield routed("whole", whole)
    for size in (1, 2, 3, 5, 7, 100, 517, 1400):
        part = records(message(VERSIONS, sni(NAME))) if size == 1 else whole
        yield routed(f"segments of {size}", segments(part, size))
    slow = [step for part in segments(records(message(sni(NAME))), 20) for step in (part, 0.02)]
    yield routed("slow segments", slow)
    yield routed("first byte alone", [whole[:1], 0.1, whole[1:]])
    yield routed("record header alone", [whole[:5], 0.1, whole[5:]])
    yield routed("cut within the name", [whole[:whole.index(b"one.ex") + 3], 0.1, whole[whole.index(b"one.ex") + 3:]])
    yield routed("last byte alone", [records(PLAIN_HELLO)[:-1], 0.1, records(PLAIN_HELLO)[-1:]])
    for size in (1, 2, 16, 64, 500):
        yield routed(f"records of {size}", records(PLAIN_HELLO, size))
    yield routed("records of 1 in segments of 7", segments(records(message(sni(NAME)), 1), 7))
    for at in (1, 2, 3, 4, 5, 38):
        yield routed(f"record ends after {at} bytes of the handshake", split_records(PLAIN_HELLO, at))
    yield routed("record boundary within the name", split_records(PLAIN_HELLO, PLAIN_HELLO.index(b"one.ex") + 4))
    yield routed("record of the largest size, then the rest", records(message(padding(20000), sni(NAME)), 16384))
    for size in (1800, 8000, 15900, 16300, 17000, 40000, 65000):
        yield routed(f"hello of {size} bytes, name last", hello_of_size(size, NAME) + APP)
    yield routed("hello of 40000 bytes in segments of 1400", segments(hello_of_size(40000, NAME), 1400))
    yield routed("hello of 17000 bytes in records of 1000", records(message(padding(16800), sni(NAME)), 1000))


def ordinary_hellos():
    yield routed("grease on both sides", hello(GREASE, sni(NAME), GREASE))
    yield routed("post-quantum key share", hello(KEY_SHARES, sni(NAME)))
    yield routed("encrypted hello with an outer name", hello(ENCRYPTED_HELLO, sni(NAME)))
    yield routed("early data behind the hello", hello(EARLY_DATA, sni(NAME)) + record(b"\1", kind=20) + APP)
    yield routed("much early data", hello(EARLY_DATA, sni(NAME)) + APP * 400)
    yield Vector("hello and end at once", [hello(sni(NAME)), FIN], ONE)
    yield routed("TLS 1.0 record and hello", records(message(sni(NAME), version=b"\3\1"), version=b"\3\1"))
    yield routed("TLS 1.2 record version", records(PLAIN_HELLO, version=b"\3\3"))
    yield routed("record version 3.4", records(PLAIN_HELLO, version=b"\3\4"))
    yield routed("no session", hello(sni(NAME), session=0))
    yield routed("one cipher suite", hello(sni(NAME), suites=1))
    yield routed("name first", hello(sni(NAME), padding(3000)))
    yield routed("upper case", hello(sni("ONE.Example.COM")))
    yield routed("trailing dot", hello(sni(NAME + ".")))
    yield routed("underscores", hello(sni("_sip._tcp.example.com")), OTHER)
    yield routed("wildcard", hello(sni("two.example.com")), OTHER)
    yield routed("wildcard over three labels", hello(sni("x.y.z.example.com")), OTHER)
    yield routed("the longer wildcard", hello(sni("x.deep.example.com")), ONE)
    yield routed("label of 63", hello(sni(LABEL + ".example.com")), OTHER)
    yield routed("name of 253", hello(sni(LONGEST)), OTHER)
    yield routed("punycode", hello(sni("xn--bcher-kva.example.com")), OTHER)
    yield routed("a label of digits", hello(sni("123.example.com")), OTHER)
    yield routed("by protocol", hello(alpn("h2"), sni("alpn.example.com")), ONE)
    yield routed("by another protocol", hello(alpn("http/1.1"), sni("alpn.example.com")), OTHER)


def refused_names():
    for title, name in (("empty name", ""), ("a dot", "."), ("NUL inside", "one.example.com\0.evil.com"),
                        ("NUL at the end", "one.example.com\0"), ("empty label", "one..example.com"),
                        ("leading dot", ".example.com"), ("two trailing dots", "one.example.com.."),
                        ("leading hyphen", "-one.example.com"), ("trailing hyphen", "one-.example.com"),
                        ("space", "o ne.example.com"), ("slash", "one/x.example.com"), ("port", "one.example.com:443"),
                        ("line feed", "one.example.com\n"), ("UTF-8", "bücher.example.com"),
                        ("wildcard itself", "*.example.com"), ("literal wildcard", "*.foo.com"), ("IPv4", "192.0.2.1"),
                        ("IPv4, short", "192.0.513"), ("IPv6", "2001:db8::1"), ("IPv6 in brackets", "[2001:db8::1]"),
                        ("label of 64", LABEL + "a.example.com"), ("name of 254", "a" + LONGEST),
                        ("name of 300", ".".join(["abcdefghi"] * 30))):
        yield Vector(f"name: {title}", [hello(sni(name))], BAD_NAME)
    yield Vector("name: no text", [hello(sni(b"\xff\xfe.example.com"))], BAD_NAME)
    yield Vector("no server name", [hello(GREASE)], NO_NAME)
    yield Vector("no extensions", [hello()], NO_NAME)
    yield Vector("no extensions block", [hello(with_extensions=False)], NO_NAME)
    yield Vector("empty list of names", [hello(sni_list(b""))], BAD_NAME)
    yield Vector("another type of name", [hello(sni(NAME, kind=1))], BAD_NAME)
    yield Vector("two names", [hello(sni_list(name_entry(NAME) + name_entry("two.example.com")))], BAD_NAME)
    yield Vector("the same name twice in a list", [hello(sni_list(name_entry(NAME) * 2))], BAD_NAME)
    yield Vector("extension twice", [hello(sni(NAME), sni(NAME))], BAD_NAME)
    yield Vector("extension twice, far apart", [hello(sni(NAME), padding(5000), sni("two.example.com"))], BAD_NAME)
    yield Vector("no route", [hello(sni("one.example.org"))], NO_ROUTE)
    yield Vector("not the wildcard's own name", [hello(sni("example.com"))], NO_ROUTE)
    yield Vector("no route, much behind it", [hello(sni("no.where")) + APP * 200], NO_ROUTE)


def refused_lengths():
    good = message(sni(NAME))
    body = counted(2, name_entry(NAME))

    def changed(data, at, value):
        return data[:at] + bytes([value]) + data[at + 1:]

    yield Vector("extension beyond the end", [records(changed(good, len(good) - len(body) - 1, 0xFF))], MALFORMED)
    yield Vector("list beyond the extension", [hello(extension(0, changed(body, 1, body[1] + 1)))], MALFORMED)
    yield Vector("list before the end of the extension", [hello(extension(0, changed(body, 1, body[1] - 1)))], MALFORMED)
    yield Vector("name beyond the list", [hello(extension(0, changed(body, 4, body[4] + 1)))], MALFORMED)
    yield Vector("server name of no bytes", [hello(extension(0))], MALFORMED)
    yield Vector("message longer than it says", [records(changed(good, 3, good[3] - 1))], MALFORMED)
    yield Vector("message shorter than it says", [records(changed(good, 3, good[3] + 1))], MALFORMED)
    yield Vector("session of 33 bytes", [hello(sni(NAME), session=33)], MALFORMED)
    yield Vector("no cipher suites", [hello(sni(NAME), suites=0)], MALFORMED)
    yield Vector("protocols cut off", [hello(sni(NAME), extension(16, b"\0\5\2h2"))], MALFORMED)
    yield Vector("protocols twice", [hello(alpn("h2"), sni(NAME), alpn("h3"))], MALFORMED)
    yield Vector("record of 16385 bytes", [b"\x16\3\1\x40\1" + good], MALFORMED)
    yield Vector("record of 65535 bytes", [b"\x16\3\1\xff\xff" + good], MALFORMED)
    yield Vector("empty record", [b"\x16\3\1\0\0" + records(good)], MALFORMED)
    yield Vector("empty record in between", [record(good[:20]) + b"\x16\3\1\0\0" + record(good[20:])], MALFORMED)
    yield Vector("hello of 16 MiB announced", [record(b"\1\xff\xff\xff" + bytes(100))], bad("client_hello_too_large"))
    yield Vector("hello of 65537 bytes announced", [record(b"\1\1\0\1" + bytes(100))], bad("client_hello_too_large"))
    for kind, title in ((20, "change cipher spec"), (21, "alert"), (23, "application data")):
        yield Vector(f"{title} within the hello", [record(good[:20]) + record(good[20:], kind)], MALFORMED)


def refused_protocols():
    yield Vector("alert first", [record(b"\2\x28", kind=21)], NOT_TLS)
    yield Vector("change cipher spec first", [record(b"\1", kind=20) + hello(sni(NAME))], NOT_TLS)
    yield Vector("application data first", [APP], NOT_TLS)
    yield Vector("heartbeat first", [record(b"\1\0\3abc", kind=24)], NOT_TLS)
    yield Vector("ServerHello", [hello(sni(NAME), kind=2)], NOT_TLS)
    yield Vector("Finished", [record(b"\x14\0\0\x0c" + bytes(12))], NOT_TLS)
    yield Vector("SSL 2 hello", [b"\x80\x2e\1\3\1\0\x15\0\0\0\x10" + bytes(35)], NOT_TLS)
    yield Vector("record of SSL 2", [b"\x16\2\0\0\x40" + bytes(64)], NOT_TLS)
    yield Vector("HTTP", [b"GET / HTTP/1.1\r\nHost: one.example.com\r\n\r\n"], NOT_TLS)
    yield Vector("HTTP/2 preface", [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], NOT_TLS)
    yield Vector("SSH", [b"SSH-2.0-OpenSSH_9.2\r\n"], NOT_TLS)
    yield Vector("PostgreSQL without TLS", [b"\0\0\0\x12\0\3\0\0user\0lab\0\0"], NOT_TLS)
    yield Vector("PostgreSQL asks for TLS and does not wait", [POSTGRES_TLS + hello(sni(NAME))], NOT_TLS)
    yield Vector("zeros", [bytes(1000)], NOT_TLS)
    yield Vector("PROXY header from somebody else", [b"PROXY TCP4 192.0.2.7 10.8.8.8 4711 443\r\n" + hello(sni(NAME))], NOT_TLS)
    yield Vector("PROXY header 2 from somebody else",
                 [v2(v2_addresses("192.0.2.7", "10.8.8.8", 4711, 443)) + hello(sni(NAME))], NOT_TLS)


def unfinished():
    half = hello(sni(NAME))[:60]
    yield Vector("silence", [], TOO_LATE)
    yield Vector("one byte, then silence", [b"\x16"], TOO_LATE)
    yield Vector("half a hello, then silence", [half], TOO_LATE)
    yield Vector("half of what PostgreSQL asks, then silence", [POSTGRES_TLS[:5]], TOO_LATE)
    drip = [step for part in segments(hello_of_size(4000, NAME), 1)[:60] for step in (part, 0.1)]
    yield Vector("a byte now and then", drip, TOO_LATE)
    yield Vector("half a hello and the end", [half, FIN], MALFORMED)
    yield Vector("one byte and the end", [b"\x16", FIN], MALFORMED)
    yield Vector("the end at once", [FIN], LEFT)
    yield Vector("a reset at once", [0.05, RST], RESET)
    yield Vector("half a hello and a reset", [half, 0.05, RST], RESET)


def without_hello():
    yield routed("plain bytes", b"hello", Served("plain"), front=PLAIN)
    yield routed("a megabyte", b"0123456789abcdef" * 65536, Served("plain"), front=PLAIN)
    yield routed("bytes that look like TLS", hello(sni("no.where")), Served("plain"), front=PLAIN)
    yield Vector("bytes and the end at once", [b"hello", FIN], Served("plain"), front=PLAIN)
    yield Vector("no byte, then the end", [0.1, FIN], Served("plain"), front=PLAIN)
    yield routed("PROXY header sent on", b"hello", Served("plain-v1", client="self"), front=SENDS_V1)
    yield Vector("backend that refuses", [b"hello", 0.3, FIN], Closed("destination_unavailable", "failed_to_connect_to_backend"),
                 front=REFUSED)


def proxy_headers():
    four = b"PROXY TCP4 192.0.2.7 10.8.8.8 4711 8080\r\n"
    longest = b"PROXY UNKNOWN " + b"f" * 91 + b"\r\n"
    assert len(longest) == 107
    six = (b"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
           b"65535 65535\r\n")
    inet = v2_addresses("192.0.2.7", "10.8.8.8", 4711, 8080)
    inet6 = v2_addresses("2001:db8::7", "fd08::8", 4711, 8080)

    def taken(name, header, client, **kwargs):
        return routed(f"PROXY: {name}", header + b"hello", Served("plain-v2", client, len(header)), front=PROXIED, **kwargs)

    announced, announced6 = "192.0.2.7:4711", "[2001:db8::7]:4711"
    yield taken("TCP4", four, announced)
    yield taken("TCP6 of the longest kind", six, "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535")
    yield taken("TCP6 with mapped addresses", b"PROXY TCP6 ::ffff:192.0.2.7 ::ffff:10.8.8.8 4711 8080\r\n", announced)
    yield taken("UNKNOWN", b"PROXY UNKNOWN\r\n", "self")
    yield taken("UNKNOWN of the longest kind", longest, "self")
    yield Vector("PROXY: a byte a segment", segments(four + b"hello", 1) + [0.05, FIN],
                 Served("plain-v2", announced, len(four)), front=PROXIED)
    yield Vector("PROXY: cut before LF", [four[:-1], 0.1, b"\nhello", 0.05, FIN], Served("plain-v2", announced, len(four)),
                 front=PROXIED)
    yield taken("version 2, IPv4", v2(inet), announced)
    yield taken("version 2, IPv6", v2(inet6, 0x21), announced6)
    yield taken("version 2, LOCAL", v2(b"", 0, command=0x20), "self")
    yield taken("version 2, LOCAL with addresses", v2(inet, command=0x20), "self")
    yield taken("version 2, UNSPEC", v2(b"", 0), "self")
    yield taken("version 2, UNSPEC with bytes", v2(tlv(0xE0, b"xyz"), 0), "self")
    yield taken("version 2, UNIX", v2(bytes(216), 0x31), "self")
    yield taken("version 2, extras", v2(inet + tlv(2, b"a.b") + tlv(4, bytes(9)) + tlv(0xEE, b"?")), announced)
    yield taken("version 2, much padding", v2(inet + tlv(4, bytes(20000))), announced)
    yield taken("version 2, checksum", v2_with_checksum(inet + tlv(0xE0, b"x")), announced)
    yield Vector("PROXY: version 2, a byte a segment", segments(v2(inet) + b"hello", 1) + [0.05, FIN],
                 Served("plain-v2", announced, 28), front=PROXIED)
    whole = v2(inet6, 0x21)
    yield routed("PROXY: header and hello", whole + hello(sni(NAME)), Served("one-v2", announced6, len(whole)), front=PROXIED_TLS)
    yield routed("PROXY: header and hello in segments of 9", segments(four + hello(sni(NAME)), 9),
                 Served("one-v2", announced, len(four)), front=PROXIED_TLS)

    for name, header in (
            ("none", b"GET / HTTP/1.1\r\n\r\n"), ("lower case", b"proxy TCP4 192.0.2.7 10.8.8.8 4711 80\r\n"),
            ("family in lower case", b"PROXY tcp4 192.0.2.7 10.8.8.8 4711 80\r\n"),
            ("no such family", b"PROXY TCP5 192.0.2.7 10.8.8.8 4711 80\r\n"),
            ("LF without CR", b"PROXY TCP4 192.0.2.7 10.8.8.8 4711 80\n"),
            ("two blanks", b"PROXY TCP4  192.0.2.7 10.8.8.8 4711 80\r\n"),
            ("a word too many", b"PROXY TCP4 192.0.2.7 10.8.8.8 4711 80 1\r\n"),
            ("a word too few", b"PROXY TCP4 192.0.2.7 10.8.8.8 4711\r\n"),
            ("port 65536", b"PROXY TCP4 192.0.2.7 10.8.8.8 65536 80\r\n"),
            ("port with a zero before it", b"PROXY TCP4 192.0.2.7 10.8.8.8 0080 80\r\n"),
            ("negative port", b"PROXY TCP4 192.0.2.7 10.8.8.8 -1 80\r\n"),
            ("address of three parts", b"PROXY TCP4 192.0.2 10.8.8.8 4711 80\r\n"),
            ("address of the other family", b"PROXY TCP4 2001:db8::7 10.8.8.8 4711 80\r\n"),
            ("more than 107 bytes", b"PROXY UNKNOWN " + b"f" * 200 + b"\r\n"),
            ("version 2, signature wrong", V2_SIGNATURE[:-1] + b"\x0b" + v2(inet)[12:]),
            ("version 3", v2(inet, command=0x31)), ("version 2, no such command", v2(inet, command=0x22)),
            ("version 2, no such family", v2(inet, family=0x41)), ("version 2, no such transport", v2(inet, family=0x13)),
            ("version 2, addresses cut off", v2(inet[:-1])), ("version 2, IPv6 with 12 bytes", v2(inet, 0x21)),
            ("version 2, extra beyond the end", v2(inet + b"\x04\0\x09abc")),
            ("version 2, extra cut off", v2(inet + b"\x04\0")), ("version 2, wrong checksum", v2_with_checksum(inet, wrong=1)),
            ("version 2, checksum of 3 bytes", v2(inet + tlv(3, b"abc")))):
        yield Vector(f"bad PROXY: {name}", [header + b"hello"], BAD_HEADER, front=PROXIED)
    yield Vector("PROXY: silence", [], Closed("connection_timeout", "proxy_header_timeout", HELLO_TIMEOUT_S), front=PROXIED)
    yield Vector("PROXY: half a header and the end", [four[:20], FIN], LEFT, front=PROXIED)
    for name, rest, why in (("half a hello and the end", [hello(sni(NAME))[:40], FIN], MALFORMED),
                            ("no TLS", [b"GET / HTTP/1.1\r\n\r\n"], NOT_TLS), ("no name", [hello(GREASE)], NO_NAME)):
        yield Vector(f"PROXY: header, then {name}", [four, *rest], dataclasses.replace(why, client=announced), front=PROXIED_TLS)


VECTORS = [vector for part in (segmentations, ordinary_hellos, refused_names, refused_lengths, refused_protocols, unfinished,
                               without_hello, proxy_headers) for vector in part()]
assert len({vector.name for vector in VECTORS}) == len(VECTORS)
