# SPDX-License-Identifier: GPL-2.0-or-later
"""A second, deliberately simple reading of the rules P1 to P7, P9 and N1 to N6.

It shares nothing with weir's code and takes nothing but the scenario: dictionaries as in the YAML.
Entries are removed from a plain dictionary at the moment a rule says so; there are no generations,
slots or snapshots. Only which of several allowed backends the hash picks is not modelled: the
caller says what was picked, and the model checks that equal keys on equal sets pick equally.
"""

from ipaddress import ip_address, ip_network

FIVE = ("NONE", "CLIENT_IP_PORT_PROTO")


class Backend:
    """An endpoint as one service sees it (P2: listed twice, it counts once)."""

    def __init__(self, group, endpoint, zone, failover, draining):
        self.group, self.endpoint, self.zone = group, endpoint, zone
        self.failover, self.draining = failover, draining
        self.healthy, self.weight = False, 1


class Prediction:
    """What must come out for a packet: exact fields, and the endpoints allowed."""

    def __init__(self, action, **fields):
        self.action, self.fields, self.allowed = action, fields, None
        self.remember = None  # key of the entry to be made with the endpoint picked
        self.choice = None    # what the pick may depend on


class Model:
    def __init__(self, scenario):
        resources = scenario["resources"]
        self.zones = scenario["node"].get("zones", [])
        self.groups = {g["name"]: {"zone": g["zone"], "members": {e["ipAddress"]: e for e in g["endpoints"]}}
                       for g in resources["networkEndpointGroups"]}
        self.services = {s["name"]: s for s in resources["backendServices"]}
        self.rules = {r["name"]: r for r in resources["forwardingRules"]}
        self.routes = {r["name"]: r for r in resources.get("routes", [])}
        self.now = 0
        self.health, self.weights, self.last_known = {}, {}, {}
        self.leaving = {}   # (group, endpoint) -> time its entries end
        self.entries = {}   # (service, key) -> [endpoint, last used, protocol or None, idle timeout then]
        self.counted = {}   # (service, endpoint) -> did it count as healthy?
        self.pool = {}      # service -> role of its last set that was not empty
        self.picks = {}
        for group, g in self.groups.items():
            for endpoint in g["members"]:
                self.appear(group, endpoint)
        self.settle()

    # --- events ---

    def happen(self, event):
        """An event; a Prediction for a packet."""
        self.advance(event["at"])
        if "packet" in event:
            return self.packet(event["packet"])
        if "health" in event:
            self.set_state(event["health"], self.health)
        if "weight" in event:
            self.set_state(event["weight"], self.weights)
            self.set_state({name: weight for name, weight in event["weight"].items() if isinstance(weight, int)},
                           self.last_known)
        if "add" in event:
            group, endpoint = event["add"]["group"], event["add"]["endpoint"]
            self.groups[group]["members"][endpoint["ipAddress"]] = endpoint
            if (group, endpoint["ipAddress"]) in self.leaving:
                del self.leaving[(group, endpoint["ipAddress"])]
            else:
                self.appear(group, endpoint["ipAddress"])
        if "remove" in event:
            self.take_out(event["remove"]["group"], event["remove"]["endpoint"])
        for service in event.get("apply", {}).get("backendServices", []):
            self.services[service["name"]] = service
        for name in event.get("delete", {}).get("routes", []):
            del self.routes[name]
        self.settle()
        return None

    def appear(self, group, endpoint):
        self.health[(group, endpoint)] = "HEALTHY"
        self.weights[(group, endpoint)] = 1
        self.last_known[(group, endpoint)] = 1

    def set_state(self, changes, states):
        for name, state in changes.items():
            for group, endpoint in list(states):
                if name in (endpoint, f"{group}/{endpoint}"):
                    states[(group, endpoint)] = state

    def take_out(self, group, endpoint):
        """P7.1, P7.3."""
        del self.groups[group]["members"][endpoint]
        users = [s for s in self.services.values() if group in (b["group"] for b in s["backends"])]
        timeout = max([s.get("connectionDraining", {}).get("drainingTimeoutSec", 0) for s in users], default=0)
        self.leaving[(group, endpoint)] = self.now + timeout
        if timeout == 0:
            self.forget(group, endpoint)

    def forget(self, group, endpoint):
        for state in (self.leaving, self.health, self.weights, self.last_known):
            del state[(group, endpoint)]

    def advance(self, now):
        while self.leaving and min(self.leaving.values()) <= now:
            (group, endpoint), self.now = min(self.leaving.items(), key=lambda item: item[1])
            self.forget(group, endpoint)
            self.settle()
        self.now = now

    # --- backends of a service ---

    def backends(self, service):
        listed = {}
        configured = sorted(service["backends"], key=lambda b: b.get("failover", False))  # primaries first
        for draining in (False, True):
            for backend in configured if not draining else service["backends"]:
                group = backend["group"]
                members = [e for (g, e) in self.leaving if g == group] if draining else self.groups[group]["members"]
                for endpoint in members:
                    if draining and (service["name"], endpoint) not in self.counted:
                        continue  # it left before this service ever had it
                    if endpoint not in listed:
                        listed[endpoint] = Backend(group, endpoint, self.groups[group]["zone"],
                                                   backend.get("failover", False), draining)
        for backend in listed.values():
            key = (backend.group, backend.endpoint)
            backend.healthy = not service.get("healthChecks") or self.health[key] == "HEALTHY"
        return listed

    def settle(self):
        """After any change: entries whose time has come go (P6.3, P6.5, P7)."""
        for name, service in self.services.items():
            backends = self.backends(service)
            for key in [k for k in self.counted if k[0] == name and k[1] not in backends]:
                del self.counted[key]
                self.remove_entries(name, key[1], ("TCP", "UDP", "other"))
            for endpoint, backend in backends.items():
                before = self.counted.get((name, endpoint), False)
                self.counted[(name, endpoint)] = backend.healthy
                if before and not backend.healthy and not backend.draining:
                    self.remove_entries(name, endpoint, self.go_when_unhealthy(service))
            _, members, role = self.eligible(service)
            if members:
                switched = self.pool.get(name, role) != role
                self.pool[name] = role
                if switched and service.get("failoverPolicy", {}).get("disableConnectionDrainOnFailover"):
                    for endpoint in backends:
                        self.remove_entries(name, endpoint, ("TCP", "UDP", "other"))

    def remove_entries(self, service, endpoint, classes):
        for key in [k for k, e in self.entries.items() if k[0] == service and e[0] == endpoint]:
            protocol = self.entries[key][2]
            if (protocol if protocol in ("TCP", "UDP") else "other") in classes:
                del self.entries[key]

    @staticmethod
    def go_when_unhealthy(service):
        """P6.3: the protocols whose entries go."""
        tracking = service.get("connectionTrackingPolicy", {})
        per_session = tracking.get("trackingMode") == "PER_SESSION"
        persist = tracking.get("connectionPersistenceOnUnhealthyBackends", "DEFAULT_FOR_PROTOCOL")
        if persist == "NEVER_PERSIST":
            return ("TCP", "UDP", "other")
        if persist == "ALWAYS_PERSIST":
            return ("other",)
        if per_session and service.get("sessionAffinity", "NONE") not in FIVE:
            return ("TCP", "UDP", "other")
        return ("UDP", "other")

    # --- P2, P9 ---

    def members(self, service):
        """Backends that are not draining, with the weights that count (P9.2)."""
        members = [b for b in self.backends(service).values() if not b.draining]
        if service.get("localityLbPolicy"):
            fixed = {(g, e): m.get("weight") for g in self.groups for e, m in self.groups[g]["members"].items()}
            reported = {b: self.weights[(b.group, b.endpoint)] for b in members}
            valid = all(fixed[(b.group, b.endpoint)] is not None or reported[b] not in ("missing", "invalid")
                        for b in members)
            for b in members:
                own = fixed[(b.group, b.endpoint)]
                known = self.last_known[(b.group, b.endpoint)]
                b.weight = 1 if not valid else own if own is not None else known
        return members

    def eligible(self, service):
        """(rule, members, role): the set before zonal affinity."""
        members = self.members(service)
        weighted = bool(service.get("localityLbPolicy"))
        policy = service.get("failoverPolicy", {})
        ratio = policy.get("failoverRatio", 0.0)

        def some(**wanted):
            return [b for b in members
                    if all(getattr(b, k) == v if k != "nonzero" else (b.weight > 0) == v for k, v in wanted.items())]

        if not any(b.get("failover") for b in service["backends"]):
            if not weighted:
                healthy = some(healthy=True)
                return ("P2.1", healthy, "primary") if healthy else ("P2.2", members, "primary")
            for nonzero, healthy in ((True, True), (True, False), (False, True), (False, False)):
                if some(nonzero=nonzero, healthy=healthy):
                    return "P9.3", some(nonzero=nonzero, healthy=healthy), "primary"
            return "P9.3", [], None

        usable = [b for b in members if b.healthy and b.weight > 0]
        primaries = [b for b in usable if not b.failover]
        failovers = [b for b in usable if b.failover]
        configured = len(some(failover=False))
        if usable:
            if not primaries:
                return "P2.3", failovers, "failover"
            if not failovers:
                return "P2.4", primaries, "primary"
            if ratio == 0:
                return "P2.5", primaries, "primary"
            if len(primaries) / configured >= ratio:
                return "P2.6", primaries, "primary"
            return "P2.7", failovers, "failover"
        if policy.get("dropTrafficIfUnhealthy"):
            return "P2.8", [], None
        if not weighted:
            return "P2.9", some(failover=False), "primary"
        for nonzero, healthy in ((True, False), (False, True), (False, False)):
            for failover in (False, True):
                found = some(nonzero=nonzero, healthy=healthy, failover=failover)
                if found:
                    return "P9.4", found, "failover" if failover else "primary"
        return "P9.4", [], None

    # --- P3 ---

    def zone_of(self, client):
        best = None
        for zone in self.zones:
            for text in zone.get("clientRanges", []):
                prefix = ip_network(text)
                if ip_address(client) in prefix and (best is None or prefix.prefixlen > best[0]):
                    best = (prefix.prefixlen, zone["name"])
        return best[1] if best else None

    def for_client(self, service, client):
        rule, chosen, role = self.eligible(service)
        affinity = service.get("networkPassThroughLbTrafficPolicy", {}).get("zonalAffinity", {})
        spillover = affinity.get("spillover", "ZONAL_AFFINITY_DISABLED")
        zone = self.zone_of(client)
        if spillover == "ZONAL_AFFINITY_DISABLED" or zone is None or not chosen:
            return rule, chosen
        members = {b.endpoint: b for b in self.members(service)}
        local = [b for b in members.values() if b.zone == zone and b.failover == (role == "failover")]
        if not local:
            return rule, chosen
        inside = [b for b in chosen if b.zone == zone]
        if spillover == "ZONAL_AFFINITY_STAY_WITHIN_ZONE":
            unhealthy = [b for b in local if not b.healthy]
            return rule, inside or [b for b in unhealthy if b.weight > 0] or unhealthy or local
        if not any(b.healthy for b in chosen):
            return rule, chosen  # last resort
        ratio = affinity.get("spilloverRatio", 0.0)
        share = len([b for b in inside if b.healthy]) / len(local)
        keep = share > 0 if ratio == 0 else share >= ratio
        return rule, inside if keep else chosen

    # --- packets ---

    def match(self, flow):
        """(service, rule name, route name), or None: P8.2, P8.3, N1."""
        ported = flow["proto"] in ("TCP", "UDP")
        for wanted in (flow["proto"] if ported else None, "L3_DEFAULT"):
            for name, rule in self.rules.items():
                if rule["IPAddress"] != flow["dst"] or rule.get("IPProtocol", "TCP") != wanted:
                    continue
                if rule.get("allPorts") or (flow.get("fragment") != "later" and flow["dport"] in rule["ports"]):
                    return rule["backendService"], name, None
        return self.match_route(flow["dst"])

    def match_route(self, destination):
        fitting = [r for r in self.routes.values() if ip_address(destination) in ip_network(r["destRange"])]
        if not fitting:
            return None
        route = min(fitting, key=lambda r: (-ip_network(r["destRange"]).prefixlen, r.get("priority", 1000), r["name"]))
        return self.rules[route["nextHopIlb"]]["backendService"], route["nextHopIlb"], route["name"]

    @staticmethod
    def attributes(kind, flow, symmetric):
        """The attributes of a flow that count, in one order for both directions where N6 wants it."""
        ends = [(flow["src"], flow.get("sport", 0)), (flow["dst"], flow.get("dport", 0))]
        if kind != "5":
            ends = [(address, 0) for address, _ in ends]
        if kind == "1":
            return (kind, ends[0])
        if symmetric:
            ends.sort()
        return (kind, *ends, flow["proto"] if kind in "53" else None)

    @staticmethod
    def selection_kind(service, flow):
        affinity = service.get("sessionAffinity", "NONE")
        whole = flow["proto"] in ("TCP", "UDP") and "fragment" not in flow
        if affinity in FIVE:
            return "5" if whole else "3"
        return {"CLIENT_IP_PROTO": "3", "CLIENT_IP": "2", "CLIENT_IP_NO_DESTINATION": "1"}[affinity]

    def tracking_kind(self, service, flow):
        if service.get("connectionTrackingPolicy", {}).get("trackingMode") == "PER_SESSION":
            return self.selection_kind(service, flow)
        return "5" if flow["proto"] in ("TCP", "UDP") and "fragment" not in flow else "3"

    def packet(self, packet):
        if "inner" in packet:
            inner = packet["inner"]
            back = dict(inner, src=inner["dst"], dst=inner["src"])
            if "sport" in inner:
                back.update(sport=inner["dport"], dport=inner["sport"])
            for flow, found in ((back, self.match(back)), (inner, self.match_route(inner["dst"]))):
                if found:
                    return self.decide(found, flow, related=True)
        found = self.match(packet)
        return self.decide(found, packet) if found else Prediction("pass")

    def decide(self, found, flow, related=False):
        name, rule_name, route = found
        service = self.services[name]
        fields = {"service": name, "forwardingRule": rule_name, "route": route}
        symmetric = route is not None and service.get("sessionAffinity") != "CLIENT_IP_NO_DESTINATION"
        kind = self.tracking_kind(service, flow)
        key = (name, self.attributes(kind, flow, symmetric))
        tracking = service.get("connectionTrackingPolicy", {})

        flags = flow.get("flags", [])
        syn = flow["proto"] == "TCP" and "fragment" not in flow and "SYN" in flags and "ACK" not in flags
        always_new = (tracking.get("trackingMode") != "PER_SESSION" or service.get("sessionAffinity", "NONE") in FIVE)
        entry = self.entries.get(key)
        # A longer timeout counts from an entry's next packet, a shorter one at once.
        timeout = tracking.get("idleTimeoutSec", 600)
        if entry and self.now - entry[1] >= min(timeout, entry[3]):
            entry = None
        if entry and (related or not (syn and always_new)):
            if not related:
                entry[1], entry[3] = self.now, timeout
            known = Prediction("forward", connection="related" if related else "known", **fields)
            known.allowed = {entry[0]: self.backends(service)[entry[0]].group}
            return known

        rule, members = self.for_client(service, flow["src"])
        if not members:
            return Prediction("drop", rule=rule, reason="no_eligible_backend", **fields)
        fresh = Prediction("forward", connection="related" if related else "new", rule=rule, **fields)
        weighty = [b for b in members if b.weight > 0] or members
        fresh.allowed = {b.endpoint: b.group for b in weighty}
        selection = self.attributes(self.selection_kind(service, flow), flow, symmetric)
        weights = [b.weight for b in members] if any(b.weight for b in members) else [1] * len(members)
        fresh.choice = (selection, tuple(sorted(zip((b.endpoint for b in members), weights))))
        if not related:
            fresh.remember = (key, flow["proto"] if kind in "53" else None, timeout)
        return fresh

    def picked(self, prediction, endpoint):
        """What the hash made of a new connection. False: it was inconsistent (P4.1)."""
        if prediction.remember:
            key, protocol, timeout = prediction.remember
            self.entries[key] = [endpoint, self.now, protocol, timeout]
        return prediction.choice is None or self.picks.setdefault(prediction.choice, endpoint) == endpoint
