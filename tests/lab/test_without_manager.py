# SPDX-License-Identifier: GPL-2.0-or-later
"""Data planes that are started while there is no manager go on with what their predecessors were told."""

import os
import signal

import proxy_lab
from lab import VIP4
from resources import web_and_echo
from static_stability import SteadyClients, kill, queue_is_bound, wait_for_forwarding

ENGINE_FILE, PROXY_FILE = "engine.snapshots", "proxy.snapshots"


def engine_lab(make_lab, backends=2):
    lab = make_lab(backends=backends)
    for backend in lab.backends:
        lab.serve(backend)
    lab.configure(web_and_echo(primary=range(1, backends + 1), standby=()))
    lab.start_weir()
    return lab


def log_of(lab, program="weir-engine"):
    return "\n".join(proxy_lab.log_lines(lab, program))


def test_an_engine_alone_serves_known_and_new_connections_after_everything_was_killed(make_lab):
    lab = engine_lab(make_lab, backends=4)
    clients = SteadyClients(lab, 50, 0)
    mode = os.stat(f"{lab.run_dir}/{ENGINE_FILE}").st_mode
    assert mode & 0o777 == 0o600
    kill(lab, ("weir-engine", "weir-manager"))
    lab.program("weir-engine")
    assert wait_for_forwarding(lab) < 5
    assert lab.traffic("burst", VIP4, 80, 100)["failed"] == 0
    assert "going on with what an earlier process was told" in log_of(lab)

    # The manager comes back, and with it what it has to say.
    lab.program("weir-manager")
    lab.until(lab.ready, 20, "the manager and the engine are in step", lab.tail)
    assert lab.weirctl("connections", "count", "--service", "web")["count"] >= 150
    report = clients.report()
    disturbed = [h for h in report["held"] if h["error"] or h["moved"]]
    assert len(report["held"]) == 50 and not disturbed, disturbed[:5]


def test_an_engine_alone_knows_the_last_change_of_health(make_lab):
    lab = engine_lab(make_lab)
    lab.stop(lab.servers["b1"])
    lab.until(lambda: lab.health_of("web", lab.backends[0]) == "UNHEALTHY", 20, "b1 is unhealthy", lab.tail)
    lab.until(lab.ready, 10, "the engine knows it", lab.tail)
    kill(lab, ("weir-engine", "weir-manager"))
    lab.program("weir-engine")
    wait_for_forwarding(lab)
    report = lab.traffic("burst", VIP4, 80, 50)
    assert report["failed"] == 0, report


def test_a_damaged_file_is_told_and_the_manager_waited_for(make_lab):
    lab = engine_lab(make_lab)
    kill(lab, ("weir-engine", "weir-manager"))
    with open(f"{lab.run_dir}/{ENGINE_FILE}", "r+b") as file:
        file.seek(120)
        byte = file.read(1)[0]
        file.seek(120)
        file.write(bytes([byte ^ 1]))
    lab.program("weir-engine")
    lab.until(lambda: "cannot be used; waiting for the manager" in log_of(lab), 10, "the engine tells it", lab.tail)
    assert "a checksum does not fit" in log_of(lab)
    assert not queue_is_bound(lab.programs["weir-engine"])
    lab.program("weir-manager")
    wait_for_forwarding(lab)
    assert lab.traffic("burst", VIP4, 80, 20)["failed"] == 0


def test_after_a_clean_stop_the_engine_asks_the_manager(make_lab):
    lab = engine_lab(make_lab)
    assert lab.stop(lab.programs["weir-engine"], signal.SIGUSR1) == 0
    assert os.path.exists(f"{lab.run_dir}/{ENGINE_FILE}"), "a restart is no stop"
    lab.program("weir-engine")
    wait_for_forwarding(lab)
    assert lab.stop(lab.programs["weir-engine"]) == 0
    assert not os.path.exists(f"{lab.run_dir}/{ENGINE_FILE}")


def test_an_engine_that_began_alone_takes_the_queues_that_the_manager_wants(make_lab):
    lab = engine_lab(make_lab)
    kill(lab, ("weir-engine", "weir-manager"))
    lab.program("weir-engine")
    wait_for_forwarding(lab)
    lab.configure(web_and_echo(primary=(1, 2), standby=()), "queues: 2\n")
    lab.program("weir-manager")
    engine = lab.programs["weir-engine"]
    lab.until(lambda: queue_is_bound(engine, "8101"), 20, "the engine has both queues", lab.tail)
    lab.until(lab.ready, 20, "the manager and the engine are in step", lab.tail)
    assert engine.poll() is None
    assert lab.traffic("burst", VIP4, 80, 100)["failed"] == 0


def test_a_proxy_alone_serves_after_everything_was_killed(make_lab):
    lab = make_lab(backends=1)
    lab.serve(lab.backends[0])
    proxy_lab.start(lab, proxy_lab.one_backend(port=80))
    assert lab.traffic("burst", proxy_lab.FRONT4, 80, 20)["failed"] == 0
    kill(lab, ("weir-proxy", "weir-manager"))
    lab.program("weir-proxy")
    lab.until(lambda: proxy_lab.is_listening(lab), 10, "the proxy listens", lab.tail)
    assert lab.traffic("burst", proxy_lab.FRONT4, 80, 20)["failed"] == 0
    assert "going on with what an earlier process was told" in log_of(lab, "weir-proxy")
    lab.program("weir-manager")
    lab.until(lambda: isinstance(lab.weirctl("status", check=False), dict), 20, "the manager is up", lab.tail)
    assert lab.traffic("burst", proxy_lab.FRONT4, 80, 20)["failed"] == 0
    assert lab.stop(lab.programs["weir-proxy"], wait=40) == 0
    assert not os.path.exists(f"{lab.run_dir}/{PROXY_FILE}")
