#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random services and loads in weirctl's simulation and in the model of proxy_load_model.py.

A scenario is a service that lives through health changes, waits and reloads: its groups come, go and
are scaled, its policy and its circuit breaker change.

Usage: compare_proxy_load.py SIMULATOR [SCENARIOS] [SEED]
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import proxy_load_model as model

ALGORITHMS = ["WATERFALL_BY_REGION", "SPRAY_TO_REGION", "WATERFALL_BY_ZONE", "SPRAY_TO_WORLD"]
STEPS = 5  # changes of health or of the configuration, one after the other
LOADS_EACH_STEP = 2
LOADS_EACH = STEPS * LOADS_EACH_STEP


def any_case(rng):
    regions = [f"r{i}" for i in range(rng.randint(1, 3))]
    zones = [(f"z{i}", rng.choice(regions)) for i in range(rng.randint(1, 5))]
    home = rng.choice(zones)
    proximity = {name: rng.choice([0.5, 1, 2, 20]) for name, _ in zones if rng.random() < 0.7}
    if rng.random() < 0.2:
        proximity[rng.choice(regions)] = rng.choice([0.1, 50])
    node = {"zone": home[0], "region": home[1], "zones": zones, "proximity": proximity}
    groups = []
    for i in range(rng.randint(2, 7)):
        members = rng.choice([0, 20, rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 9)])
        group = {"name": f"g{i}", "zone": rng.choice(zones)[0], "members": members,
                 "healthy": members, "mode": rng.choice(["CONNECTION", "CONNECTION", "RATE"]),
                 "drained": False}
        if rng.random() < 0.5:
            group["maxConnections"] = rng.randint(1, 500)
        else:
            group["perEndpoint"] = rng.randint(1, 100)
        groups.append(group)
    return node, groups


def any_policy(rng):
    return {"algorithm": rng.choice(ALGORITHMS), "threshold": rng.choice([70, rng.randint(1, 99)]),
            "isolation": rng.choice(["UNSPECIFIED", "UNSPECIFIED", "NEAREST", "STRICT"]),
            "drain": rng.random() < 0.6}


def any_service(rng, groups, room):
    """What a reload may change: which groups a service has, their scalers and preferences, its breaker."""
    some = rng.sample(groups, rng.choice([len(groups), rng.randint(1, len(groups))]))
    backends = {g["name"]: {"scaler": rng.choice([1, 1, 1, 0.5, 0.35, 0.1, 0]), "preferred": rng.random() < 0.25}
                for g in some}
    if len(backends) == 1:
        next(iter(backends.values()))["scaler"] = 1  # zero is refused
    return {"backends": backends, "breaker": rng.choice([None, None, rng.randint(1, room + 2)])}


def address(group, member):
    return f"10.5.{int(group['name'][1:])}.{member + 1}"


def any_history(rng, groups, room):
    """Steps: when, a new policy, a new service, how many members of each group are healthy, and loads."""
    steps, now = [], 0
    for _ in range(STEPS):
        policy = any_policy(rng) if not steps or rng.random() < 0.25 else None
        service = any_service(rng, groups, room) if not steps or rng.random() < 0.5 else None
        healthy = {g["name"]: rng.choice([g["members"], 0, rng.randint(0, g["members"])]) for g in groups
                   if not steps or rng.random() < 0.4}
        loads = [rng.choice([0, 1, rng.randint(0, room), rng.randint(0, 3 * room + 1)])
                 for _ in range(LOADS_EACH_STEP)]
        steps.append((now, policy, service, healthy, loads))
        now += rng.choice([1, 10, 30, 59, 60, 61, 130])
    return steps


def written_policy(policy):
    lb_policy = {"name": "p", "loadBalancingAlgorithm": policy["algorithm"],
                 "autoCapacityDrain": {"enable": policy["drain"]},
                 "failoverConfig": {"failoverHealthThreshold": policy["threshold"]}}
    if policy["isolation"] != "UNSPECIFIED":
        lb_policy["isolationConfig"] = {"isolationGranularity": "REGION",
                                        "isolationMode": policy["isolation"]}
    return lb_policy


def written_service(service, groups):
    backends = []
    for group in groups:
        settings = service["backends"].get(group["name"])
        if settings is None:
            continue
        backend = {"group": group["name"], "balancingMode": group["mode"],
                   "capacityScaler": settings["scaler"],
                   "preference": "PREFERRED" if settings["preferred"] else "DEFAULT"}
        if "maxConnections" in group:
            backend["maxConnections" if group["mode"] == "CONNECTION" else "maxRate"] = group["maxConnections"]
        else:
            backend["maxConnectionsPerEndpoint" if group["mode"] == "CONNECTION" else "maxRatePerEndpoint"] = \
                group["perEndpoint"]
        backends.append(backend)
    written = {"name": "shop", "loadBalancingScheme": "INTERNAL_MANAGED", "protocol": "TCP",
               "healthChecks": ["hc"], "serviceLbPolicy": "p", "backends": backends}
    if service["breaker"] is not None:
        written["circuitBreakers"] = {"maxConnections": service["breaker"]}
    return written


