# SPDX-License-Identifier: GPL-2.0-or-later
"""Random scenarios for the model: small worlds, in which rare things happen often."""

import random

ZONES = [("za", "10.1.0.0/16"), ("zb", "10.1.1.0/24"), ("zc", None)]
AFFINITIES = ["NONE", "CLIENT_IP_PORT_PROTO", "CLIENT_IP_PROTO", "CLIENT_IP", "CLIENT_IP_NO_DESTINATION"]
SPILLOVERS = ["ZONAL_AFFINITY_DISABLED", "ZONAL_AFFINITY_STAY_WITHIN_ZONE", "ZONAL_AFFINITY_SPILL_CROSS_ZONE"]
PROTOCOLS = ["TCP", "UDP", "ICMP", "SCTP", "ESP", "GRE"]
RATIOS = [0.0, 0.1, 0.25, 0.3, 0.5, 0.6, 0.75, 1.0]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.members = {}  # group -> endpoints, as events change them

    def one(self, choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def address(self):
        return f"10.2.{self.random.randrange(2)}.{self.random.randrange(1, 7)}"

    def service(self, name, protocol):
        r = self.random
        affinity = self.one(AFFINITIES)
        tracking = {"trackingMode": self.one(["PER_CONNECTION", "PER_SESSION"]),
                    "connectionPersistenceOnUnhealthyBackends": self.one(["DEFAULT_FOR_PROTOCOL", "NEVER_PERSIST"]),
                    "idleTimeoutSec": self.one([60, 90, 600])}
        if tracking["trackingMode"] == "PER_CONNECTION" and self.chance(0.3):
            tracking["connectionPersistenceOnUnhealthyBackends"] = "ALWAYS_PERSIST"
        groups = r.sample(sorted(self.members), r.randint(1, len(self.members)))
        backends = [{"group": group} for group in groups]
        service = {"name": name, "loadBalancingScheme": "INTERNAL", "protocol": protocol, "sessionAffinity": affinity,
                   "connectionTrackingPolicy": tracking, "backends": backends,
                   "connectionDraining": {"drainingTimeoutSec": self.one([0, 0, 10, 40, 100])}}
        if self.chance(0.9):
            service["healthChecks"] = ["hc"]
        if len(backends) > 1 and self.chance(0.6):
            for backend in r.sample(backends, r.randint(1, len(backends) - 1)):
                backend["failover"] = True
            service["failoverPolicy"] = {"failoverRatio": self.one(RATIOS),
                                         "dropTrafficIfUnhealthy": self.chance(0.3),
                                         "disableConnectionDrainOnFailover": self.chance(0.4)}
        if self.chance(0.4):
            service["localityLbPolicy"] = self.one(["WEIGHTED_MAGLEV", "WEIGHTED_GCP_RENDEZVOUS"])
        spillover = self.one(SPILLOVERS)
        if spillover != SPILLOVERS[0]:
            affinity = {"spillover": spillover}
            if spillover == SPILLOVERS[2]:
                affinity["spilloverRatio"] = self.one(RATIOS)
            service["networkPassThroughLbTrafficPolicy"] = {"zonalAffinity": affinity}
        return service

    def endpoint(self, address):
        endpoint = {"ipAddress": address}
        if self.chance(0.1):
            endpoint["weight"] = self.one([0, 3])
        return endpoint

    def scenario(self, events):
        groups = []
        for name in ("ga", "gb", "gc")[:self.random.randint(1, 3)]:
            self.members[name] = sorted({self.address() for _ in range(self.random.randint(1, 4))})
            groups.append({"name": name, "zone": self.one(ZONES)[0],
                           "endpoints": [self.endpoint(a) for a in self.members[name]]})
        self.protocols = {"s1": "TCP", "s2": "UDP", "s3": "UNSPECIFIED"}
        services = [self.service(name, protocol) for name, protocol in self.protocols.items()]
        rules = [{"name": "r1", "IPAddress": "10.9.9.1", "IPProtocol": "TCP", "backendService": "s1",
                  **self.one([{"ports": [80, 443]}, {"allPorts": True}])},
                 {"name": "r2", "IPAddress": self.one(["10.9.9.1", "10.9.9.2"]), "IPProtocol": "UDP",
                  "backendService": "s2", **self.one([{"ports": [80]}, {"allPorts": True}])},
                 {"name": "r3", "IPAddress": self.one(["10.9.9.1", "10.9.9.3"]), "IPProtocol": "L3_DEFAULT",
                  "allPorts": True, "backendService": "s3"}]
        for rule in rules:
            rule["loadBalancingScheme"] = "INTERNAL"
        routes = [{"name": "n1", "destRange": "203.0.113.0/24", "priority": 1000, "nextHopIlb": "r1"},
                  {"name": "n2", "destRange": "203.0.113.0/24", "priority": self.one([900, 1000]), "nextHopIlb": "r2"},
                  {"name": "n3", "destRange": "203.0.113.128/25", "nextHopIlb": "r2"}]
        self.routes = [r["name"] for r in routes]
        node = {"location": {"region": "r", "zone": "za"},
                "zones": [{"name": name, "region": "r", **({"clientRanges": [text]} if text else {})}
                          for name, text in ZONES]}
        scenario = {"node": node,
                    "resources": {"healthChecks": [{"name": "hc", "type": "TCP", "tcpHealthCheck": {"port": 80}}],
                                  "networkEndpointGroups": groups, "backendServices": services,
                                  "forwardingRules": rules, "routes": routes},
                    "events": []}
        at = 0
        while len(scenario["events"]) < events:
            at += self.one([0, 0, 0.5, 1, 5, 30])
            event = self.packet() if self.chance(0.65) else self.change()
            if event:
                scenario["events"].append({"at": at, **event})
        return scenario

    def flow(self, destinations):
        proto = self.one(PROTOCOLS + ["TCP", "UDP"] * 3)
        flow = {"src": self.one(["10.1.0.7", "10.1.1.7", "10.3.0.7"]), "dst": self.one(destinations), "proto": proto}
        if proto in ("TCP", "UDP"):
            fragment = self.one([None] * 5 + ["first", "later"])
            if fragment != "later":
                flow.update(sport=self.random.randrange(1000, 1004), dport=self.one([80, 443]))
            if fragment:
                flow["fragment"] = fragment
        return flow

    def packet(self):
        outside = ["203.0.113.5", "203.0.113.200"]
        flow = self.flow(["10.9.9.1", "10.9.9.2", "10.9.9.3"] * 3 + outside + ["198.51.100.1"])
        if self.chance(0.1) and flow["dst"] in outside:  # a reply under a route
            flow.update(src=flow["dst"], dst=self.one(["203.0.113.9", "203.0.113.130"]))
        if flow["proto"] == "TCP":
            flow["flags"] = self.one([["SYN"], ["ACK"], ["ACK"], ["FIN", "ACK"], ["RST"], ["SYN", "ACK"], []])
        if flow["proto"] == "ICMP" and self.chance(0.8):
            inner = self.flow(["10.9.9.1", "10.9.9.2", "10.9.9.3"] + outside)
            if self.chance(0.8):  # sent by the backend in the virtual address's name
                inner.update(src=inner["dst"], dst=inner["src"])
                if "sport" in inner:
                    inner.update(sport=inner["dport"], dport=inner["sport"])
            flow.update(type=self.one([3, 11, 12]), code=0, inner=inner)
        return {"packet": flow}

    def change(self):
        r = self.random
        held = sorted({(group, address) for group, members in self.members.items() for address in members})
        group = self.one(sorted(self.members))
        kind = self.one(["health"] * 6 + ["weight"] * 3 + ["remove"] * 2 + ["add"] * 3 + ["apply"] * 2 + ["delete"])
        if kind in ("health", "weight") and held:
            states = {"health": ["HEALTHY"] * 3 + ["UNHEALTHY", "UNHEALTHY", "TIMEOUT", "UNKNOWN"],
                      "weight": [0, 0, 1, 5, 700, 1000, "missing", "invalid", "unavailable"]}[kind]
            chosen = r.sample(held, r.randint(1, min(3, len(held))))
            return {kind: {self.one([f"{g}/{a}", a]): self.one(states) for g, a in chosen}}
        if kind == "remove" and len(self.members[group]) > 0:
            address = self.one(self.members[group])
            self.members[group].remove(address)
            return {"remove": {"group": group, "endpoint": address}}
        if kind == "add":
            address = self.address()
            if address not in self.members[group]:
                self.members[group].append(address)
                return {"add": {"group": group, "endpoint": self.endpoint(address)}}
        if kind == "apply":
            name = self.one(sorted(self.protocols))
            return {"apply": {"backendServices": [self.service(name, self.protocols[name])]}}
        if kind == "delete" and self.routes and self.chance(0.3):
            return {"delete": {"routes": [self.routes.pop(0)]}}
        return None
