# SPDX-License-Identifier: GPL-2.0-or-later
"""Out of file descriptors (X5.6): accepting pauses, those that are connected go on, nobody spins."""

import json
import os
import subprocess
import sys
import time

import proxy_lab
from lab import HERE

CLIENTS = 100


def cpu_seconds(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_X5_6_with_64_descriptors_the_connected_go_on_and_the_others_wait(make_lab):
    lab = make_lab(backends=1)
    proxy_lab.serve(lab.backends[0], "echo_server.py", "9000")
    lab.configure(proxy_lab.one_backend(service="timeoutSec: 600, logConfig: {enable: true}"), "proxy: {threads: 2}\n")
    lab.program("weir-manager")
    proxy = lab.program("weir-proxy", limits=("--nofile=64:64",))
    lab.until(lambda: proxy_lab.is_listening(lab), 20, "the proxy listens", lab.tail)
    crowd = lab.client.start(sys.executable, f"{HERE}/crowd.py", proxy_lab.FRONT4, "80", str(CLIENTS), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=None, text=True)

    def tell(line):
        crowd.stdin.write(line + "\n")
        crowd.stdin.flush()
        return crowd.stdout.readline()
    assert crowd.stdout.readline() == "ready\n"

    # Some are served, the rest wait in the queue of the listening sockets: nobody is thrown out.
    first = json.loads(tell("ask"))
    assert 10 <= len(first["answered"]) <= 26 and not first["broken"], first
    most = proxy_lab.metric(lab, "weir_proxy_max_connections")
    # Each thread may let one more in that asked at the same moment.
    assert most <= len(first["answered"]) <= most + 2
    before = cpu_seconds(proxy)
    for _ in range(3):
        again = json.loads(tell("ask"))
        assert again == first, "the same ones are served, all of them"
    assert cpu_seconds(proxy) - before < 0.3, "waiting costs next to nothing"
    assert proxy_lab.metric(lab, "weir_proxy_accept_paused_total") > 0
    lines = proxy_lab.log_lines(lab)
    assert 1 <= sum("no room for new connections" in line for line in lines) <= 4

    # Where one leaves, the next comes in.
    assert tell("close 5") == "closed\n"
    time.sleep(0.5)
    later = json.loads(tell("ask"))
    assert len(later["answered"]) >= len(first["answered"]) - 2 and not later["broken"]
    assert len(set(later["answered"]) - set(first["answered"])) >= 3
    for _ in range(12):
        tell(f"close {len(later['answered'])}")
        time.sleep(0.3)
        later = json.loads(tell("ask"))
        assert not later["broken"], later
        if not later["answered"]:
            break
    lab.until(lambda: proxy_lab.metric(lab, "weir_proxy_connections") == 0, 5, "all have been served", lab.tail)
    assert proxy_lab.metric(lab, "weir_proxy_connections_total") == CLIENTS
    assert not [line for line in proxy_lab.access_log(lab) if line.get("REASON") == "proxy_internal_error"]
    assert any("there is room for new connections again" in line for line in proxy_lab.log_lines(lab))
    assert lab.stop(proxy) == 0
