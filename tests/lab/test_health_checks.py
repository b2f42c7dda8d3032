# SPDX-License-Identifier: GPL-2.0-or-later
"""Every type of health check against real servers (nginx, gRPC, OpenSSL) and against servers that
are silent, slow, broken or hostile. All probes of the tables run at the same time, once."""

import json
import re
import subprocess

import pytest
import yaml
from conftest import BINARIES
from health.certificates import expired, self_signed
from health.frames import (DATA, END_HEADERS, GRPC_HEADERS, HEADERS, PING, SETTINGS_FRAME, CONTINUATION, data, frame,
                           goaway, grpc_answer, grpc_message, headers, reset)
from health.servers import (GrpcServer, HealthService, Little, Nginx, OpensslServer, drain, endlessly, free_port, over_tls,
                            read_until, saying)

DRIVER = f"{BINARIES}/weir_probe_driver"
BLOCKS = {"TCP": "tcpHealthCheck", "SSL": "sslHealthCheck", "HTTP": "httpHealthCheck", "HTTPS": "httpsHealthCheck",
          "HTTP2": "http2HealthCheck", "GRPC": "grpcHealthCheck", "GRPC_WITH_TLS": "grpcTlsHealthCheck"}
HTTP_FAMILY = {"HTTP": "http", "HTTPS": "https", "HTTP2": "http2"}
HEALTHY, UNHEALTHY, TIMEOUT = "HEALTHY", "UNHEALTHY", "TIMEOUT"
END = b"\r\n\r\n"  # of an HTTP/1 request
PREFACE = b"SM\r\n\r\n"  # the end of what an HTTP/2 client says first
ALERT = b"\x15\x03\x03\x00\x02\x02\x28"  # TLS: fatal, handshake failure
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfine\n"
NO_TLS = r"the answer is not TLS|TLS: |TLS alert"
# A server that ends with something unread resets, if it had come by then.
RESET_OR_CLOSED = r"connection (reset|closed)"
SERVING = grpc_message(b"\x08\x01")


class Case:
    """One health check, and what one probe of it must find."""

    def __init__(self, name, kind, port, state, reason="", timeout=20, weight=None, utilization=None, **block):
        self.name, self.kind, self.port, self.state, self.reason = name, kind, port, state, reason
        self.timeout, self.weight, self.utilization, self.block = timeout, weight, utilization, block

    def check(self):
        return {"name": self.name, "type": self.kind, "checkIntervalSec": 20, "timeoutSec": self.timeout,
                BLOCKS[self.kind]: {"port": self.port, **self.block}}


def http_cases(nginx):
    """What all of the HTTP family must do, against nginx with a certificate that has expired (H7)."""
    beyond = "the expected response is not in the first 1024 bytes of the body"
    for kind, port in ((kind, nginx.ports[name]) for kind, name in HTTP_FAMILY.items()):
        def case(name, state, reason="", port=port, kind=kind, **more):
            return Case(f"{kind.lower()}-{name}", kind, port, state, reason, **more)
        yield case("plain", HEALTHY, weight="missing")
        yield case("response", HEALTHY, requestPath="/", response="fine")
        yield case("no-response", UNHEALTHY, beyond, response="fine and dandy")
        yield case("status-503", UNHEALTHY, "status 503, expected 200", requestPath="/busy")
        yield case("status-204", UNHEALTHY, "status 204, expected 200", requestPath="/no-content")
        yield case("status-404", UNHEALTHY, "status 404, expected 200", requestPath="/none")
        yield case("redirect", UNHEALTHY, "status 301, expected 200", requestPath="/moved", response="fine")
        yield case("text-at-1020", HEALTHY, requestPath="/files/1020", response="good")
        yield case("text-at-1024", UNHEALTHY, beyond, requestPath="/files/1024", response="good")
        yield case("text-at-1030", UNHEALTHY, beyond, requestPath="/files/1030", response="good")
        yield case("large-body-unread", HEALTHY, requestPath="/files/1030")
        yield case("wrong-host", UNHEALTHY, "status 421, expected 200", requestPath="/named")
        yield case("host", HEALTHY, requestPath="/named", host="app.example.com",
                   response="name" if kind == "HTTP" else "name app.example.com")
        yield case("weight-and-load", HEALTHY, requestPath="/weight", weight=250, utilization=0.5)
        yield case("bad-weight", HEALTHY, requestPath="/load", weight="invalid", utilization=0.25)
        yield case("proxy-header", HEALTHY, port=nginx.ports[f"{HTTP_FAMILY[kind]}_proxy"], proxyHeader="PROXY_V1")
        yield case("proxy-header-missing", UNHEALTHY, ".", port=nginx.ports[f"{HTTP_FAMILY[kind]}_proxy"])


