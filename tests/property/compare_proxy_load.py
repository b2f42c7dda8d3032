#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random services and loads in weirctl's simulation and in the model of proxy_load_model.py.

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
LOADS_EACH = 8


def any_case(rng):
    regions = [f"r{i}" for i in range(rng.randint(1, 3))]
    zones = [(f"z{i}", rng.choice(regions)) for i in range(rng.randint(1, 5))]
    home = rng.choice(zones)
    proximity = {name: rng.choice([0.5, 1, 2, 20]) for name, _ in zones if rng.random() < 0.7}
    if rng.random() < 0.2:
        proximity[rng.choice(regions)] = rng.choice([0.1, 50])
    node = {"zone": home[0], "region": home[1], "zones": zones, "proximity": proximity}
    policy = {"algorithm": rng.choice(ALGORITHMS), "threshold": rng.randint(1, 99),
              "isolation": rng.choice(["UNSPECIFIED", "UNSPECIFIED", "NEAREST", "STRICT"]),
              "drain": rng.random() < 0.4}
    groups = []
    for i in range(rng.randint(2, 7)):
        members = rng.randint(0, 9)
        healthy = rng.choice([members, rng.randint(0, members)])
        group = {"name": f"g{i}", "zone": rng.choice(zones)[0], "members": members,
                 "healthy": healthy, "preferred": rng.random() < 0.25, "drained": False,
                 "scaler": rng.choice([1, 1, 0.5, 0.1, 0])}
        if rng.random() < 0.5:
            group["maxConnections"] = rng.randint(1, 500)
        else:
            group["perEndpoint"] = rng.randint(1, 100)
        groups.append(group)
    return node, policy, groups


def address(group, member):
    return f"10.5.{int(group['name'][1:])}.{member + 1}"


def scenario(node, policy, groups, loads):
    """As YAML, which JSON is."""
    lb_policy = {"name": "p", "loadBalancingAlgorithm": policy["algorithm"],
                 "autoCapacityDrain": {"enable": policy["drain"]},
                 "failoverConfig": {"failoverHealthThreshold": policy["threshold"]}}
    if policy["isolation"] != "UNSPECIFIED":
        lb_policy["isolationConfig"] = {"isolationGranularity": "REGION",
                                        "isolationMode": policy["isolation"]}
    backends = []
    for group in groups:
        backend = {"group": group["name"], "balancingMode": "CONNECTION",
                   "capacityScaler": group["scaler"],
                   "preference": "PREFERRED" if group["preferred"] else "DEFAULT"}
        if "maxConnections" in group:
            backend["maxConnections"] = group["maxConnections"]
        else:
            backend["maxConnectionsPerEndpoint"] = group["perEndpoint"]
        backends.append(backend)
    sick = {f"{address(g, m)}:80": "UNHEALTHY"
            for g in groups for m in range(g["healthy"], g["members"])}
    events = [{"at": 0, "health": sick}] if sick else []
    events += [{"at": 1, "load": {"service": "shop", "connections": load}} for load in loads]
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
            "serviceLbPolicies": [lb_policy],
            "backendServices": [{"name": "shop", "loadBalancingScheme": "INTERNAL_MANAGED",
                                 "protocol": "TCP", "healthChecks": ["hc"],
                                 "serviceLbPolicy": "p", "backends": backends}],
            "targetTcpProxies": [{"name": "t", "service": "shop"}],
            "forwardingRules": [{"name": "f", "loadBalancingScheme": "INTERNAL_MANAGED",
                                 "IPAddress": "192.0.2.1", "IPProtocol": "TCP", "ports": [80],
                                 "target": "t"}]},
        "events": events}


def near(got, wanted, load):
    return abs(got - wanted) <= 0.02 * wanted + 1e-6 * (1 + load)


def compare(simulator, path, rng):
    node, policy, groups = any_case(rng)
    room = sum(g.get("maxConnections", g.get("perEndpoint", 0) * g["members"]) for g in groups)
    loads = [rng.choice([0, 1, rng.randint(0, 3 * room + 1)]) for _ in range(LOADS_EACH)]
    path.write_text(json.dumps(scenario(node, policy, groups, loads)))
    run = subprocess.run([simulator, path], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return [f"{path}: {run.stderr}"]
    if policy["drain"]:
        for name in model.drained(groups):
            next(g for g in groups if g["name"] == name)["drained"] = True
    faults = []
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    if len(lines) != len(loads):
        return [f"{path}: {len(lines)} lines for {len(loads)} loads"]
    for line, load in zip(lines, loads):
        wanted, unserved = model.place(node, policy, groups, load)
        for group in groups:
            name = group["name"]
            got = line["groups"][name]
            if got["drained"] != group["drained"]:
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
    scenarios = int(sys.argv[2]) if len(sys.argv) > 2 else 80
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
