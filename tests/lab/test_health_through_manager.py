# SPDX-License-Identifier: GPL-2.0-or-later
"""Health checks of every type by the manager: at the virtual address, over each backend's own next hop."""

import os
import re
import signal
import sys

import pytest
from api import call
from health.certificates import expired
from health.servers import Nginx, nginx_config
from lab import HERE, VIP4

PORTS = dict(zip(Nginx.NAMES, range(8001, 8010)))
GRPC, GRPC_TLS = 8020, 8021
TYPES = {"tcp": ("TCP", "tcpHealthCheck", PORTS["http"]), "ssl": ("SSL", "sslHealthCheck", PORTS["https"]),
         "http": ("HTTP", "httpHealthCheck", PORTS["http"]), "https": ("HTTPS", "httpsHealthCheck", PORTS["https"]),
         "http2": ("HTTP2", "http2HealthCheck", PORTS["http2"]), "grpc": ("GRPC", "grpcHealthCheck", GRPC),
         "grpc-tls": ("GRPC_WITH_TLS", "grpcTlsHealthCheck", GRPC_TLS)}


def resources():
    """For each type a service, its group of the same two backends, and a rule; all on one address."""
    checks = groups = services = rules = ""
    for number, (name, (kind, block, port)) in enumerate(TYPES.items()):
        checks += (f"  - {{name: {name}, type: {kind}, checkIntervalSec: 1, timeoutSec: 1, logConfig: {{enable: true}}, "
                   f"{block}: {{port: {port}}}}}\n")
        services += f"  - {{name: {name}, loadBalancingScheme: INTERNAL, healthChecks: [{name}], backends: [{{group: {name}}}]}}\n"
        groups += f"  - {{name: {name}, endpoints: [{{ipAddress: 10.2.0.11}}, {{ipAddress: 10.2.0.12}}]}}\n"
        rules += (f"  - {{name: {name}, loadBalancingScheme: INTERNAL, IPAddress: {VIP4}, IPProtocol: TCP, "
                  f"ports: [{100 + number}], backendService: {name}}}\n")
    return (f"healthChecks:\n{checks}networkEndpointGroups:\n{groups}"
            f"backendServices:\n{services}forwardingRules:\n{rules}")


@pytest.fixture
def lab(make_lab):
    made = make_lab(backends=2)
    made.nginx = []
    cert = expired(made.directory, "expired")
    for backend in made.backends:
        directory = f"{made.directory}/{backend.short}"
        os.makedirs(directory)
        config = nginx_config(directory, cert, "0.0.0.0", PORTS)
        made.nginx.append(backend.start("nginx", "-c", config, "-p", directory, log=f"{directory}/log"))
        backend.start(sys.executable, f"{HERE}/health/servers.py", str(GRPC), str(GRPC_TLS), *cert, log=f"{directory}/grpc.log")
    # The second backend serves all of it, but not at the virtual address.
    made.backends[1].ip(f"addr del {VIP4}/32 dev lo")
    made.configure(resources())
    made.program("weir-manager")
    return made


def states(lab, name):
    health = call(lab, "GET", f"/v1/backendServices/{name}/health")["healthStatus"]
    return {entry["endpoint"]: (entry["healthState"], entry.get("reason", "")) for entry in health}


def all_are(lab, names, endpoint, wanted):
    try:
        return all(states(lab, name)[endpoint][0] in wanted for name in names)
    except OSError:
        return False  # the manager has only just begun


def transitions(lab, name):
    """(old state, new state, reason) of the first backend in the manager's log."""
    with open(f"{lab.directory}/weir-manager.log", encoding="utf-8") as log:
        lines = [line for line in log if "health changed" in line and f"HEALTH_CHECK={name} " in line and "BACKEND=10.2.0.11 " in line]
    for line in lines:
        assert re.search(r" PROBE_DURATION_MS=\d+\.\d{3} ", line) and f" TARGET={VIP4}:" in line and f" SERVICE={name} " in line, line
    found = (re.search(r" OLD_STATE=(\w+) NEW_STATE=(\w+) .*REASON=(\"[^\"]*\"|\S+)", line) for line in lines)
    return [tuple(field.strip('"') for field in match.groups()) for match in found]


def test_H9_every_type_probes_the_virtual_address_over_the_backends_own_next_hop(lab):
    lab.until(lambda: all_are(lab, TYPES, "10.2.0.11", {"HEALTHY"}), 15, "the first backend is healthy", lab.tail)
    lab.until(lambda: all_are(lab, TYPES, "10.2.0.12", {"TIMEOUT", "UNHEALTHY"}), 10, "the second one is not", lab.tail)
    for name in TYPES:
        assert states(lab, name)["10.2.0.11"] == ("HEALTHY", "")
        assert states(lab, name)["10.2.0.12"][1].startswith(f"{VIP4}:"), states(lab, name)

    # H10, H11: what refuses is UNHEALTHY, and each transition is told once, with its reason.
    lab.stop(lab.nginx[0], signal.SIGKILL)
    by_nginx = [name for name in TYPES if "grpc" not in name]
    lab.until(lambda: all_are(lab, by_nginx, "10.2.0.11", {"UNHEALTHY"}), 10, "what nginx served is unhealthy", lab.tail)
    for name in TYPES:
        up = ("UNKNOWN", "HEALTHY", "probe succeeded")
        down = ("HEALTHY", "UNHEALTHY", "connection refused")
        assert transitions(lab, name) == ([up, down] if name in by_nginx else [up]), lab.tail()
    assert all_are(lab, ("grpc", "grpc-tls"), "10.2.0.11", {"HEALTHY"})
