# SPDX-License-Identifier: GPL-2.0-or-later
"""Killed under load without losing a connection. STABILITY_KILLS, STABILITY_HELD, STABILITY_NEW and STABILITY_SEED say how often,
under how many open connections and new ones a second, and in which order; `make stability` has the large figures."""

import os
import random
import statistics
import time

from resources import web_and_echo
from static_stability import Flapping, SteadyClients, kill, wait_for_forwarding, would_move

KILLS = int(os.environ.get("STABILITY_KILLS", 4))
HELD = int(os.environ.get("STABILITY_HELD", 500))
NEW_PER_SECOND = float(os.environ.get("STABILITY_NEW", 100))
SEED = int(os.environ.get("STABILITY_SEED", 8))
RESPAWN_S = 0.1
VICTIMS = (("weir-engine",), ("weir-manager",), ("weir-engine", "weir-manager"))


def victims(chance):
    """Each kind as often as the others, in random order."""
    order = [VICTIMS[i % len(VICTIMS)] for i in range(KILLS)]
    chance.shuffle(order)
    return order


def test_kill_9_at_random_moments_under_load_moves_and_resets_no_connection(make_lab, record_property):
    lab, chance = make_lab(), random.Random(SEED)
    for backend in lab.backends:
        lab.serve(backend)
    lab.configure(web_and_echo(primary=(1, 2, 3, 4), standby=()))
    lab.start_weir()
    clients = SteadyClients(lab, HELD, NEW_PER_SECOND)
    flapping = Flapping(lab, "web", SEED)
    outages, kills, differing = [], [], 0
    try:
        for names in victims(chance):
            time.sleep(chance.uniform(0.2, 2.0))
            if lab.ready():
                differing += would_move(lab, chance.sample(clients.ports, min(10, HELD)))
            begin = time.monotonic()
            kill(lab, names)
            time.sleep(chance.uniform(0, RESPAWN_S))
            for name in names:
                lab.program(name)
            if "weir-engine" in names:
                wait_for_forwarding(lab)
                outages.append(time.monotonic() - begin)
            kills.append([begin, time.monotonic(), names])
        lab.until(lab.ready, 30, "weir is in step again after the last kill", lab.tail)
        time.sleep(2)
    finally:
        flapping.stop()
    report = clients.report()

    disturbed = [h for h in report["held"] if h["error"] or h["moved"]]
    assert not disturbed, (kills, disturbed[:5])
    assert len(report["held"]) == HELD and min(h["requests"] for h in report["held"]) > KILLS
    failed = [n for n in report["new"] if n[4]]
    assert not failed, (kills, len(failed), len(report["new"]), failed[:5])
    assert len(report["new"]) > KILLS * 20
    # Else a choice without a table would have passed too.
    assert flapping.changes >= KILLS and differing > 0
    begins = [n[1] for n in report["new"]]
    figures = {"kills": KILLS, "held": HELD, "requests": sum(h["requests"] for h in report["held"]), "new": len(begins),
               "new_per_second": round(len(begins) / (max(begins) - min(begins))), "flaps": flapping.changes,
               "sampled_connections_a_stateless_choice_would_move": differing,
               "engine_outage_ms": {"median": round(statistics.median(outages) * 1e3), "max": round(max(outages) * 1e3)},
               "slowest_request_s": round(max(h["slowest_s"] for h in report["held"]), 2),
               "clients": report["load"],
               "slowest_new_s": round(max(n[2] - n[1] for n in report["new"]), 2)}
    record_property("figures", figures)
    print(figures)
