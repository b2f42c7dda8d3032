# SPDX-License-Identifier: GPL-2.0-or-later
"""Every vector of hello_vectors.py against the running proxy: what can be routed arrives byte for byte, what cannot is
closed without a byte, without a backend, in time, and the access log says why (X2.2, X2.3, X5.2, X6, X7)."""

import hashlib
import json
import subprocess
import sys

import proxy_lab
import pytest
from hello_vectors import FIN, HELLO_TIMEOUT_S, PLAIN, PROXIED, PROXIED_TLS, REFUSED, SENDS_V1, TLS, VECTORS, Closed, Served
from lab import HERE
from tls_hello import read_v2, v2, v2_addresses

# No health check: the only connections to the backends are those of clients.
SERVICES = {"one": ("b1", 9000), "other": ("b2", 9000), "plain": ("b3", 9000), "one-v2": ("b1", 9002),
            "plain-v2": ("b3", 9002), "plain-v1": ("b3", 9001), "nobody": ("b3", 9999)}
KIND_OF_PORT = {9000: "none", 9001: "v1", 9002: "v2"}


def resources():
    groups, services = "networkEndpointGroups:\n", "backendServices:\n"
    for name, (backend, port) in SERVICES.items():
        groups += (f"  - {{name: {name}, networkEndpointType: GCE_VM_IP_PORT, endpoints: "
                   f"[{{ipAddress: 10.2.0.1{backend[1]}, port: {port}}}]}}\n")
        services += (f"  - {{name: {name}, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, logConfig: {{enable: true}},\n"
                     f"     backends: [{{group: {name}, balancingMode: CONNECTION, maxConnections: 100000}}]}}\n")
    trusted = "acceptProxyFrom: [10.1.0.0/24]"
    fronts = {TLS: "tls", PLAIN: "plain", SENDS_V1: "v1", REFUSED: "nobody", PROXIED: "proxied", PROXIED_TLS: "proxied-tls"}
    rules = "".join(f"  - {{name: front-{port}, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.8.8.8, IPProtocol: TCP, "
                    f"ports: [{port}], target: {target}}}\n" for port, target in fronts.items())
    return groups + services + f"""
targetTcpProxies:
  - {{name: tls}}
  - {{name: plain, service: plain}}
  - {{name: v1, service: plain-v1, proxyHeader: PROXY_V1}}
  - {{name: nobody, service: nobody}}
  - {{name: proxied, service: plain-v2, proxyHeader: PROXY_V2, {trusted}}}
  - {{name: proxied-tls, proxyHeader: PROXY_V2, {trusted}}}
tlsRoutes:
  - name: routes
    targetProxies: [tls]
    rules:
      - {{matches: [{{sniHost: [one.example.com]}}], action: {{destinations: [{{serviceName: one}}]}}}}
      - {{matches: [{{sniHost: ["*.example.com"]}}], action: {{destinations: [{{serviceName: other}}]}}}}
      - {{matches: [{{sniHost: ["*.deep.example.com"]}}], action: {{destinations: [{{serviceName: one}}]}}}}
      - {{matches: [{{sniHost: [alpn.example.com], alpn: [h2]}}], action: {{destinations: [{{serviceName: one}}]}}}}
      - {{matches: [{{sniHost: [alpn.example.com]}}], action: {{destinations: [{{serviceName: other}}]}}}}
  - name: proxied-routes
    targetProxies: [proxied-tls]
    rules: [{{matches: [{{sniHost: [one.example.com]}}], action: {{destinations: [{{serviceName: one-v2}}]}}}}]
forwardingRules:
""" + rules


@pytest.fixture(scope="module")
def played(module_lab):
    """The lab after all vectors have been played, with what came of each."""
    lab = module_lab(backends=3)
    for backend in lab.backends:
        ports = {port for name, port in SERVICES.values() if name == backend.short and port in KIND_OF_PORT}
        server = backend.start(sys.executable, f"{HERE}/byte_collector.py", backend.short, f"{lab.directory}/{backend.short}.seen",
                               *(f"{port}:{KIND_OF_PORT[port]}" for port in sorted(ports)), stdout=subprocess.PIPE, stderr=None)
        assert server.stdout.readline() == b"ready\n"
    proxy_lab.start(lab, resources(), f"proxy: {{clientHelloTimeoutSec: {HELLO_TIMEOUT_S}}}\n")
    done = lab.client.run(sys.executable, f"{HERE}/send_vectors.py", proxy_lab.FRONT4, timeout=120)
    lab.results = json.loads(done.stdout)
    lab.until(lambda: len(proxy_lab.access_log(lab)) >= len(VECTORS), 10, "every connection is in the access log",
              lambda: f"{len(proxy_lab.access_log(lab))} of {len(VECTORS)}\n{lab.tail()}")
    lab.log = proxy_lab.access_log(lab)
    return lab


