# SPDX-License-Identifier: GPL-2.0-or-later
"""What the proxy's lab tests share: a lab with the proxy at work, its access log and its metrics."""

import shlex
import subprocess
import sys

from lab import HERE

FRONT4, FRONT6 = "10.8.8.8", "fd08::8"


def one_backend(port=9000, service="", most=1000):
    """Resources: port 80 of FRONT4 leads to `port` of the first backend, by a service `s` with these fields besides."""
    return f"""
networkEndpointGroups: [{{name: g, networkEndpointType: GCE_VM_IP_PORT, endpoints: [{{ipAddress: 10.2.0.11, port: {port}}}]}}]
backendServices:
  - {{name: s, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, {service + "," if service else ""}
     backends: [{{group: g, balancingMode: CONNECTION, maxConnections: {most}}}]}}
targetTcpProxies: [{{name: p, service: s}}]
forwardingRules: [{{name: f, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: {FRONT4}, IPProtocol: TCP, ports: [80], target: p}}]
"""


def serve(host, program, *words):
    """Starts one of the servers that lie beside this file and say when they are ready."""
    server = host.start(sys.executable, f"{HERE}/{program}", *words, stdout=subprocess.PIPE, stderr=None)
    assert server.stdout.readline() == b"ready\n"
    return server


def start(lab, resources, node="", programs=("weir-manager", "weir-proxy")):
    lab.configure(resources, node)
    for name in programs:
        lab.program(name)
    lab.until(lambda: is_listening(lab), 20, "the proxy listens", lab.tail)
    return lab


def is_listening(lab, address=FRONT4):
    return address in lab.weir.run("ss", "-Hltn").stdout


def log_lines(lab, program="weir-proxy"):
    with open(f"{lab.directory}/{program}.log", encoding="utf-8", errors="replace") as log:
        return log.read().splitlines()


def access_log(lab):
    """The lines of connections, as dictionaries."""
    lines = (line.partition(": connection ")[2] for line in log_lines(lab))
    return [dict(word.split("=", 1) for word in shlex.split(line)) for line in lines if line]


def metric(lab, name, **labels):
    """The sum of a metric's series that have these labels; None: there is none."""
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    text = lab.weir.run("curl", "-s", "http://127.0.0.1:9147/metrics").stdout
    values = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
              if line.startswith((name + " ", name + "{")) and all(word in line for word in wanted)]
    return sum(values) if values else None