def grpc_cases(server, bare):
    for kind, port, bare_port in (("GRPC", server.port, bare.port), ("GRPC_WITH_TLS", server.tls_port, bare.tls_port)):
        def case(name, state, reason="", port=port, kind=kind, **more):
            return Case(f"{kind.lower().replace('_', '-')}-{name}", kind, port, state, reason, **more)
        yield case("serving", HEALTHY, utilization=0.75)
        yield case("service-serving", HEALTHY, grpcServiceName="up")
        yield case("not-serving", UNHEALTHY, "service 'down' is NOT_SERVING", grpcServiceName="down", utilization=0.75)
        yield case("service-unknown", UNHEALTHY, "service 'lost' is SERVICE_UNKNOWN", grpcServiceName="lost")
        yield case("unknown", UNHEALTHY, "service 'blank' is UNKNOWN", grpcServiceName="blank")
        yield case("odd-state", UNHEALTHY, "in the unknown state 77", grpcServiceName="odd")
        yield case("not-found", UNHEALTHY, "gRPC status 5 NOT_FOUND: the server does not know service 'x{300}'",
                   grpcServiceName="x" * 300)
        yield case("internal", UNHEALTHY, "gRPC status 13 INTERNAL: disk", grpcServiceName="broken")
        yield case("slow", TIMEOUT, "no answer within 1 s", grpcServiceName="slow", timeout=1)
        yield case("no-health-service", UNHEALTHY, "gRPC status 12 UNIMPLEMENTED", port=bare_port)


def tls_cases(ports):
    """H7 and old protocols: a handshake is a handshake."""
    for name in ("expired", "weak", "elliptic", "p384", "p521", "x448", "tls12", "tls13", "tls10"):
        yield Case(f"ssl-{name}", "SSL", ports[name], HEALTHY)
    yield Case("ssl-client-certificate-wanted", "SSL", ports["client_cert"], HEALTHY)
    for name in ("expired", "tls12"):
        yield Case(f"http2-{name}-without-alpn", "HTTP2", ports[name], UNHEALTHY, "does not speak HTTP/2")
        yield Case(f"grpc-{name}-without-alpn", "GRPC_WITH_TLS", ports[name], UNHEALTHY, "does not speak HTTP/2")


def cross_cases(nginx, server):
    """A server of another type."""
    http, https, http2 = (nginx.ports[name] for name in ("http", "https", "http2"))
    yield Case("http-to-https", "HTTP", https, UNHEALTHY, "status 400, expected 200")
    yield Case("http-to-grpc", "HTTP", server.port, UNHEALTHY, "not HTTP|without an answer|reset")
    yield Case("https-to-http", "HTTPS", http, UNHEALTHY, NO_TLS)
    yield Case("https-to-http2", "HTTPS", http2, HEALTHY)  # it speaks both
    yield Case("http2-to-https", "HTTP2", https, UNHEALTHY, r"does not speak HTTP/2|no application protocol")
    yield Case("http2-to-http", "HTTP2", http, UNHEALTHY, NO_TLS)
    yield Case("ssl-to-http", "SSL", http, UNHEALTHY, NO_TLS)
    yield Case("grpc-to-http", "GRPC", http, UNHEALTHY, "the server speaks HTTP/1, not HTTP/2")
    yield Case("grpc-to-http2", "GRPC_WITH_TLS", http2, UNHEALTHY, "status 404, expected 200")
    yield Case("grpc-tls-to-plain", "GRPC_WITH_TLS", server.port, UNHEALTHY, NO_TLS + "|" + RESET_OR_CLOSED)


