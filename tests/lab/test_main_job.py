# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job with real packets: connections through the queue, over a virtual IP, to real servers."""

import os
import re
import signal
import threading
import time

import pytest
from api import call
from lab import VIP4, VIP6, LabError
from resources import web_and_echo


@pytest.fixture
def serving(make_lab):
    """A lab whose backends serve and whose weir runs with the configuration given."""
    def make(resources, node=""):
        lab = make_lab()
        for backend in lab.backends:
            lab.serve(backend)
            lab.echo(backend)
        lab.clean = lab.kernel_state()
        lab.configure(resources, node)
        lab.start_weir()
        return lab
    return make


def assert_all_served(report):
    assert report["failed"] == 0, report["failures"][:5]


def assert_held_undisturbed(report, backends=None):
    held = [h for h in report["held"] if backends is None or h["backend"] in backends]
    assert held
    disturbed = [h for h in held if h["error"] or h["moved"]]
    assert not disturbed, disturbed[:5]


def test_P4_shares_are_even_and_P8_8_backends_see_client_and_virtual_address(serving):
    lab = serving(web_and_echo(primary=(1, 2, 3, 4), standby=()))
    for vip, client in ((VIP4, "10.1.0.2"), (VIP6, "fd01::2")):
        report = lab.traffic("burst", vip, 80, 1000)
        assert_all_served(report)
        assert report["clients"] == [client] and report["servers"] == [vip]
        assert set(report["shares"]) == {"b1", "b2", "b3", "b4"}
        for share in report["shares"].values():
            assert 0.75 * 250 <= share <= 1.25 * 250, report["shares"]
        report = lab.traffic("udp", vip, 5353, 200)
        assert_all_served(report)
        assert set(report["shares"]) == {"b1", "b2", "b3", "b4"}
    # A source port that the kernel gave out twice is one entry.
    assert 2300 <= lab.weirctl("connections", "count")["count"] <= 2400


def test_P4_1_client_ip_affinity_sends_all_of_a_client_to_one_backend(serving):
    lab = serving(web_and_echo(primary=(1, 2, 3, 4), standby=(), service="sessionAffinity: CLIENT_IP"))
    report = lab.traffic("burst", VIP4, 80, 200)
    assert_all_served(report)
    assert len(report["shares"]) == 1


def test_P2_3_and_P6_3_failover_takes_over_and_established_tcp_stays_where_it_is(serving):
    lab = serving(web_and_echo(service="failoverPolicy: {failoverRatio: 0.0}"))
    assert set(lab.traffic("burst", VIP4, 80, 100)["shares"]) == {"b1", "b2"}
    # The probed port goes, the servers stay: what is established must not notice (P6.6).
    traffic = lab.traffic("hold", VIP4, 80, 30, 8, 20, background=True)
    time.sleep(1)
    for backend in lab.backends[:2]:
        backend.run("nft", "-f", "-", input="table inet probes { chain in { type filter hook input priority 0; "
                    "ip saddr 10.2.0.1 tcp dport 80 reject with tcp reset; ip6 saddr fd02::1 tcp dport 80 reject with tcp reset; }; }")
    lab.until(lambda: all(lab.health_of("web", b) == "UNHEALTHY" for b in lab.backends[:2]), 10, "primaries unhealthy", lab.tail)
    new = lab.traffic("burst", VIP4, 80, 100)
    assert_all_served(new)
    assert set(new["shares"]) == {"b3", "b4"}
    held = lab.report(traffic)
    assert_held_undisturbed(held, {"b1", "b2"})
    assert_all_served(held)
    # UDP entries of unhealthy backends are gone: exchanges from old ports reach the failover group too.
    assert set(lab.traffic("udp", VIP4, 5353, 50)["shares"]) == {"b3", "b4"}