def lines_of(lab, vector):
    own = f"10.1.0.2:{lab.results[vector.name]['port']}"
    announced = getattr(vector.expect, "client", None)
    client = own if announced in (None, "self") else announced
    return [line for line in lab.log if line["CLIENT"] == client and line["RULE"] == f"front-{vector.front}"]


def expected_header(vector, port):
    """What the backend is told of the client."""
    if vector.front == SENDS_V1:
        return f"PROXY TCP4 10.1.0.2 10.8.8.8 {port} {SENDS_V1}"
    if vector.front not in (PROXIED, PROXIED_TLS):
        return ""
    client = f"10.1.0.2:{port}" if vector.expect.client == "self" else vector.expect.client
    host, _, number = client.rpartition(":")
    host = host.strip("[]")
    both6 = ":" in host
    body = v2_addresses(host, "::ffff:10.8.8.8" if both6 else "10.8.8.8", int(number), vector.front)
    if vector.front == PROXIED_TLS:
        body += b"\2" + len(b"one.example.com").to_bytes(2, "big") + b"one.example.com"
    family, body, _ = read_v2(v2(body, 0x21 if both6 else 0x11))
    return f"{family:02x} {body.hex()}"


@pytest.mark.parametrize("vector", [v for v in VECTORS if isinstance(v.expect, Served)], ids=lambda v: v.name)
def test_X6_4_what_can_be_routed_arrives_byte_for_byte(played, vector):
    result = played.results[vector.name]
    assert result["answer"], (result, lines_of(played, vector))
    answer = json.loads(result["answer"])
    sent = b"".join(step for step in vector.steps if isinstance(step, bytes))[vector.expect.header:]
    backend = SERVICES[vector.expect.by][0]
    assert answer == {"name": backend, "header": expected_header(vector, result["port"]), "bytes": len(sent),
                      "sha256": hashlib.sha256(sent).hexdigest(), "end": "end"}
    assert result["end"] == "end"
    lines = [line for line in lines_of(played, vector) if line.get("SERVICE") == vector.expect.by]
    assert lines, played.log[-3:]
    line = lines[0]
    assert line["BACKEND"] == "10.2.0.1{}:{}".format(backend[1], SERVICES[vector.expect.by][1]) and "REASON" not in line, line
    assert line["GROUP"] == vector.expect.by and line["SERVER"] == f"10.8.8.8:{vector.front}" and line["START"] <= line["END"]
    if vector.expect.client is None:
        assert int(line["BYTES_UP"]) == len(sent) and int(line["BYTES_DOWN"]) == len(result["answer"]), line
        assert ("SNI" in line) == ("ROUTE" in line) == (vector.front == TLS), line


@pytest.mark.parametrize("vector", [v for v in VECTORS if isinstance(v.expect, Closed)], ids=lambda v: v.name)
def test_X6_2_what_cannot_be_routed_is_closed_for_the_reason_in_the_log(played, vector):
    result = played.results[vector.name]
    assert result["answer"] == "" and result["end"] != "nothing", result
    assert vector.expect.after_s - 0.2 <= result["elapsed_s"] <= vector.expect.after_s + 4, result
    lines = [line for line in lines_of(played, vector) if "REASON" in line]
    assert (vector.expect.reason, vector.expect.detail) in [(line["REASON"], line["DETAIL"]) for line in lines], lines
    assert not any(line.get("BACKEND") for line in lines)


def test_X6_2_no_backend_was_contacted_for_what_was_refused(played):
    seen = []
    for backend in played.backends:
        with open(f"{played.directory}/{backend.short}.seen", encoding="utf-8") as lines:
            seen += [json.loads(line) for line in lines]
    assert len(seen) == sum(isinstance(v.expect, Served) for v in VECTORS)
    assert all(each["end"] == "end" for each in seen)


def test_X7_every_connection_is_counted_by_its_reason(played):
    assert proxy_lab.metric(played, "weir_proxy_connections_total") == len(VECTORS)
    assert proxy_lab.metric(played, "weir_proxy_connections") == 0
    for reason in {v.expect.reason for v in VECTORS if isinstance(v.expect, Closed)}:
        expected = sum(isinstance(v.expect, Closed) and v.expect.reason == reason for v in VECTORS)
        assert proxy_lab.metric(played, "weir_proxy_closed_total", reason=reason) == expected, reason


def test_the_table_has_every_class(played):
    assert len(VECTORS) >= 115 and any(FIN in v.steps for v in VECTORS)
    assert played.programs["weir-proxy"].poll() is None
