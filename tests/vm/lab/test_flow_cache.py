# SPDX-License-Identifier: GPL-2.0-or-later
"""weir with its kernel module: what the module changes, and what it must not. Runs in a guest with
the module loaded, beside the scenarios of tests/lab, which must not notice it."""

import os
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.environ["WEIR_LAB"])

from conftest import make_lab  # noqa: E402,F401  (the path must be there first)
from lab import VIP4, VIP6  # noqa: E402
from resources import web_and_echo  # noqa: E402


@pytest.fixture
def lab(make_lab):  # noqa: F811
    lab = make_lab()
    for backend in lab.backends:
        lab.serve(backend)
        lab.echo(backend)
    lab.configure(web_and_echo())
    lab.start_weir()
    return lab


def engine(lab):
    return lab.weirctl("status")["engine"]


def test_the_engine_uses_the_module_when_it_is_there(lab):
    cache = engine(lab)["flowCache"]
    assert cache["active"] and cache["maxFlows"] > 1000, cache


@pytest.mark.parametrize("vip", [VIP4, VIP6])
def test_after_the_first_packet_99_percent_skip_the_queue(lab, vip):
    before = engine(lab)
    report = lab.traffic("stream", vip, 5353, 5, 200, 10)
    after = engine(lab)
    assert report["lost"] == 0 and report["sent"] == 2000
    queued = after["totals"]["packets"] - before["totals"]["packets"]
    cached = sum(after["flowCache"][name] - before["flowCache"][name] for name in ("marked", "direct"))
    assert queued + cached >= 2000 and queued - 5 <= 0.01 * 2000, (queued, cached)
    # Statistics count both ways.
    known = {s["service"]: s["known"] for s in after["services"]}["echo"]
    assert known >= cached


def test_engine_killed_known_flows_lose_nothing_and_it_comes_back_consistent(lab):
    running = lab.traffic("stream", VIP4, 5353, 5, 50, 12, background=True)
    lab.until(lambda: engine(lab)["flowCache"]["flows"] >= 5, 10, "the flows are known")
    lab.programs["weir-engine"].send_signal(signal.SIGKILL)
    lab.programs["weir-engine"].wait()
    time.sleep(2)
    lab.program("weir-engine")
    lab.until(lab.ready, 20, "the engine is back", lab.tail)
    report = lab.report(running, timeout=60)
    assert report["lost"] == 0, report
    assert len(report["shares"]) <= 2
    assert lab.weirctl("connections", "list")["connections"]
    assert lab.traffic("udp", VIP4, 5353, 10)["failed"] == 0


def test_P6_3_a_backend_that_fails_loses_its_udp_flows_at_once(lab):
    running = lab.traffic("stream", VIP4, 5353, 8, 50, 15, background=True)
    lab.until(lambda: engine(lab)["flowCache"]["flows"] >= 8, 10, "the flows are known")
    victim = lab.backends[0]
    lab.stop(lab.servers[victim.short])
    lab.until(lambda: lab.health_of("echo", victim) == "UNHEALTHY", 20, "the probe has failed")
    before = {b["backend"]: b["packets"] for s in engine(lab)["services"] if s["service"] == "echo" for b in s["backends"]}
    report = lab.report(running, timeout=60)
    after = {b["backend"]: b["packets"] for s in engine(lab)["services"] if s["service"] == "echo" for b in s["backends"]}
    assert after.get(victim.address4, 0) - before.get(victim.address4, 0) <= 2, (before, after)
    assert report["lost"] <= 2, report


def test_a_flush_reaches_the_module(lab):
    lab.traffic("udp", VIP4, 5353, 10)
    assert engine(lab)["flowCache"]["flows"] >= 10
    assert lab.weirctl("connections", "flush")["flushed"] >= 10
    missed = engine(lab)["flowCache"]["missed"]
    assert lab.traffic("udp", VIP4, 5353, 10)["failed"] == 0
    assert engine(lab)["flowCache"]["missed"] - missed >= 10


def test_N9_a_clean_stop_of_the_manager_empties_the_module(lab):
    lab.traffic("udp", VIP4, 5353, 10)
    assert lab.stop(lab.programs["weir-engine"]) == 0
    assert lab.stop(lab.programs["weir-manager"]) == 0
    script = ("import sys; sys.path.insert(0, '/payload/guest'); from weir_genl import Weir; node = Weir()('node_get');"
              "print(node['mark_mask'], node['flow_count'])")
    assert lab.weir.run(sys.executable, "-c", script).stdout.split() == ["0", "0"]


def test_an_engine_that_finds_no_module_takes_it_when_it_comes(lab):
    subprocess.run(["rmmod", "weir"], check=True)
    try:
        lab.until(lambda: not engine(lab)["flowCache"]["active"], 10, "the engine has noticed")
        assert lab.traffic("udp", VIP4, 5353, 10)["failed"] == 0
    finally:
        subprocess.run(["insmod", "/payload/weir.ko"], check=True)
    lab.until(lambda: engine(lab)["flowCache"]["active"], 15, "the engine has found it")
    assert lab.traffic("stream", VIP4, 5353, 5, 50, 3)["lost"] == 0
