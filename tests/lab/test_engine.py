# SPDX-License-Identifier: GPL-2.0-or-later
"""What is the engine's own: the queue it must have alone, the table that outlives it."""

from lab import VIP4
from resources import web_and_echo

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
