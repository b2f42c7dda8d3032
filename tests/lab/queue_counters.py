# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel counts of weir's queues, and what weir tells of it."""

import time

from api import call


def kernel_counters(lab):
    """By queue: packets dropped because it was full, and because its reader's socket was."""
    lines = lab.weir.run("cat", "/proc/net/netfilter/nfnetlink_queue").stdout.splitlines()
    return {int(line.split()[0]): (int(line.split()[5]), int(line.split()[6])) for line in lines}


def settled_kernel_counters(lab):
    """The counters once a second passes without a change: what was sent may still wait for its softirq."""
    last, since = kernel_counters(lab), time.monotonic()
    while time.monotonic() - since < 1:
        time.sleep(0.05)
        now = kernel_counters(lab)
        if now != last:
            last, since = now, time.monotonic()
    return last


def told_counters(lab):
    """The counters, which status and metrics must tell as they are; looked at while they rest. A queue that is read
    again after a while can be full once more: by errors about answers that come too late for those who asked."""
    told = {}

    def rest():
        truth = kernel_counters(lab)
        threads = call(lab, "GET", "/v1/status")["engine"]["threads"]
        text = lab.weir.run("curl", "-s", "http://127.0.0.1:9147/metrics").stdout
        counted = sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("weir_queue_dropped_total{"))
        if kernel_counters(lab) != truth:
            return False
        assert {t["queue"]: (t["kernel"]["dropped"], t["kernel"]["userDropped"]) for t in threads} == truth
        assert counted == sum(sum(counters) for counters in truth.values())
        told.update(truth)
        return True

    lab.until(rest, 20, "the kernel's counters rest", lab.tail)
    return told