def bad_servers(cert):
    """(name, server, {type: (state, reason)}): what each type makes of a server that misbehaves."""
    def all_types(state, reason, **others):
        return {kind: others.get(kind, (state, reason)) for kind in BLOCKS}

    tcp = (HEALTHY, "")
    yield "silent", saying(then="stay"), all_types(TIMEOUT, "no answer within 1 s", TCP=tcp)
    yield "closing", saying(), all_types(UNHEALTHY, RESET_OR_CLOSED, TCP=tcp)
    yield "resetting", saying(first=b"\x01", then="reset"), {
        "SSL": (UNHEALTHY, "connection reset during the TLS handshake"),
        "HTTPS": (UNHEALTHY, "connection reset during the TLS handshake")}
    yield "resetting-http", saying(first=END, then="reset"), {
        "HTTP": (UNHEALTHY, "connection reset without an answer"),
        "GRPC": (UNHEALTHY, "connection reset without a complete answer")}
    yield "half-closing", saying(then="half-close"), all_types(UNHEALTHY, "connection closed", TCP=tcp)
    yield "garbage", saying(b"\x00\xff\x17 garbage \r\n\r\n" * 40, then="stay"), all_types(
        UNHEALTHY, NO_TLS, TCP=tcp, HTTP=(UNHEALTHY, "the answer is not HTTP"),
        GRPC=(UNHEALTHY, "the answer is not HTTP/2"))
    yield "ssh-banner", saying(b"SSH-2.0-OpenSSH_9.2\r\n", then="stay"), all_types(
        UNHEALTHY, NO_TLS, TCP=tcp, HTTP=(UNHEALTHY, "the answer is not HTTP"),
        GRPC=(UNHEALTHY, "the answer is not HTTP/2"))
    yield "endless-zeros", endlessly(bytes(65536)), all_types(
        UNHEALTHY, NO_TLS, TCP=tcp, HTTP=(UNHEALTHY, "the answer is not HTTP"),
        GRPC=(UNHEALTHY, "the answer is not HTTP/2"))
    yield "alert", saying(ALERT, first=b"\x01", then="stay"), {
        kind: (UNHEALTHY, "TLS alert: handshake failure") for kind in ("SSL", "HTTPS", "HTTP2", "GRPC_WITH_TLS")}
    # HTTP, plain and by TLS.
    for name, serve, expected in http_servers():
        yield f"http-{name}", serve, {"HTTP": expected}
        yield f"https-{name}", over_tls(serve, cert), {"HTTPS": expected}
    for name, serve, expected in h2_servers():
        yield f"http2-{name}", over_tls(serve, cert, alpn=("h2",)), {"HTTP2": expected}
    for name, serve, expected in grpc_servers():
        yield f"grpc-{name}", serve, {"GRPC": expected}
        yield f"grpc-tls-{name}", over_tls(serve, cert, alpn=("h2",)), {"GRPC_WITH_TLS": expected}
    for name, serve, block, expected in text_servers():
        yield f"tcp-{name}", serve, {"TCP": expected}, block
        yield f"ssl-{name}", over_tls(serve, cert), {"SSL": expected}, block


