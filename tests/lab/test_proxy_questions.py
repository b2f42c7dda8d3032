# SPDX-License-Identifier: GPL-2.0-or-later
"""What weirctl says of connections through the proxy: list, count, flush, and where one would go (C2)."""

import json
import subprocess
import sys

import proxy_lab
from lab import HERE

RESOURCES = """
networkEndpointGroups:
  - {name: a, networkEndpointType: GCE_VM_IP_PORT, endpoints: [{ipAddress: 10.2.0.11, port: 9000}]}
  - {name: b, networkEndpointType: GCE_VM_IP_PORT, endpoints: [{ipAddress: 10.2.0.12, port: 9000}]}
backendServices:
  - {name: one, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, backends: [{group: a, balancingMode: CONNECTION, maxConnections: 100}]}
  - {name: two, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, backends: [{group: b, balancingMode: CONNECTION, maxConnections: 100}]}
targetTcpProxies: [{name: plain, service: one}, {name: names}]
tlsRoutes:
  - name: routes
    targetProxies: [names]
    rules: [{matches: [{sniHost: ["*.example.com"]}], action: {destinations: [{serviceName: two}], idleTimeout: 90s}}]
forwardingRules:
  - {name: plain, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.8.8.8, IPProtocol: TCP, ports: [80], target: plain}
  - {name: tls, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.8.8.8, IPProtocol: TCP, ports: [443], target: names}
"""


def test_C2_connections_of_the_proxy_are_listed_counted_flushed_and_explained(make_lab):
    lab = make_lab(backends=2)
    for backend in lab.backends:
        server = backend.start(sys.executable, f"{HERE}/echo_server.py", "9000", stdout=subprocess.PIPE, stderr=None)
        assert server.stdout.readline() == b"ready\n"
    proxy_lab.start(lab, RESOURCES)
    crowd = lab.client.start(sys.executable, f"{HERE}/crowd.py", proxy_lab.FRONT4, "80", "5", stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=None, text=True)
    assert crowd.stdout.readline() == "ready\n"

    def ask():
        crowd.stdin.write("ask\n")
        crowd.stdin.flush()
        return json.loads(crowd.stdout.readline())
    assert ask() == {"answered": [0, 1, 2, 3, 4], "broken": []}

    listed = lab.weirctl("connections", "list")["connections"]
    assert len(listed) == 5
    assert {(c["service"], c["source"], c["destination"], c["destinationPort"], c["backend"], c["group"], c["state"]) for c in listed} == \
        {("one", "10.1.0.2", "10.8.8.8", 80, "10.2.0.11:9000", "a", "established")}
    assert all(c["bytesUp"] == c["bytesDown"] == 1 for c in listed)
    assert "10.2.0.11:9000" in lab.weirctl("connections", "list", json_output=False)

    def count(*words):
        return lab.weirctl("connections", "count", *words)["count"]
    assert count() == count("--service", "one") == count("--client", "10.1.0.0/16") == count("--backend", "10.2.0.11:9000") == 5
    assert count("--service", "two") == count("--client", "10.1.0.3") == 0

    where = ("explain", "--src", "10.1.0.7", "--dst", "10.8.8.8")
    said = lab.weirctl(*where, "--dport", "443", "--sni", "Shop.example.com.")
    assert (said["action"], said["service"], said["route"], said["endpoint"], said["idleTimeoutSec"], said["rule"]) == \
        ("proxy", "two", "routes", "10.2.0.12:9000", 90, "S3")
    said = lab.weirctl(*where, "--dport", "443", "--sni", "example.com")
    assert (said["action"], said["reason"], said["detail"]) == ("close", "destination_unavailable", "destination_not_found")
    # Where a proxy listens no name is needed to ask, and nothing else either.
    text = lab.weirctl(*where, json_output=False)
    assert "Result     to backend 10.2.0.11:9000 of group a" in text and "Groups     a: 5 open" in text, text
    assert "no TCP flags" not in text

    assert lab.weirctl("connections", "flush", "--client", "10.1.0.3")["flushed"] == 0
    assert ask()["answered"] == [0, 1, 2, 3, 4]
    assert lab.weirctl("connections", "flush", "--service", "one")["flushed"] == 5
    assert ask()["broken"] == [0, 1, 2, 3, 4]
    assert count() == 0
