# SPDX-License-Identifier: GPL-2.0-or-later
"""What is the engine's own: the queue it must have alone, the table that outlives it."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

from api import call
from lab import HERE, VIP4
from queue_counters import settled_kernel_counters, told_counters
from resources import web_and_echo
from static_stability import wait_for_forwarding

QUEUE = "8100"


def queue_is_bound(lab):
    lines = lab.weir.run("cat", "/proc/net/netfilter/nfnetlink_queue").stdout.splitlines()
    return any(line.split()[0] == QUEUE for line in lines)


def test_a_queue_that_another_program_has_is_named_in_the_error(make_lab):
    lab = make_lab(backends=1)
    lab.configure(web_and_echo(primary=(1,), standby=()))
    other = lab.weir.start(f"{lab.binaries}/weir_bench_batched_loop", QUEUE, "0x10000")
    lab.until(lambda: queue_is_bound(lab), 5, "the other program has the queue")
    lab.program("weir-manager")
    assert lab.program("weir-engine").wait(20) == 1
    with open(f"{lab.directory}/weir-engine.log", encoding="utf-8") as log:
        assert f"queue {QUEUE} is bound by another program" in log.read()

    # Once the queue is free the engine starts without another step.
    lab.stop(other)
    lab.program("weir-engine")
    lab.until(lambda: queue_is_bound(lab), 10, "the engine has the queue", lab.tail)


def test_a_clean_restart_of_the_engine_keeps_the_table_and_frees_the_queue(make_lab):
    lab = make_lab(backends=2)
    for backend in lab.backends:
        lab.serve(backend)
    lab.configure(web_and_echo(primary=(1, 2), standby=()))
    lab.start_weir()
    assert lab.traffic("burst", VIP4, 80, 50)["failed"] == 0
    before = lab.weirctl("connections", "count")["count"]
    assert before >= 50
    assert lab.stop(lab.programs["weir-engine"]) == 0
    assert not queue_is_bound(lab)
    lab.program("weir-engine")
    lab.until(lambda: queue_is_bound(lab), 10, "the engine has the queue again", lab.tail)
    lab.until(lab.ready, 10, "the engine is in step again", lab.tail)
    assert lab.weirctl("connections", "count")["count"] == before


def test_what_the_kernel_drops_before_a_stopped_engine_is_counted(make_lab):
    lab = make_lab(backends=1)
    lab.serve(lab.backends[0])
    lab.echo(lab.backends[0])
    lab.configure(web_and_echo(primary=(1,), standby=()))
    lab.start_weir()
    assert lab.traffic("udp", VIP4, 5353, 10)["failed"] == 0
    engine, sent = lab.programs["weir-engine"], 24000
    engine.send_signal(signal.SIGSTOP)
    try:
        lab.client.run(sys.executable, "-c", "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                       f"[s.sendto(b'x', ('{VIP4}', 5353)) for _ in range({sent})]")
        dropped = sum(settled_kernel_counters(lab)[int(QUEUE)])
    finally:
        engine.send_signal(signal.SIGCONT)
    assert dropped > 0
    # What waited is answered, and new packets pass.
    assert lab.traffic("burst", VIP4, 80, 20)["failed"] == 0
    assert sum(told_counters(lab)[int(QUEUE)]) >= dropped
    thread = next(q for q in call(lab, "GET", "/v1/status")["engine"]["threads"] if str(q["queue"]) == QUEUE)
    assert sent - dropped <= thread["packets"]


class Notifications:
    """Hears what a program tells systemd; (when, text)."""

    def __init__(self, path):
        self.heard = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            text = self.socket.recv(4096).decode()
            self.heard.append((time.monotonic(), text))

    def watchdogs_since(self, begin):
        return [text for when, text in self.heard if when >= begin and "WATCHDOG=1" in text]


def test_a_queue_thread_without_progress_silences_the_watchdog_and_a_restart_helps(make_lab):
    lab = make_lab(backends=1)
    lab.serve(lab.backends[0])
    lab.configure(web_and_echo(primary=(1,), standby=()))
    notifications = Notifications(f"{lab.directory}/notify")
    lab.program("weir-manager")
    engine = lab.weir.start(
        f"{lab.binaries}/weir-engine", "--config-dir", lab.config, "--run-dir", lab.run_dir, log=f"{lab.directory}/weir-engine.log",
        env=os.environ | {"NOTIFY_SOCKET": f"{lab.directory}/notify", "WATCHDOG_USEC": "4000000"})
    lab.programs["weir-engine"] = engine
    lab.until(lab.ready, 20, "weir is up", lab.tail)
    begin = time.monotonic()
    lab.until(lambda: notifications.watchdogs_since(begin), 5, "the engine feeds the watchdog")
    freezer = lab.weir.start(sys.executable, f"{HERE}/freeze_thread.py", str(engine.pid), f"queue-{QUEUE}",
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert freezer.stdout.readline() == b"frozen\n"
    time.sleep(3)  # half of the interval, and what a loaded machine takes
    begin = time.monotonic()
    time.sleep(4)
    assert notifications.watchdogs_since(begin) == []
    with open(f"{lab.directory}/weir-engine.log", encoding="utf-8") as log:
        assert "a packet thread makes no progress" in log.read()

    # What systemd does now.
    engine.send_signal(signal.SIGKILL)
    freezer.communicate()
    engine.wait()
    lab.program("weir-engine")
    wait_for_forwarding(lab)
    assert lab.traffic("burst", VIP4, 80, 20)["failed"] == 0