def test_a_flapping_backend_costs_no_packet(serving):
    """Twenty changes a second for ten seconds while datagrams and connections go on: each change
    rebuilds the service's table, and no packet waits, is lost or goes nowhere because of it."""
    lab = serving(web_and_echo(primary=(1, 2, 3, 4), standby=()))
    stream = lab.traffic("stream", VIP4, 5353, 50, 2000, 11, background=True)
    hold = lab.traffic("hold", VIP6, 80, 30, 11, 50, background=True)
    time.sleep(0.5)
    changes, begin = 0, time.monotonic()
    while time.monotonic() < begin + 10:
        for service in ("web", "echo"):
            what = "drain" if changes % 2 == 0 else "undrain"
            call(lab, "POST", f"/v1/backendServices/{service}/{what}", {"endpoint": lab.backends[0].address4})
        changes += 1
        time.sleep(max(0.0, begin + changes / 20 - time.monotonic()))
    assert changes >= 150
    datagrams, connections = lab.report(stream), lab.report(hold)
    assert datagrams["sent"] == 22000
    assert datagrams["lost"] == 0 and datagrams["duplicates"] == 0, datagrams
    assert_all_served(connections)
    assert_held_undisturbed(connections)


@pytest.mark.parametrize("program", ["weir-engine", "weir-manager", "both"])
def test_kill_9_and_start_again_works_without_a_manual_step(serving, program):
    lab = serving(web_and_echo(primary=(1, 2, 3, 4), standby=()))
    programs = ["weir-engine", "weir-manager"] if program == "both" else [program]
    before = lab.kernel_state()
    traffic = lab.traffic("hold", VIP4, 80, 40, 7, 0, background=True)
    time.sleep(1.5)
    for name in programs:
        lab.stop(lab.programs[name], signal.SIGKILL)
    time.sleep(0.3)
    for name in programs:
        lab.program(name)
    lab.until(lab.ready, 15, "weir is ready again", lab.tail)
    assert_held_undisturbed(lab.report(traffic))
    assert lab.kernel_state() == before
    report = lab.traffic("burst", VIP6, 80, 200)
    assert_all_served(report)
    assert len(report["shares"]) == 4


def test_manager_gone_traffic_goes_on(serving):
    lab = serving(web_and_echo(primary=(1, 2, 3, 4), standby=()))
    lab.stop(lab.programs["weir-manager"], signal.SIGKILL)
    assert_all_served(lab.traffic("burst", VIP4, 80, 300))
    assert lab.weirctl("status", check=False).returncode == 3


def test_clean_stop_leaves_the_kernel_as_it_was(serving):
    lab = serving(web_and_echo())
    assert lab.kernel_state() != lab.clean
    for name in ("weir-engine", "weir-manager"):
        assert lab.stop(lab.programs[name]) == 0
    assert lab.kernel_state() == lab.clean


def test_programs_start_in_any_order(make_lab):
    lab = make_lab()
    for backend in lab.backends:
        lab.serve(backend)
    lab.configure(web_and_echo())
    lab.program("weir-engine")
    time.sleep(1)
    lab.program("weir-manager")
    lab.until(lab.ready, 20, "weir is up", lab.tail)
    assert_all_served(lab.traffic("burst", VIP4, 80, 50))


def test_a_second_instance_is_refused_with_a_clear_message(serving):
    lab = serving(web_and_echo())
    for name in ("weir-engine", "weir-manager"):
        done = lab.weir.run(f"{lab.binaries}/{name}", "--config-dir", lab.config, "--run-dir", lab.run_dir, check=False, timeout=20)
        assert done.returncode == 1
        assert re.search(r"already|another", done.stderr), done.stderr
    assert_all_served(lab.traffic("burst", VIP4, 80, 50))


BROKEN = [
    # (what is changed in the file, by what, message)
    ("protocol: TCP", "protocol: TPC", r"TCP"),
    ("sessionAffinity: NONE", "sesionAffinity: NONE", r"did you mean.*sessionAffinity"),
    ("healthChecks: [web-hc]", "healthChecks: [web-hx]", r"web-hx.*web-hc"),
    ("checkIntervalSec: 1", "checkIntervalSec: 301", r"1 to 300"),
    ("checkIntervalSec: 1", "checkIntervalSec: 1e0", r"checkIntervalSec"),
    ("idleTimeoutSec: 600", "idleTimeoutSec: 59", r"60 to 600"),
    ("ports: [80]", "ports: [80], allPorts: true", r"allPorts"),
    ("name: web-v6", "name: web-v4", r"web-v4"),
    ("backends: [{group: primary}", "backends: [{group: primary", r"."),
]


