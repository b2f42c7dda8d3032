# SPDX-License-Identifier: GPL-2.0-or-later
"""Reloads and restarts of the proxy while clients come as fast as this machine can make them (X5.5), and what systemd keeps
for a proxy that is gone."""

import json
import os
import signal
import subprocess
import sys
import time

import proxy_lab
from lab import HERE

TIMES = 10
RATE = int(os.environ.get("WEIR_STORM_RATE", "4000"))


def with_limit(limit):
    return proxy_lab.one_backend(port=80, most=limit)


def test_X5_5_ten_reloads_and_ten_restarts_under_load_fail_no_connection(make_lab, capsys):
    lab = make_lab(backends=1)
    lab.serve(lab.backends[0])
    proxy_lab.start(lab, with_limit(100000))
    storm = lab.client.start(sys.executable, f"{HERE}/connection_storm.py", proxy_lab.FRONT4, "80", str(RATE), "2",
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, text=True)
    time.sleep(1)
    for number in range(TIMES):
        lab.configure(with_limit(200000 + number))
        lab.weirctl("reload", json_output=False)
        time.sleep(0.3)
    predecessors = []
    for number in range(TIMES):
        predecessors.append(lab.programs["weir-proxy"])
        lab.program("weir-proxy")
        lab.until(lambda: sum("listening ADDRESS=" in line for line in proxy_lab.log_lines(lab)) == number + 2, 10,
                  "the successor listens", lab.tail)
        time.sleep(0.3)
    time.sleep(0.5)
    storm.stdin.close()
    storm.stdin = None
    report = json.loads(storm.communicate(timeout=60)[0])
    with capsys.disabled():
        print(f"\n{report['done']} connections at {report['per_second']} a second, slowest {report['slowest_s']} s", end=" ")
    assert report["failed"] == 0, report
    assert report["done"] > 5000, report
    for predecessor in predecessors:
        assert predecessor.wait(40) == 0, "the predecessor ends when its connections have"
    assert not [line for line in proxy_lab.log_lines(lab) if " weir-proxy error: " in line]


class Supervised:
    """weir-proxy under supervise.py, which stands for systemd."""

    def __init__(self, lab):
        self.lab = lab
        self.process = lab.weir.start(sys.executable, f"{HERE}/supervise.py", f"{lab.directory}/notify", f"{lab.binaries}/weir-proxy",
                                      "--config-dir", lab.config, "--run-dir", lab.run_dir, "--state-dir", lab.run_dir,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=open(f"{lab.directory}/weir-proxy.log", "ab"), text=True)

    def tell(self, line):
        """Which descriptors are kept afterwards."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def fetch(lab, patience_s=5):
    return lab.client.run("curl", "-s", "-m", str(patience_s), f"http://{proxy_lab.FRONT4}/", check=False)


def fetch_later(lab):
    return lab.client.start("curl", "-s", "-m", "20", f"http://{proxy_lab.FRONT4}/", stdout=subprocess.PIPE, text=True)


def supervised(lab, threads):
    """The proxy listens, by so many sockets, and they are kept."""
    lab.serve(lab.backends[0])
    lab.configure(with_limit(1000), f"proxy: {{threads: {threads}}}\n")
    lab.program("weir-manager")
    systemd = Supervised(lab)
    systemd.tell("start")
    lab.until(lambda: proxy_lab.is_listening(lab), 20, "the proxy listens")
    assert systemd.tell("look") == ["10.8.8.8_80"] * threads, "a socket for each thread"
    return systemd


def test_X5_5_systemd_keeps_the_listening_sockets_of_a_proxy_that_crashed_or_is_restarted(make_lab):
    lab = make_lab(backends=1)
    systemd = supervised(lab, threads=2)
    assert fetch(lab).stdout.startswith("b1")
    kept = systemd.tell("look")

    for end in ("kill", f"signal {int(signal.SIGUSR1)}"):
        # While no proxy runs, clients wait; the next one serves them.
        assert systemd.tell(end) == kept
        waiting = [fetch_later(lab) for _ in range(20)]
        time.sleep(0.5)
        assert all(client.poll() is None for client in waiting), "nobody was refused"
        assert systemd.tell("start") == kept, "the same sockets, once each"
        for client in waiting:
            assert client.communicate(timeout=20)[0].startswith("b1") and client.returncode == 0

    # A front that is taken away is given back.
    lab.configure(with_limit(1000).replace("ports: [80]", "ports: [81]"), "proxy: {threads: 2}\n")
    lab.weirctl("reload", json_output=False)
    lab.until(lambda: systemd.tell("look") == ["10.8.8.8_81"] * 2, 5, "only the new front is kept")
    assert fetch(lab).returncode == 7  # refused
    # Told to stop, it leaves nothing that listens.
    assert systemd.tell(f"signal {int(signal.SIGTERM)}") == []
    assert not proxy_lab.is_listening(lab)


def test_X5_5_a_successor_with_fewer_threads_serves_every_socket_it_inherits(make_lab):
    lab = make_lab(backends=1)
    systemd = supervised(lab, threads=4)
    lab.configure(with_limit(1000), "proxy: {threads: 1}\n")
    lab.stop(lab.programs["weir-manager"])
    lab.program("weir-manager")
    systemd.tell(f"signal {int(signal.SIGUSR1)}")
    systemd.tell("start")
    try:
        # The kernel spreads clients over all sockets that listen: one without a reader would keep a quarter of them waiting.
        for client in [fetch_later(lab) for _ in range(40)]:
            assert client.communicate(timeout=20)[0].startswith("b1") and client.returncode == 0
    finally:
        systemd.tell(f"signal {int(signal.SIGTERM)}")
