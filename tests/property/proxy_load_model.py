#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a load lies, computed from the text of the rules S1 to S5 and nothing of weir's.

Loads are found by bisection on the fill of the groups that rise together, where weir computes it.
"""

UNKNOWN = float("inf")


def region_of(zones, zone):
    return next((region for name, region in zones if name == zone), "")


def zone_key(node, zone):
    """S1: own zone, then by milliseconds, then by name."""
    return (zone != node["zone"], node["proximity"].get(zone, UNKNOWN), zone)


def region_key(node, region):
    own = node["proximity"].get(region)
    if own is None:
        own = min((node["proximity"].get(name, UNKNOWN)
                   for name, of in node["zones"] if of == region), default=UNKNOWN)
    return (region != node["region"], own, region)


def usable(group, threshold):
    """S2"""
    if group["drained"] or group["members"] == 0 or group["healthy"] == 0:
        return 0.0
    limit = group.get("maxConnections")
    if limit is None:
        limit = group["perEndpoint"] * group["members"]
    percent = 100 * group["healthy"] / group["members"]
    return limit * group["scaler"] * min(1, percent / threshold)


def fill_together(loads, capacities, group_names, load, level):
    """Raises groups to a common fill, at most `level`; returns what is left of the load."""
    def taken(fill):
        return sum(max(0, fill * capacities[g] - loads[g]) for g in group_names)
    if not group_names or load <= 0:
        return load
    if level is not None and taken(level) <= load:
        fill = level
    else:
        low, high = 0.0, 1.0
        while taken(high) < load:
            high *= 2
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if taken(middle) < load else (low, middle)
        fill = high
    left = load - taken(fill)
    for g in group_names:
        loads[g] = max(loads[g], fill * capacities[g])
    return max(0.0, left)


def serve(node, policy, groups, load, breaker=None):
    """place(), of what the circuit breaker lets in (X4.4)."""
    let_in = load if breaker is None else min(load, breaker)
    loads, closed = place(node, policy, groups, let_in)
    return loads, closed + load - let_in


def place(node, policy, groups, load):
    """groups: list of dicts; returns connections by group, and what is not served."""
    region = {g["name"]: region_of(node["zones"], g["zone"]) for g in groups}
    zone = {g["name"]: g["zone"] for g in groups}
    capacities = {g["name"]: usable(g, policy["threshold"]) for g in groups}
    names = [g["name"] for g in groups]
    isolation = policy["isolation"]
    if isolation == "STRICT":
        names = [n for n in names if region[n] == node["region"]]
    elif isolation == "NEAREST":
        alive = {region[g["name"]] for g in groups if g["healthy"] > 0}
        nearest = min(alive, key=lambda r: region_key(node, r), default=None)
        names = [n for n in names if region[n] == nearest]
    names = [n for n in names if capacities[n] > 0]
    loads = {g["name"]: 0.0 for g in groups}
    if not names:
        return loads, load

    def by_zone(some):
        order = sorted({zone[n] for n in some},
                       key=lambda z: (region_key(node, region_of(node["zones"], z)),
                                      zone_key(node, z)))
        return [[n for n in some if zone[n] == z] for z in order]

    def by_region(some):
        order = sorted({region[n] for n in some}, key=lambda r: region_key(node, r))
        return [[n for n in some if region[n] == r] for r in order]

    preferred = {g["name"] for g in groups if g["preferred"]}
    left = load
    for together in by_zone([n for n in names if n in preferred]):
        left = fill_together(loads, capacities, together, left, 1)
    others = [n for n in names if n not in preferred]
    algorithm = policy["algorithm"]
    if algorithm == "SPRAY_TO_WORLD":
        left = fill_together(loads, capacities, others, left, 1)
    for together in by_region(others):
        if algorithm == "WATERFALL_BY_ZONE":
            for inside in by_zone(together):
                left = fill_together(loads, capacities, inside, left, 1)
        elif algorithm == "SPRAY_TO_REGION":
            left = fill_together(loads, capacities, together, left, 1)
        elif algorithm == "WATERFALL_BY_REGION":
            for inside in by_zone(together):
                left = fill_together(loads, capacities, inside, left, 0.5)
            left = fill_together(loads, capacities, together, left, 1)
    fill_together(loads, capacities, names, left, None)  # S3.2
    return loads, 0.0


class Drains:
    """S4: which groups are drained, as health and the groups of a service change over time."""

    def __init__(self):
        self.drained = {}  # name -> since when it is well enough; None: it is not

    def decide(self, groups, now):
        """The groups as they are at `now`."""
        before, stay, come = self.drained, [], []
        for g in sorted(groups, key=lambda g: (self.share(g), g["name"])):
            if self.is_zero(g):
                continue
            if g["name"] not in before:
                if self.share(g) < 0.25:
                    come.append((g["name"], None))
            elif self.share(g) < 0.35:
                stay.append((g["name"], None))
            else:
                since = now if before[g["name"]] is None else before[g["name"]]
                if now - since < 60:
                    stay.append((g["name"], since))
        # Fewer than half of all, whoever they are; those that are drained already first.
        self.drained = {}
        for name, since in stay + come:
            if 2 * (len(self.drained) + 1) < len(groups):
                self.drained[name] = since

    def wait(self, groups, until):
        """Nothing changes but the time."""
        while True:
            due = [since + 60 for since in self.drained.values() if since is not None and since + 60 <= until]
            if not due:
                return
            self.decide(groups, min(due))

    @staticmethod
    def is_zero(g):
        return g["scaler"] == 0 or (g.get("maxConnections") is None and g["members"] == 0)

    @staticmethod
    def share(g):
        return g["healthy"] / g["members"] if g["members"] else 0.0
