# SPDX-License-Identifier: GPL-2.0-or-later
"""Service load-balancing policies (S1 to S6) with a real proxy, three zones and two regions of real
backends: what is measured is compared with the model of tests/property/proxy_load_model.py."""

import re
import time

import pytest
from policy_lab import ALGORITHMS, MEMBERS, PolicyLab, connections, misfit, ramp, watch

CAPACITIES = {"a": 120, "b": 80, "c": 200}
WHOLE = sum(CAPACITIES.values())
PERCENTS = [5, 25, 45, 60, 90, 130]
MOST_MISFIT = 0.05


@pytest.fixture
def policy_lab(make_lab):
    def make(*args, **kwargs):
        lab = PolicyLab(make_lab(backends=3))
        lab.start(*args, **kwargs)
        return lab
    return make


def assert_follows(measured, wanted, load, what):
    assert misfit(measured, wanted, load) <= MOST_MISFIT, f"{what}: {measured} instead of {wanted}"


def test_S3_measured_loads_follow_the_model_under_every_algorithm(policy_lab):
    lab = policy_lab(connections(CAPACITIES))
    groups = lab.groups()
    assert {name: group["zone"] for name, group in groups.items()} == {"a": "za", "b": "zb", "c": "zc"}
    assert groups["b"]["distanceFrom"] == ("probes" if lab.measured else "proximity")
    for algorithm in ALGORITHMS:
        lab.policy(f"--load-balancing-algorithm={algorithm}")
        for percent, load, measured in ramp(lab, CAPACITIES, PERCENTS):
            assert_follows(measured, lab.model(algorithm, CAPACITIES, load), load, f"{algorithm} at {percent}%")
            # S6: what the operator sees is what there is.
            shown = lab.groups()
            assert {name: group["connections"] for name, group in shown.items()} == \
                {name: measured.get(name, 0) for name in shown}
            for name, group in shown.items():
                assert group["fill"] == pytest.approx(group["load"] / CAPACITIES[name])