def http_servers():
    yield "before-the-request", saying(OK, then="stay"), (HEALTHY, "")
    yield "bare-line-feeds", saying(b"HTTP/1.0 200\nServer: tiny\n\nfine", first=END), (HEALTHY, "")
    yield "byte-by-byte", saying(*(bytes((c,)) for c in OK), first=END, pause=0.005), (HEALTHY, "")
    yield "interim", saying(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK, first=END), (HEALTHY, "")
    yield "endless-interim", endlessly(b"HTTP/1.1 100 Continue\r\n\r\n", first=END), (UNHEALTHY, "headers of more than|without a usable answer")
    yield "endless-headers", endlessly(b"X-More: and more\r\n", b"HTTP/1.1 200 OK\r\n", END), (UNHEALTHY, "headers of more than 65536 bytes")
    yield "endless-line", endlessly(b"x" * 4096, b"HTTP/1.1 200 OK\r\nX: ", END), (UNHEALTHY, "headers of more than 65536 bytes")
    yield "endless-status", endlessly(b"x" * 4096, b"HTTP/1.1 200 ", END), (UNHEALTHY, "headers of more than 65536 bytes")
    yield "endless-body", endlessly(b"x" * 4096, b"HTTP/1.1 200 OK\r\n\r\n", END), (HEALTHY, "")
    yield "switching", saying(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", first=END), (UNHEALTHY, "status 101, expected 200")
    yield "http2-status-line", saying(b"HTTP/2 200\r\n\r\n", first=END), (UNHEALTHY, "the answer is not HTTP")
    yield "two-digit-status", saying(b"HTTP/1.1 20 OK\r\n\r\n", first=END), (UNHEALTHY, "the answer is not HTTP")
    yield "four-digit-status", saying(b"HTTP/1.1 2000 OK\r\n\r\n", first=END), (UNHEALTHY, "the answer is not HTTP")
    yield "no-colon", saying(b"HTTP/1.1 200 OK\r\nbroken\x1b[0m\r\n\r\n", first=END), (UNHEALTHY, r"malformed header 'broken\?\[0m'")
    yield "cut-headers", saying(b"HTTP/1.1 200 OK\r\nServer: x\r\n", first=END), (UNHEALTHY, "connection closed in the middle of the headers")
    yield "two-lengths", saying(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", first=END), (UNHEALTHY, "malformed Content-Length")
    yield "negative-length", saying(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", first=END), (UNHEALTHY, "malformed Content-Length")
    yield "unknown-coding", saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", first=END), (UNHEALTHY, "unknown transfer coding 'gzip'")
    yield "slow-headers", saying(b"HTTP/1.1 200 OK\r\n", first=END, then="stay"), (TIMEOUT, "no answer within 1 s")


def h2_servers():
    head = SETTINGS_FRAME + headers((":status", "200"))
    yield "whole", saying(head + data(b"fine", end=True), first=PREFACE), (HEALTHY, "")
    yield "before-the-request", saying(SETTINGS_FRAME, headers((":status", "200"), end=True), pause=0.2, then="stay"), (HEALTHY, "")
    yield "interim", saying(SETTINGS_FRAME + headers((":status", "103")) + headers((":status", "200"), end=True), first=PREFACE), (HEALTHY, "")
    yield "http1-after-all", saying(b"HTTP/1.1 400 Bad Request\r\n\r\n", first=PREFACE), (UNHEALTHY, "the server speaks HTTP/1, not HTTP/2")
    yield "garbage", saying(b"\xde\xad\xbe\xef" * 20, first=PREFACE, then="stay"), (UNHEALTHY, "the answer is not HTTP/2")
    yield "no-settings", saying(headers((":status", "200"), end=True), first=PREFACE, then="stay"), (UNHEALTHY, "the answer is not HTTP/2")
    yield "huge-frame", saying(SETTINGS_FRAME + frame(DATA, 0, 1, b"x" * 99, length=1 << 23), first=PREFACE, then="stay"), (UNHEALTHY, "broken HTTP/2")
    yield "bad-hpack", saying(SETTINGS_FRAME + frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), first=PREFACE, then="stay"), (UNHEALTHY, "broken HTTP/2")
    yield "no-status", saying(SETTINGS_FRAME + headers(("x", "y"), end=True), first=PREFACE, then="stay"), (UNHEALTHY, "broken HTTP/2")
    yield "upper-case-header", saying(SETTINGS_FRAME + headers((":status", "200"), ("Bad Name", "y"), end=True), first=PREFACE, then="stay"), (UNHEALTHY, "broken HTTP/2")
    yield "data-on-idle-stream", saying(SETTINGS_FRAME + frame(DATA, 0, 2, b"x"), first=PREFACE, then="stay"), (UNHEALTHY, "broken HTTP/2")
    yield "reset", saying(SETTINGS_FRAME + reset(7), first=PREFACE, then="stay"), (UNHEALTHY, "the server reset the stream, REFUSED_STREAM")
    yield "goaway", saying(SETTINGS_FRAME + goaway(0, 11, b"calm down"), first=PREFACE, then="stay"), (UNHEALTHY, "GOAWAY, ENHANCE_YOUR_CALM")
    yield "endless-headers", endlessly(
        frame(CONTINUATION, 0, 1, b"\x00\x01a\x7f\x81\x01" + b"y" * 256), SETTINGS_FRAME + frame(HEADERS, 0, 1, b"\x88"), PREFACE), (UNHEALTHY, "broken HTTP/2|headers of more than")
    yield "large-headers", saying(
        SETTINGS_FRAME + headers((":status", "200"), flags=0), *(frame(CONTINUATION, 0, 1, b"\x00\x01a\x7f\x80\x5d" + b"y" * 12_031) for _ in range(6)),
        frame(CONTINUATION, END_HEADERS, 1, b""), first=PREFACE, then="stay"), (UNHEALTHY, "headers of more than 65536 bytes")
    yield "endless-pings", endlessly(frame(PING, 0, 0, bytes(8)), SETTINGS_FRAME, PREFACE), (UNHEALTHY, "without a usable answer|broken HTTP/2")
    yield "settings-only", saying(SETTINGS_FRAME, first=PREFACE), (UNHEALTHY, RESET_OR_CLOSED)
    yield "settings-then-silence", saying(SETTINGS_FRAME, first=PREFACE, then="stay"), (TIMEOUT, "no answer within 1 s")


def grpc_servers():
    def answer(message, *trailers, **more):
        return saying(grpc_answer(message, *trailers, **more), first=PREFACE, then="stay")
    yield "by-hand", answer(SERVING), (HEALTHY, "")
    yield "more-fields", answer(grpc_message(b"\x12\x03abc\x08\x01\x1d1234\x219876543210"[:-2])), (HEALTHY, "")
    yield "trailers-only", saying(SETTINGS_FRAME + headers(*GRPC_HEADERS, ("grpc-status", "5"), end=True), first=PREFACE), (UNHEALTHY, "gRPC status 5 NOT_FOUND")
    yield "no-message", saying(SETTINGS_FRAME + headers(*GRPC_HEADERS, ("grpc-status", "0"), end=True), first=PREFACE), (UNHEALTHY, "holds no gRPC message")
    yield "no-status", answer(SERVING, ("x", "y")), (UNHEALTHY, "has no grpc-status")
    yield "odd-status", answer(SERVING, ("grpc-status", "zero")), (UNHEALTHY, "malformed grpc-status 'zero'")
    yield "unheard-of-status", answer(SERVING, ("grpc-status", "99")), (UNHEALTHY, "gRPC status 99")
    yield "http-error", answer(b"no", ("x", "y"), fields=((":status", "502"), ("content-type", "text/html"))), (UNHEALTHY, "status 502, expected 200")
    yield "web-page", answer(b"<html>", ("x", "y"), fields=((":status", "200"), ("content-type", "text/html"))), (UNHEALTHY, "content type 'text/html', expected application/grpc")
    yield "similar-type", answer(SERVING, fields=((":status", "200"), ("content-type", "application/grpc-web"))), (UNHEALTHY, "content type 'application/grpc-web'")
    yield "with-subtype", answer(SERVING, fields=((":status", "200"), ("content-type", "application/grpc+proto"))), (HEALTHY, "")
    yield "compressed", answer(grpc_message(b"\x08\x01", compressed=1)), (UNHEALTHY, "is compressed")
    yield "two-messages", answer(SERVING + SERVING), (UNHEALTHY, "not exactly one gRPC message")
    yield "short-message", answer(grpc_message(b"\x08", length=2)), (UNHEALTHY, "not exactly one gRPC message")
    yield "huge-length", answer(grpc_message(b"\x08\x01", length=0xffffffff)), (UNHEALTHY, "not exactly one gRPC message")
    yield "large-message", answer(grpc_message(b"\x12\xff\x7f" + bytes(4000))), (UNHEALTHY, "more than 1024 bytes")
    yield "no-protobuf", answer(grpc_message(b"\xff" * 20)), (UNHEALTHY, "not a HealthCheckResponse")
    yield "cut-field", answer(grpc_message(b"\x12\x7fabc")), (UNHEALTHY, "not a HealthCheckResponse")
    yield "without-trailers", saying(SETTINGS_FRAME + headers(*GRPC_HEADERS) + data(SERVING), first=PREFACE), (UNHEALTHY, RESET_OR_CLOSED)
    yield "stream-reset", saying(SETTINGS_FRAME + headers(*GRPC_HEADERS) + reset(2), first=PREFACE, then="stay"), (UNHEALTHY, "reset the stream, INTERNAL_ERROR")


def text_servers():
    ping = {"request": "PING", "response": "PONG"}
    yield "reply", saying(b"PONG", first=b"PING"), ping, (HEALTHY, "")
    yield "reply-in-pieces", saying(b"P", b"ON", b"G and more", first=b"PING", pause=0.05), ping, (HEALTHY, "")
    yield "reply-without-end", saying(b"PONG", first=b"PING", then="stay"), ping, (HEALTHY, "")
    yield "wrong-reply", saying(b"PANG", first=b"PING", then="stay"), ping, (UNHEALTHY, "does not begin with the expected response")
    yield "late-in-reply", saying(b" PONG", first=b"PING", then="stay"), ping, (UNHEALTHY, "does not begin with the expected response")
    yield "short-reply", saying(b"PON", first=b"PING"), ping, (UNHEALTHY, "connection closed without the expected answer")
    yield "slow-reply", saying(b"PON", first=b"PING", then="stay"), ping, (TIMEOUT, "no answer within 1 s")
    yield "banner", saying(b"220 ready\r\n", then="stay"), {"response": "220 "}, (HEALTHY, "")
    yield "endless-wrong", endlessly(b"y" * 65536), {"response": "z"}, (UNHEALTHY, "does not begin")
    yield "reply-not-looked-at", saying(b"anything", first=b"PING"), {"request": "PING"}, (HEALTHY, "")
    yield "longest", saying(b"b" * 1024, first=b"a" * 1024), {"request": "a" * 1024, "response": "b" * 1024}, (HEALTHY, "")


class World:
    """All servers, all cases, and what the probes found."""

    def __init__(self, directory):
        self.servers = []
        cert = expired(directory, "expired")
        self.cert = cert
        self.nginx = self.keep(Nginx(f"{directory}", cert))
        grpc_server = self.keep(GrpcServer(cert, [HealthService()]))
        bare = self.keep(GrpcServer(cert, []))
        openssl = {name: self.keep(OpensslServer(pair, *options)).port for name, (pair, *options) in {
            "expired": (cert,), "tls12": (cert, "-tls1_2"), "tls13": (cert, "-tls1_3"), "client_cert": (cert, "-verify", "1"),
            "tls10": (cert, "-tls1", "-cipher", "DEFAULT@SECLEVEL=0"),
            "weak": (self_signed(directory, "weak", ("rsa:1024",), ("-sha1",)), "-cipher", "DEFAULT@SECLEVEL=0"),
            "p384": (cert, "-groups", "P-384"), "p521": (cert, "-groups", "P-521"), "x448": (cert, "-groups", "X448"),
            "elliptic": (self_signed(directory, "elliptic", ("ec", "-pkeyopt", "ec_paramgen_curve:P-384")),)}.items()}
        self.cases = [*http_cases(self.nginx), *grpc_cases(grpc_server, bare), *tls_cases(openssl),
                      *cross_cases(self.nginx, grpc_server)]
        for name, serve, expected, *block in bad_servers(cert):
            server = self.keep(Little(serve))
            for kind, (state, reason) in expected.items():
                self.cases.append(Case(f"{kind.lower().replace('_', '-')}-x-{name}", kind, server.port, state, reason,
                                       timeout=1 if state == TIMEOUT else 20, **(block[0] if block else {})))
        for kind in BLOCKS:
            self.cases.append(Case(f"{kind.lower().replace('_', '-')}-refused", kind, free_port(), UNHEALTHY, "^connection refused$"))
        self.recorders = {case.name: recorder for case, recorder in self.recording(cert)}
        self.found = once([case.check() for case in self.cases], directory)

    def keep(self, server):
        self.servers.append(server)
        return server

    def recording(self, cert):
        """H8 to the byte: servers that write down what comes first."""
        plain = {"TCP": ({"request": "PING"}, lambda c: read_until(c, b"PING")),
                 "HTTP": ({}, lambda c: (read_until(c, END), c.sendall(OK))[0])}
        secure = {"SSL": ({}, drain), "HTTPS": ({}, saying(OK, first=END)),
                  "HTTP2": ({}, saying(SETTINGS_FRAME + headers((":status", "200"), end=True), first=PREFACE))}
        for kind, (block, serve) in {**plain, **secure}.items():
            if kind in secure:
                serve = over_tls(serve, cert, alpn=("h2",) if kind == "HTTP2" else (), before=15)
            server = self.keep(Little(serve))
            case = Case(f"{kind.lower()}-records", kind, server.port, HEALTHY, proxyHeader="PROXY_V1", **block)
            self.cases.append(case)
            yield case, server

    def close(self):
        for server in self.servers:
            server.close()


def write_checks(checks, directory, name):
    path = f"{directory}/{name}.yaml"
    with open(path, "w", encoding="utf-8") as out:
        yaml.safe_dump({"healthChecks": checks}, out)
    return path


def drive(*words, timeout=60):
    done = subprocess.run((DRIVER,) + words, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def once(checks, directory):
    lines = drive("once", write_checks(checks, directory, "once"))
    found = {line["name"]: line for line in lines}
    assert len(found) == len(lines) == len(checks)
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(str(tmp_path_factory.mktemp("health")))
    yield made
    made.close()


def assert_found(case, found):
    assert found["state"] == case.state and re.search(case.reason, found["reason"]), (case.name, found)
    assert (found["state"] == HEALTHY) == (found["reason"] == ""), found
    if case.weight is not None:
        assert found["weight"] == case.weight, found
    if case.utilization is not None:
        assert found["utilization"] == pytest.approx(case.utilization), found


@pytest.mark.parametrize("kind", BLOCKS)
def test_H1_each_type_finds_what_is_there(world, kind):
    cases = [case for case in world.cases if case.kind == kind]
    assert {case.state for case in cases} == ({HEALTHY, UNHEALTHY, TIMEOUT})
    wrong = []
    for case in cases:
        try:
            assert_found(case, world.found[case.name])
        except AssertionError:
            wrong.append((case.name, case.state, case.reason, world.found[case.name]))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("kind", ["TCP", "SSL", "HTTP", "HTTPS", "HTTP2"])
def test_H8_proxy_header_comes_first_to_the_byte(world, kind):
    server = world.recorders[f"{kind.lower()}-records"]
    assert server.done.wait(5)
    assert server.seen[0][:15] == b"PROXY UNKNOWN\r\n"
    if kind == "TCP":
        assert server.seen == [b"PROXY UNKNOWN\r\nPING"]
    if kind == "HTTP":
        assert server.seen[0][15:].startswith(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")


def test_H12_nobody_waited_for_another(world):
    """All probes began at the same time, many of them at servers that hang: half of the others had
    their verdict before the first of those timed out."""
    quick = sorted(world.found[case.name]["durationMs"] for case in world.cases if case.state != TIMEOUT)
    hanging = [world.found[case.name]["durationMs"] for case in world.cases if case.state == TIMEOUT]
    assert min(hanging) >= 990 and len(hanging) >= 10
    assert quick[len(quick) // 2] < min(hanging)


def test_the_round_trip_is_measured(world):
    for case in world.cases:
        found = world.found[case.name]
        assert ("connectUs" in found) == (found["reason"] != "connection refused"), found
        assert found.get("connectUs", 0) < 3_000_000


def test_P9_2_weights_of_what_could_not_be_asked(world):
    assert world.found["http-refused"]["weight"] == "unavailable"
    assert world.found["https-x-silent"]["weight"] == "unavailable"
    assert world.found["http2-x-garbage"]["weight"] == "unavailable"
    assert world.found["http-x-garbage"]["weight"] == "invalid"
    assert "weight" not in world.found["tcp-x-silent"]
    assert "weight" not in world.found["grpc-serving"]


def watch(checks, directory, name, count, seconds):
    return drive("watch", write_checks(checks, directory, name), str(count), str(seconds))[0]


def many(kind, port, name="many", **block):
    return {"name": name, "type": kind, "checkIntervalSec": 1, "timeoutSec": 1, BLOCKS[kind]: {"port": port, **block}}


def test_H12_a_hanging_backend_delays_nobody(world, tmp_path):
    silent = world.keep(Little(saying(then="stay")))
    # 20 backends hang in every step that a probe can hang in.
    hanging = [many(kind, silent.port, f"hangs-{index}") for index, kind in enumerate(
        kind for kind in ("SSL", "HTTP", "HTTPS", "HTTP2", "GRPC") for _ in range(4))]
    # The watched ones are at 127.1.0.1 and on.
    server = world.keep(Little(saying(OK, first=END), host="0.0.0.0"))
    result = watch([many("HTTP", server.port)] + hanging, str(tmp_path), "hang", 50, 3)
    assert result["states"]["many"] == {"HEALTHY": 50}, result
    assert all(result["states"][check["name"]] == {"TIMEOUT": 1} for check in hanging), result
    assert result["succeeded"] >= 50 * 2, result
    # Start to start, although each of them takes all of its interval (H2).
    assert result["timedOut"] >= 20 * 2
    assert result["failed"] == 0