def test_C1_a_broken_configuration_is_refused_by_position_and_the_running_one_goes_on(serving):
    good = web_and_echo(service="sessionAffinity: NONE\nconnectionTrackingPolicy: {idleTimeoutSec: 600}")
    lab = serving(good)
    before, status = lab.kernel_state(), lab.weirctl("status")
    for old, new, message in BROKEN:
        assert old in good
        text = good.replace(old, new, 1)
        lab.configure(text)
        for words in (("check", lab.config), ("reload",)):
            refused = lab.weirctl(*words, check=False, json_output=False)
            assert not isinstance(refused, str), f"{words}: accepted {new}"
            assert refused.returncode == 1
            position = re.search(r"lab\.yaml:(\d+):(\d+): ", refused.stderr)
            assert position, refused.stderr
            if message != ".":
                line = next(i for i, (a, b) in enumerate(zip(text.splitlines(), good.splitlines()), 1) if a != b)
                assert int(position[1]) == line, refused.stderr
                assert re.search(message, refused.stderr, re.S), refused.stderr
    assert lab.kernel_state() == before
    assert_all_served(lab.traffic("burst", VIP4, 80, 50))
    lab.configure(good)
    lab.weirctl("reload", json_output=False)
    assert [s["name"] for s in lab.weirctl("status")["services"]] == [s["name"] for s in status["services"]]


def test_reload_adds_and_removes_services_and_backends_under_traffic(serving):
    lab = serving(web_and_echo(primary=(1, 2), standby=()))
    traffic = lab.traffic("hold", VIP4, 80, 30, 8, 50, background=True)
    time.sleep(1)
    lab.configure(web_and_echo(primary=(2, 3, 4), standby=()))
    lab.weirctl("reload", json_output=False)
    lab.until(lambda: all(b["healthState"] in ("HEALTHY", "DRAINING") for b in lab.health("web")), 10, "the new backends are healthy", lab.tail)
    assert lab.health_of("web", lab.backends[0]) == "DRAINING"
    assert set(lab.traffic("burst", VIP4, 80, 200)["shares"]) == {"b2", "b3", "b4"}
    report = lab.report(traffic)
    assert_all_served(report)
    assert_held_undisturbed(report)  # b1's connections too: P7.1


def test_reload_without_a_difference_has_no_effect(serving):
    lab = serving(web_and_echo())
    before, generation = lab.kernel_state(), lab.weirctl("status")["manager"]["generation"]
    watched = []
    monitor = lab.weir.start("ip", "monitor", "rule", "route", log=f"{lab.directory}/monitor.log")
    thread = threading.Thread(target=lambda: watched.append(lab.traffic("stream", VIP4, 5353, 20, 1000, 3)))
    thread.start()
    for _ in range(5):
        lab.weirctl("reload", json_output=False)
    os.kill(lab.programs["weir-manager"].pid, signal.SIGHUP)
    thread.join()
    lab.stop(monitor)
    assert watched[0]["lost"] == 0
    assert lab.weirctl("status")["manager"]["generation"] == generation
    assert lab.kernel_state() == before
    with open(f"{lab.directory}/monitor.log", encoding="utf-8") as log:
        assert log.read() == ""


def test_explain_says_what_happens_to_a_packet(serving):
    lab = serving(web_and_echo(service="failoverPolicy: {failoverRatio: 0.5}"))
    words = ("explain", "--src", "10.1.0.2", "--dst", VIP4, "--proto", "TCP", "--sport", "40000", "--dport", "80", "--flags", "SYN")
    text = lab.weirctl(*words, json_output=False)
    assert all(word in text for word in ("web-v4", "web", "source 10.1.0.2:40000", "P1.1", "P2.6", "10.2.0.1")), text
    assert lab.weirctl(*words)["set"]["rule"] == "P2.6"
    other = lab.weirctl("explain", "--src", "10.1.0.2", "--dst", VIP4, "--sport", "1", "--dport", "81", "--flags", "SYN")
    assert other["action"] == "pass"
    with pytest.raises(LabError):
        lab.weirctl("explain", "--src", "10.1.0.999", "--dst", VIP4)