def test_S2_a_half_dead_zone_spills_and_S5_isolation_keeps_what_spills_in_the_region(policy_lab):
    lab = policy_lab(connections(CAPACITIES), policy={"loadBalancingAlgorithm": "WATERFALL_BY_ZONE"})
    load = 160
    measured, _ = lab.ask("open", load)
    assert_follows(measured, lab.model("WATERFALL_BY_ZONE", CAPACITIES, load), load, "all are healthy")
    lab.drop_all()

    lab.server("a", "down", *lab.ports[:MEMBERS // 2])
    lab.until_healthy({"a": MEMBERS // 2})
    half = {"a": MEMBERS // 2}
    wanted = lab.model("WATERFALL_BY_ZONE", CAPACITIES, load, healthy=half)
    assert wanted["a"] == pytest.approx(120 * 50 / 70)
    measured, closed = lab.ask("open", load)
    assert closed == 0
    assert_follows(measured, wanted, load, "half of the zone is dead")
    shown = lab.groups()["a"]
    assert shown["usableFraction"] == pytest.approx(50 / 70) and "spills over" in shown["note"], shown
    # S6: health changes and policy changes move new connections only.
    lab.policy("--load-balancing-algorithm=SPRAY_TO_WORLD")
    assert lab.ask("open", 0)[0] == measured
    lab.drop_all()

    # The home region dies.
    lab.policy("--load-balancing-algorithm=WATERFALL_BY_ZONE", "--isolation-config-granularity=REGION",
               "--isolation-config-mode=STRICT")
    measured, closed = lab.ask("open", 300)
    assert closed == 0 and "c" not in measured, "STRICT overfills its region"
    lab.drop_all()
    for group in "ab":
        lab.server(group, "down", *lab.ports)
    lab.until_healthy({"a": 0, "b": 0})
    measured, closed = lab.ask("open", 10)
    assert (measured, closed) == ({}, 10), "STRICT closes clients"
    with open(f"{lab.lab.directory}/weir-proxy.log", encoding="utf-8") as log:
        closings = [line for line in log if "failed_to_pick_backend" in line]
    assert len(closings) == 10, closings[:1]
    assert all("REASON=destination_unavailable" in line and "DECIDED_BY=S5" in line for line in closings), closings[:1]
    assert "isolation STRICT keeps traffic in region r1" in lab.groups()["c"]["note"]

    lab.policy("--isolation-config-mode=NEAREST")
    measured, closed = lab.ask("open", 300)
    assert (measured, closed) == ({"c": 300}, 0), "NEAREST takes the next region, even over its capacity"
    lab.drop_all()
    lab.server("b", "up", lab.ports[0])
    lab.until_healthy({"b": 1})
    measured, _ = lab.ask("open", 300)
    assert measured == {"b": 300}, "NEAREST is back where a backend is healthy"
    # S6: off is the default again.
    lab.policy("--isolation-config-granularity=UNSPECIFIED", "--isolation-config-mode=UNSPECIFIED")
    lab.drop_all()
    measured, _ = lab.ask("open", 200)
    assert measured["c"] > 100, measured


def test_S4_capacity_drains_out_and_comes_back_after_sixty_seconds_and_flapping_never_toggles_it(policy_lab):
    lab = policy_lab(connections(CAPACITIES), services=("shop", "flapping"),
                     policy={"loadBalancingAlgorithm": "SPRAY_TO_WORLD", "autoCapacityDrain": {"enable": True}})
    assert not any(g["drained"] for name in ("shop", "flapping") for g in lab.groups(name).values()), \
        "a start drains nothing"
    for group, ports in (("b", lab.ports), ("fb", lab.other_ports)):
        lab.server(group, "down", *ports)
    for service, group in (("shop", "b"), ("flapping", "fb")):
        lab.lab.until(lambda s=service, g=group: lab.groups(s)[g]["drained"], 20, f"{group} is drained", lab.lab.tail)
    shown = lab.groups()["b"]
    assert shown["capacity"] == 0 and "drained because" in shown["note"] and shown["drainedSec"] <= 20, shown
    table = lab.lab.weirctl("backend-services", "get-health", "shop", json_output=False)
    assert re.search(r"^b +zb .* for \d+ s +drained because", table, re.M), table

    # Half of b is back for good; fb comes and goes every 10 s.
    began = time.monotonic()
    lab.server("b", "up", *lab.ports[:MEMBERS // 2])
    flips, came_back = 0, None
    for at, groups in watch(lab, "shop", 80, every=0.25):
        if int((at - began) / 10) >= flips:
            lab.server("fb", "up" if flips % 2 == 0 else "down", *lab.other_ports)
            flips += 1
        assert lab.groups("flapping")["fb"]["drained"], f"flapping brought it back after {at - began:.1f} s"
        if not groups["b"]["drained"]:
            came_back = at - began
            break
        measured, closed = lab.ask("open", 1)
        assert closed == 0
        # Its capacity may come back between the look and the connection: the look after it decides.
        assert "b" not in measured or not lab.groups()["b"]["drained"], \
            f"a drained group got a connection after {at - began:.1f} s"
    assert came_back is not None, lab.groups()["b"]
    assert 60 <= came_back <= 75, f"its capacity came back after {came_back:.1f} s"
    lab.ask("drop", 1000)
    measured, _ = lab.ask("open", 100)
    assert measured["b"] > 0


def test_X4_2_capacity_by_rate(policy_lab):
    rates = {"a": 60, "b": 40, "c": 100}
    lab = policy_lab({letter: {"balancingMode": "RATE", "maxRate": rate} for letter, rate in rates.items()},
                     policy={"loadBalancingAlgorithm": "WATERFALL_BY_ZONE"})
    per_second, seconds = 150, 5
    measured, closed = lab.ask("rate", per_second, seconds)
    assert closed == 0
    load = per_second * (seconds - 1)
    wanted = {name: (seconds - 1) * share for name, share in lab.model("WATERFALL_BY_ZONE", rates, per_second).items()}
    assert_follows(measured, wanted, load, "a rate of 150 connections a second")


def test_X4_2_capacity_by_utilization_and_H13_a_stale_report_counts_no_longer(policy_lab):
    lab = policy_lab({letter: {"balancingMode": "UTILIZATION", "maxUtilization": 0.8} for letter in "abc"},
                     policy={"loadBalancingAlgorithm": "WATERFALL_BY_ZONE"})

    def report(group, value):
        lab.server(group, "report", value, *lab.ports)

    def until_fill(group, least, most):
        lab.lab.until(lambda: least <= lab.groups()[group].get("fill", 0) <= most, 10, f"{group} is filled {least} to {most}",
                      lab.lab.tail)

    # Each connection costs a member 2%: a group of four reaches 0.8 with 160 of them.
    for group in "abc":
        report(group, "*0.02")
    capacities = {letter: 160 for letter in "abc"}
    held = 0
    for step in [120] + [8] * 6 + [72]:
        held += step
        measured, closed = lab.ask("open", step)
        assert closed == 0
        fill = min(measured["a"], 160) / 160
        until_fill("a", 0.97 * fill, 1.1 * fill)
    assert_follows(measured, lab.model("WATERFALL_BY_ZONE", capacities, held), held, "connections that cost utilization")

    # A zone that is busy with something else gets nothing; one that falls silent counts as idle.
    report("a", "0.95")
    report("b", "0.1")
    until_fill("a", 1.1, 1.3)
    until_fill("b", 0.1, 0.2)
    before = measured
    measured, _ = lab.ask("open", 20)
    assert measured["a"] == before["a"] and measured["b"] == before.get("b", 0) + 20, (before, measured)
    report("a", "-")
    silent = time.monotonic()
    until_fill("a", 0, 0.05)
    # At most three intervals after the last report, which may be an interval old.
    assert 1.5 <= time.monotonic() - silent <= 6
    assert lab.ask("open", 20)[0]["a"] == measured["a"] + 20
