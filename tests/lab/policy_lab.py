# SPDX-License-Identifier: GPL-2.0-or-later
"""A lab of three zones in two regions behind the proxy, its clients, and the model of its policies.

  zone za  region r1  the node's own   group a on b1: 10.2.0.11, ports 8001 to 8004
  zone zb  region r1  2 ms away        group b on b2: 10.2.0.12
  zone zc  region r2  20 ms away       group c on b3: 10.2.0.13

The delay is netem's on the backends' links where the kernel has it, so that the probes measure the
distances; elsewhere they are configured.
"""

import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../property"))

import proxy_load_model  # noqa: E402  (the path must be there first)

FRONT = "10.8.8.8"
DELAYS_MS = {"zb": 2, "zc": 20}
ZONES = [("za", "r1"), ("zb", "r1"), ("zc", "r2")]
ALGORITHMS = ["WATERFALL_BY_REGION", "SPRAY_TO_REGION", "WATERFALL_BY_ZONE", "SPRAY_TO_WORLD"]
MEMBERS = 4


class Talk:
    """A process that answers each line with a line."""

    def __init__(self, namespace, script, *words, log=None):
        self.process = namespace.start(sys.executable, f"{HERE}/{script}", *words, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, log=log, text=True)

    def hear(self):
        line = self.process.stdout.readline()
        assert line, "the process has ended"
        return line.strip()

    def say(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        return self.hear()


class PolicyLab:
    def __init__(self, lab, members=MEMBERS):
        self.lab, self.members = lab, members
        self.ports = [str(8001 + i) for i in range(members)]
        # Groups fa, fb and fc are for what goes on beside the main service, on ports of their own.
        self.servers = {}
        for letter, host in zip("abc", lab.backends):
            for group, ports in ((letter, self.ports), (f"f{letter}", self.other_ports)):
                self.servers[group] = Talk(host, "policy_servers.py", group, *ports,
                                           log=f"{lab.directory}/servers-{group}.log")
                self.servers[group].hear()
        self.measured = self.delay()
        self.clients = {}

    @property
    def other_ports(self):
        return [str(int(port) + 1000) for port in self.ports]

    def delay(self):
        """True: the links of the backends have the zones' delays."""
        for (zone, _), host in zip(ZONES, self.lab.backends):
            if zone in DELAYS_MS and host.run("tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay",
                                              f"{DELAYS_MS[zone]}ms", check=False).returncode != 0:
                return False
        return True

    # --- weir

    def start(self, backends, locality="ROUND_ROBIN", policy=None, services=("shop",)):
        """`backends`: fields of each group of the service besides its name, by letter."""
        node = "location: {region: r1, zone: za}\nzones: [" + ", ".join(
            f"{{name: {zone}, region: {region}}}" for zone, region in ZONES) + "]\n"
        if not self.measured:
            node += f"proximity: {json.dumps(DELAYS_MS)}\n"
        self.lab.configure("", node)
        for name in ("weir-manager", "weir-proxy"):
            self.lab.program(name)
        self.lab.until(lambda: isinstance(self.lab.weirctl("status", check=False), dict), 20, "weir answers", self.lab.tail)
        self.apply(self.resources(backends, locality, policy or {}, services))
        for service in services:
            self.lab.until(lambda name=service: self.is_ready(name), 20, f"{service} is ready", self.lab.tail)
        for number, service in enumerate(services):
            self.clients[service] = Talk(self.lab.client, "policy_clients.py", FRONT, str(80 + number),
                                         log=f"{self.lab.directory}/clients-{service}.log")

    def apply(self, resources):
        path = f"{self.lab.directory}/resources.json"
        with open(path, "w", encoding="utf-8") as out:
            json.dump(resources, out)
        self.lab.weirctl("apply", "-f", path)

    def resources(self, backends, locality, policy, services):
        groups, made, proxies, rules = [], [], [], []
        for number, service in enumerate(services):
            prefix, ports = ("", self.ports) if number == 0 else ("f", self.other_ports)
            for letter, (zone, _), host in zip("abc", ZONES, self.lab.backends):
                groups.append({"name": prefix + letter, "zone": zone, "networkEndpointType": "GCE_VM_IP_PORT",
                               "endpoints": [{"ipAddress": host.address4, "port": int(port)} for port in ports]})
            made.append({"name": service, "loadBalancingScheme": "INTERNAL_MANAGED", "protocol": "TCP",
                         "healthChecks": ["hc"], "timeoutSec": 600, "localityLbPolicy": locality, "serviceLbPolicy": "spread",
                         "backends": [{"group": prefix + letter, **fields} for letter, fields in backends.items()]})
            proxies.append({"name": service, "service": service})
            rules.append({"name": service, "loadBalancingScheme": "INTERNAL_MANAGED", "IPAddress": FRONT,
                          "IPProtocol": "TCP", "ports": [80 + number], "target": service})
        # Three failures, so that a machine with much else to do does not make backends unhealthy.
        return {"healthChecks": [{"name": "hc", "type": "HTTP", "checkIntervalSec": 1, "timeoutSec": 1,
                                  "healthyThreshold": 1, "unhealthyThreshold": 3,
                                  "httpHealthCheck": {"portSpecification": "USE_SERVING_PORT"}}],
                "networkEndpointGroups": groups, "serviceLbPolicies": [{"name": "spread", **policy}],
                "backendServices": made, "targetTcpProxies": proxies, "forwardingRules": rules}

    def policy(self, *flags):
        self.lab.weirctl("service-lb-policies", "update", "spread", *flags)

    def groups(self, service="shop"):
        """The service's groups as an operator sees them, by name."""
        shown = self.lab.weirctl("backend-services", "get-health", service)
        return {group["group"]: group for group in shown["groups"]}

    def is_ready(self, service):
        groups = self.groups(service).values()
        return all(g["healthy"] == g["members"] and (g["zone"] == "za" or "distanceMs" in g) and "load" in g for g in groups)

    def until_healthy(self, healthy, service="shop", timeout=20):
        """Until the groups named have so many healthy members; seconds that it took."""
        def reached():
            groups = self.groups(service)
            return all(groups[name]["healthy"] == count for name, count in healthy.items())
        return self.lab.until(reached, timeout, f"healthy: {healthy}", self.lab.tail)

    # --- members and clients

    def server(self, group, *words):
        assert self.servers[group].say(*words) == "ok"

    def ask(self, *words, service="shop"):
        """Connections by group, and how many found none."""
        answer = json.loads(self.clients[service].say(*words))
        by_group = {}
        for name, count in answer["members"].items():
            group = name.split(":")[0]
            by_group[group] = by_group.get(group, 0) + count
        return by_group, answer["closed"]

    def settle(self, count, service="shop"):
        """Until the proxy counts so many open connections; what ends is counted when it has ended."""
        self.lab.until(lambda: sum(g["connections"] for g in self.groups(service).values()) == count, 10,
                       f"{count} connections are open", self.lab.tail)

    def drop_all(self, service="shop"):
        self.ask("drop", 1_000_000, service=service)
        self.settle(0, service)

    # --- the model

    def model(self, algorithm, capacities, load, healthy=None, isolation="UNSPECIFIED"):
        node = {"zone": "za", "region": "r1", "zones": ZONES, "proximity": DELAYS_MS}
        policy = {"algorithm": algorithm, "threshold": 70, "isolation": isolation}
        groups = [{"name": letter, "zone": zone, "members": self.members, "healthy": (healthy or {}).get(letter, self.members),
                   "preferred": False, "drained": False, "scaler": 1, "maxConnections": capacities[letter]}
                  for letter, (zone, _) in zip("abc", ZONES)]
        wanted, _ = proxy_load_model.place(node, policy, groups, load)
        return wanted


def connections(capacities):
    """Backends whose capacity is counted in connections."""
    return {letter: {"balancingMode": "CONNECTION", "maxConnections": most} for letter, most in capacities.items()}


def misfit(measured, wanted, load):
    """The largest difference between two distributions, as a share of the load; one connection more
    or less, which cannot be split, does not count."""
    return max(max(0.0, abs(measured.get(name, 0) - wanted[name]) - 1) for name in wanted) / load


def ramp(lab, capacities, percents, churn=True):
    """Opens more and more connections; for each load what is where, after a quarter of them was
    closed and opened again. Yields percent, load, connections by group."""
    whole, held = sum(capacities.values()), 0
    for percent in percents:
        load = max(1, round(whole * percent / 100))
        measured, closed = lab.ask("open", load - held)
        assert closed == 0, f"{closed} clients were closed at {percent}%"
        if churn and load >= 4:
            lab.ask("drop", load // 4)
            lab.settle(load - load // 4)
            measured, closed = lab.ask("open", load // 4)
            assert closed == 0
        held = load
        yield percent, load, measured
    lab.drop_all()


def watch(lab, service, seconds, every=0.5):
    """The service's groups, again and again: pairs of time and groups."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield time.monotonic(), lab.groups(service)
        time.sleep(every)
