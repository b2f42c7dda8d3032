# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions for each forwarded packet, by the ways a machine can forward it; in a guest whose
clock counts instructions (vm.py --icount). Prints a table; exit 1 if a limit is not kept.

Every figure is of UDP packets of 60 bytes in 1,000 known flows, from the sender's system call to
the backend's first hook. `drop` ends at the forwarding machine's first hook: what is above it is
the forwarding itself. `queue` is weir without its module, its programs (/payload/bin) included.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

from conftest import DIRECT, make_service, weir_in
from network import MARKS, MASK, VIP4, Network, counted, inside, nft, sh, wait_for

PACKETS, FLOWS = 20000, 1000


def arrivals(network):
    return sum(counted(network.b1).values())


def cost(network, arriving=1):
    """Nanoseconds, which are instructions, for each packet, of which so many arrive."""
    mac = network.mac()

    def blast(packets):
        expected = arrivals(network) + packets * arriving
        started = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        # Whoever answers for the queue comes before the sender, so that the queue stays short.
        subprocess.run(["ip", "netns", "exec", network.client, "nice", "-n", "19", "/payload/blast", "up0", mac, "10.1.0.2", VIP4,
                        str(packets), str(FLOWS)], check=True)
        for _ in range(100):
            if arrivals(network) == expected:
                return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - started
        sys.exit(f"{expected - arrivals(network)} of {packets} packets have not arrived")
    blast(2 * FLOWS)  # now every flow is known
    # The same work around different numbers of packets: the difference is the packets' own.
    return (blast(FLOWS + PACKETS) - blast(FLOWS)) / PACKETS


def bare(network):
    nft(network.weir, "flush ruleset")
    sh(f"ip -n {network.weir} route replace {VIP4} via 10.2.1.2 dev b1")


def drop(network):
    bare(network)
    nft(network.weir, f"table ip t {{ chain p {{ type filter hook prerouting priority -500; ip daddr {VIP4} drop; }}; }}")


def conntrack(network):
    bare(network)
    nft(network.weir, "table ip t { chain p { type filter hook prerouting priority 0; ct state invalid drop; }; }")


def ipvs(network):
    bare(network)
    sh(f"ip -n {network.weir} route del {VIP4}; ip -n {network.weir} addr add {VIP4}/32 dev lo")
    network.exec(network.weir, f"ipvsadm -A -u {VIP4}:53 -s mh")
    network.exec(network.weir, f"ipvsadm -a -u {VIP4}:53 -r 10.2.1.2:53 -g")


def module_with_mark(network):
    sh(f"ip netns exec {network.weir} ipvsadm -C; ip -n {network.weir} addr del {VIP4}/32 dev lo", check=False)
    bare(network)
    sh(f"ip -n {network.weir} route del {VIP4}")
    nft(network.weir, f"""table ip weir {{
      set addresses {{ type ipv4_addr; elements = {{ {VIP4} }}; }}
      chain pre {{ type filter hook prerouting priority -450; meta mark & {MASK:#x} != 0 accept;
        ip daddr @addresses notrack meta mark set 0x10000; }}; }}""")
    client = weir_in(network.weir)
    client("node_set", mark_mask=MASK, max_flows=10000)
    make_service(client, flags=DIRECT)


def module_direct(_):
    sh("echo 1 > /sys/module/weir/parameters/direct")


CONFIGURATION = f"""
networkEndpointGroups:
  - {{name: all, zone: here, endpoints: [{{ipAddress: 10.2.1.2}}]}}
backendServices:
  - {{name: echo, protocol: UDP, backends: [{{group: all}}]}}
forwardingRules:
  - {{name: echo, IPAddress: {VIP4}, IPProtocol: UDP, ports: [53], backendService: echo}}
"""


@contextlib.contextmanager
def weir_running(network, programs):
    """weir's manager and engine in the place of the rule that marks; without health checks, which would be counted too."""
    nft(network.weir, "flush ruleset")
    for mark in MARKS.values():
        sh(f"ip -n {network.weir} rule del fwmark {mark:#x}/{MASK:#x}")
    with tempfile.TemporaryDirectory() as directory:
        os.makedirs(f"{directory}/conf.d")
        for name, text in (("weir.yaml", "flowCache: off\n"), ("conf.d/cost.yaml", CONFIGURATION)):
            with open(f"{directory}/{name}", "w", encoding="ascii") as out:
                out.write(text)
        words = ["--run-dir", directory, "--state-dir", directory]
        with inside(network.weir):
            running = [subprocess.Popen([f"{programs}/{name}", "--config-dir", directory, *words])
                       for name in ("weir-manager", "weir-engine")]
        try:
            wait_for(lambda: "queue" in nft(network.weir, "list ruleset"))
            mac = network.mac()
            blast = f"ip netns exec {network.client} /payload/blast up0 {mac} 10.1.0.2 {VIP4} 64 1"
            wait_for(lambda: sh(blast) == "" and arrivals(network) > 0)
            yield
        finally:
            for process in reversed(running):
                process.send_signal(signal.SIGTERM)
                process.wait(30)


def main():
    sh("modprobe -a ip_vs ip_vs_mh nf_conntrack nft_ct; insmod /payload/weir.ko")
    network = Network()
    figures = {}
    for way in (drop, bare, conntrack, ipvs, module_with_mark, module_direct):
        way(network)
        figures[way.__name__] = cost(network, 0 if way is drop else 1)
    network.delete()
    network = Network()
    with weir_running(network, "/payload/bin"):
        figures["queue"] = cost(network)
    names = {"drop": "dropped at the first hook", "bare": "plain routing", "conntrack": "routing with conntrack",
             "ipvs": "IPVS, direct routing, mh", "queue": "queue, without module", "module_with_mark": "module, mark", "module_direct": "module, direct"}
    print("COST way                          in all   forwarding   of IPVS")
    for name in names:
        figure = figures[name]
        forwarding = figure - figures["drop"]
        print(f"COST {names[name]:28} {figure:7.0f}  {forwarding:10.0f}  {forwarding / (figures['ipvs'] - figures['drop']):8.2f}")
    # In all, the sender's share included: the stricter reading.
    best = min(figures["module_with_mark"], figures["module_direct"])
    return 0 if best <= 0.8 * figures["ipvs"] and best < figures["conntrack"] else 1


if __name__ == "__main__":
    sys.exit(main())
