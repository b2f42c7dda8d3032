# SPDX-License-Identifier: GPL-2.0-or-later
"""What gets in the proxy's way and goes away again: an address that somebody else has (X1.4), a log that nobody takes."""

import os
import subprocess
import sys
import threading
import time

import proxy_lab
from lab import HERE

SQUATTER = """
import socket, sys, time
listener = socket.create_server(("", 80))
print("ready", flush=True)
time.sleep(600)
"""


def test_X1_4_a_port_that_somebody_else_has_is_opened_when_it_is_free(make_lab):
    lab = make_lab(backends=1)
    lab.serve(lab.backends[0])
    squatter = lab.weir.start(sys.executable, "-c", SQUATTER, stdout=subprocess.PIPE, stderr=None)
    assert squatter.stdout.readline() == b"ready\n"
    lab.configure(proxy_lab.one_backend(port=80), "proxy: {threads: 2}\n")
    for name in ("weir-manager", "weir-proxy"):
        lab.program(name)

    def said(text):
        return [line for line in proxy_lab.log_lines(lab) if text in line]
    lab.until(lambda: said("cannot listen"), 20, "the proxy says that it cannot listen", lab.tail)
    lab.until(lambda: proxy_lab.metric(lab, "weir_proxy_fronts", state="failing") == 1, 5, "the metric says so, too", lab.tail)
    time.sleep(2.5)
    assert len(said("cannot listen")) == 1 and "in use" in said("cannot listen")[0], "said once, with the reason"
    lab.stop(squatter)
    lab.until(lambda: proxy_lab.is_listening(lab), 5, "it listens without another change", lab.tail)
    assert lab.client.run("curl", "-s", "-m", "5", f"http://{proxy_lab.FRONT4}/").stdout.startswith("b1")
    assert len(said("listening ADDRESS=")) == 1
    assert proxy_lab.metric(lab, "weir_proxy_fronts", state="failing") == 0


def test_X7_1_a_log_that_nobody_takes_holds_nobody_up_and_what_is_lost_is_told(make_lab):
    lab = make_lab(backends=1)
    lab.serve(lab.backends[0])
    reading, writing = os.pipe()
    lab.configure(proxy_lab.one_backend(port=80, service="logConfig: {enable: true}", most=100000))
    lab.program("weir-manager")
    lab.weir.start(f"{lab.binaries}/weir-proxy", "--config-dir", lab.config, "--run-dir", lab.run_dir, "--state-dir", lab.run_dir,
                   stderr=writing)
    os.close(writing)
    lab.until(lambda: proxy_lab.is_listening(lab), 20, "the proxy listens", lab.tail)
    storm = lab.client.start(sys.executable, f"{HERE}/connection_storm.py", proxy_lab.FRONT4, "80", "4000", "2",
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, text=True)
    # A pipe takes a few hundred lines; the rest of them waits, and then more than may wait.
    try:
        lab.until(lambda: (proxy_lab.metric(lab, "weir_proxy_log_lines_lost_total") or 0) > 0, 120, "lines are lost", lab.tail)
        done = proxy_lab.metric(lab, "weir_proxy_connections_total")
        lab.until(lambda: proxy_lab.metric(lab, "weir_proxy_connections_total") > done + 1000, 20, "connections go on", lab.tail)
        # The control thread has something to say, too, and does its work.
        lab.configure(proxy_lab.one_backend(port=80).replace("ports: [80]", "ports: [81]"))
        lab.weirctl("reload", json_output=False)
        lab.until(lambda: ":81 " in lab.weir.run("ss", "-Hltn").stdout, 5, "a reload takes effect", lab.tail)
    finally:
        storm.kill()
    text = []

    def take():
        with os.fdopen(reading, errors="replace") as log:
            for line in log:
                text.append(line)
                if len(text) > 2000:
                    break
    taker = threading.Thread(target=take)
    taker.start()
    taker.join(30)
    assert any("lines of the log were lost" in line and "LINES=" in line for line in text), text[-1]
    assert sum(": connection " in line for line in text) > 1000
