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


def drained(groups, share_of_all=0.5):
    """S4.1 for groups of which none was drained before."""
    def zero(g):
        return g["scaler"] == 0 or (g.get("maxConnections") is None and g["members"] == 0)

    def share(g):
        return g["healthy"] / g["members"] if g["members"] else 0.0
    chosen = []
    for g in sorted(groups, key=lambda g: (share(g), g["name"])):
        if zero(g) or share(g) >= 0.25:
            continue
        if len(chosen) + 1 >= share_of_all * len(groups):
            break
        chosen.append(g["name"])
    return set(chosen)