def scenario(node, groups, steps):
    """As YAML, which JSON is."""
    _, first_policy, first_service, _, _ = steps[0]
    events = []
    for number, (now, policy, service, healthy, loads) in enumerate(steps):
        reload = {}
        if number > 0 and policy is not None:
            reload["serviceLbPolicies"] = [written_policy(policy)]
        if number > 0 and service is not None:
            reload["backendServices"] = [written_service(service, groups)]
        if reload:
            events.append({"at": now, "apply": reload})
        states = {f"{address(g, m)}:80": "HEALTHY" if m < healthy[g["name"]] else "UNHEALTHY"
                  for g in groups if g["name"] in healthy for m in range(g["members"])}
        if states:
            events.append({"at": now, "health": states})
        events += [{"at": now, "load": {"service": "shop", "connections": load}} for load in loads]
    return {
        "node": {"location": {"region": node["region"], "zone": node["zone"]},
                 "zones": [{"name": name, "region": region} for name, region in node["zones"]],
                 "proximity": node["proximity"]},
        "resources": {
            "healthChecks": [{"name": "hc", "type": "TCP",
                              "tcpHealthCheck": {"portSpecification": "USE_SERVING_PORT"}}],
            "networkEndpointGroups": [
                {"name": g["name"], "zone": g["zone"], "networkEndpointType": "GCE_VM_IP_PORT",
                 "endpoints": [{"ipAddress": address(g, m), "port": 80}
                               for m in range(g["members"])]} for g in groups],
            "serviceLbPolicies": [written_policy(first_policy)],
            "backendServices": [written_service(first_service, groups)],
            "targetTcpProxies": [{"name": "t", "service": "shop"}],
            "forwardingRules": [{"name": "f", "loadBalancingScheme": "INTERNAL_MANAGED",
                                 "IPAddress": "192.0.2.1", "IPProtocol": "TCP", "ports": [80],
                                 "target": "t"}]},
        "events": events}


def near(got, wanted, load):
    return abs(got - wanted) <= 0.02 * wanted + 1e-6 * (1 + load)


def expectations(node, groups, steps):
    """For each load in order: it, the groups that are drained, connections by group, what is not served."""
    drains, policy, service, present = model.Drains(), None, None, []

    def decide(now):
        if policy["drain"]:
            drains.decide(present, now)
        else:
            drains.drained = {}

    for now, new_policy, new_service, healthy, loads in steps:
        drains.wait(present, now)
        policy, service = new_policy or policy, new_service or service
        present = [group for group in groups if group["name"] in service["backends"]]
        for group in present:
            group.update(service["backends"][group["name"]])
        decide(now)  # a reload
        for group in groups:
            group["healthy"] = healthy.get(group["name"], group["healthy"])
        decide(now)
        for group in present:
            group["drained"] = group["name"] in drains.drained
        for load in loads:
            yield load, set(drains.drained), *model.serve(node, policy, present, load, service["breaker"])


def compare(simulator, path, rng):
    node, groups = any_case(rng)
    room = sum(g.get("maxConnections", g.get("perEndpoint", 0) * g["members"]) for g in groups)
    steps = any_history(rng, groups, room)
    path.write_text(json.dumps(scenario(node, groups, steps)))
    run = subprocess.run([simulator, path], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return [f"{path}: {run.stderr}"]
    faults = []
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    expected = list(expectations(node, groups, steps))
    if len(lines) != len(expected):
        return [f"{path}: {len(lines)} lines for {len(expected)} loads"]
    for line, (load, drained, wanted, unserved) in zip(lines, expected):
        if line["groups"].keys() != wanted.keys():
            faults.append(f"{path}: event {line['event']}: groups {list(line['groups'])}")
            continue
        for name, got in line["groups"].items():
            if got["drained"] != (name in drained):
                faults.append(f"{path}: event {line['event']}: {name} drained: {got['drained']}")
            if not near(got["connections"], wanted[name], load):
                faults.append(f"{path}: event {line['event']}: load {load}: {name} has "
                              f"{got['connections']}, the model {wanted[name]}")
        if not near(line["unserved"], unserved, load):
            faults.append(f"{path}: event {line['event']}: unserved {line['unserved']}, the model "
                          f"{unserved}")
    return faults


def main():
    simulator = sys.argv[1]
    scenarios = int(sys.argv[2]) if len(sys.argv) > 2 else 120
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    rng = random.Random(seed)
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(scenarios):
            path = pathlib.Path(folder) / f"{number}.yaml"
            found = compare(simulator, path, rng)
            if found and not faults:
                print(path.read_text())
            faults += found
    for fault in faults[:20]:
        print(fault)
    print(f"{scenarios * LOADS_EACH} loads compared (seed {seed}), {len(faults)} differences")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
