# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab with weir as a route's next hop.

The lab's backends are appliances: they forward what they get and send it back to the weir node.
Fifty servers, 198.51.100.1 to .50 and fd51::1 to ::50, stand behind the weir node on a further
network, 10.3.0.0/24 and fd03::/64. Both directions are routes of weir's.
"""

import json
import sys

from lab import HERE, VIP4, VIP6, run

SERVERS, PREFIX4, PREFIX6 = 50, "198.51.100", "fd51"
# What an appliance forwards, by connection and direction. `all` counts packets of the two ranges.
COUNTERS = """
table inet seen {
  set out4 { type inet_proto . inet_service . ipv4_addr; size 65535; flags dynamic; }
  set back4 { type inet_proto . inet_service . ipv4_addr; size 65535; flags dynamic; }
  set out6 { type inet_proto . inet_service . ipv6_addr; size 65535; flags dynamic; }
  set back6 { type inet_proto . inet_service . ipv6_addr; size 65535; flags dynamic; }
  chain forward { type filter hook forward priority 0;
    meta l4proto { tcp, udp } ip daddr 198.51.100.0/24 add @out4 { meta l4proto . th sport . ip daddr }
    meta l4proto { tcp, udp } ip saddr 198.51.100.0/24 add @back4 { meta l4proto . th dport . ip saddr }
    meta l4proto { tcp, udp } ip6 daddr fd51::/64 add @out6 { meta l4proto . th sport . ip6 daddr }
    meta l4proto { tcp, udp } ip6 saddr fd51::/64 add @back6 { meta l4proto . th dport . ip6 saddr }
    ip protocol icmp counter comment "icmp"
    ip protocol gre counter comment "gre"
    ip6 nexthdr ipv6-icmp counter comment "icmp6"
    counter comment "all"
  }
}
"""


def fw_resources(appliances=(1, 2, 3), persistence="DEFAULT_FOR_PROTOCOL", routes=None, interval_s=1):
    endpoints = ", ".join(f'{{ipAddress: 10.2.0.{10 + n}, ipv6Address: "fd02::{10 + n}"}}' for n in appliances)
    routes = routes or [("out4", f"{PREFIX4}.0/24", "fw4"), ("back4", "10.1.0.0/16", "fw4"),
                        ("out6", f"{PREFIX6}::/64", "fw6"), ("back6", "fd01::/48", "fw6")]
    text = f"""
healthChecks:
  - {{name: fw-hc, type: TCP, checkIntervalSec: {interval_s}, timeoutSec: 1, tcpHealthCheck: {{port: 80}}}}
networkEndpointGroups:
  - {{name: fw, zone: zone-a, endpoints: [{endpoints}]}}
backendServices:
  - name: fw
    loadBalancingScheme: INTERNAL
    protocol: TCP
    healthChecks: [fw-hc]
    connectionTrackingPolicy: {{connectionPersistenceOnUnhealthyBackends: {persistence}}}
    backends: [{{group: fw}}]
forwardingRules:
  - {{name: fw4, loadBalancingScheme: INTERNAL, IPAddress: {VIP4}, IPProtocol: TCP, ports: [80], backendService: fw}}
  - {{name: fw6, loadBalancingScheme: INTERNAL, IPAddress: "{VIP6}", IPProtocol: TCP, ports: [80], backendService: fw}}
routes:
"""
    for name, destination, rule in routes:
        text += f'  - {{name: {name}, destRange: "{destination}", nextHopIlb: {rule}}}\n'
    return text


class NextHopLab:
    """Wraps a Lab of three backends. `two_armed`: the appliances send back over a network of their
    own, 10.4.0.0/24 and fd04::/64."""

    def __init__(self, lab, two_armed=False):
        self.lab, self.weir, self.client = lab, lab.weir, lab.client
        self.appliances = lab.backends
        self._add_servers()
        for appliance in self.appliances:
            appliance.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1,
                             net__ipv4__conf__all__rp_filter=0, net__ipv4__conf__default__rp_filter=0,
                             net__ipv4__conf__all__send_redirects=0)
            appliance.run("nft", "-f", "-", input=COUNTERS)
            lab.serve(appliance)
        if two_armed:
            self._add_second_arms()

    def _add_servers(self):
        servers = self.servers = self.lab.add("servers")
        servers.short, servers.address4 = "servers", "10.3.0.2"
        self.lab.link(servers, "eth0", "10.3.0.2/24", "fd03::2/64", self.weir, "srv0", "10.3.0.1/24", "fd03::1/64")
        commands = "".join(f"addr add {PREFIX4}.{n}/32 dev lo\naddr add {PREFIX6}::{n}/128 dev lo nodad\n"
                           for n in range(1, SERVERS + 1))
        run("ip", "-n", servers.name, "-batch", "-", input=commands)
        servers.ip("route add default via 10.3.0.1")
        servers.ip("-6 route add default via fd03::1")
        self.weir.ip(f"route add {PREFIX4}.0/24 via 10.3.0.2")
        self.weir.ip(f"-6 route add {PREFIX6}::/64 via fd03::2")
        # What comes from and goes to the servers and the client for the first time.
        self.weir.run("nft", "-f", "-", input="""table inet entering { chain pre { type filter hook prerouting priority -500;
            iifname "client0" ip daddr 198.51.100.0/24 counter
            iifname "client0" ip6 daddr fd51::/64 counter
            iifname "srv0" ip daddr 10.1.0.0/16 counter
            iifname "srv0" ip6 daddr fd01::/48 counter
        }
        }
        """)
        self.lab.serve(servers)
        self.lab.echo(servers)

    def _add_second_arms(self):
        switch = self.lab.namespaces["switch"]
        switch.ip("link add br1 type bridge")
        switch.ip("link set br1 up")
        for index, host in enumerate([self.weir] + self.appliances):
            number = 1 if index == 0 else 10 + index
            name = "out0" if index == 0 else "eth1"
            self.lab.link(host, name, f"10.4.0.{number}/24", f"fd04::{number}/64", switch, f"q{index}", None, None)
            switch.ip(f"link set q{index} master br1")
        for appliance in self.appliances:
            appliance.ip("route replace default via 10.4.0.1")
            appliance.ip("-6 route replace default via fd04::1")

    def traffic(self, *words, background=False):
        command = (sys.executable, f"{HERE}/many_servers.py", words[0], PREFIX4, PREFIX6, str(SERVERS)) + tuple(
            str(w) for w in words[1:])
        if background:
            return self.client.start(*command, stdout=-1, stderr=None)
        return json.loads(self.client.run(*command).stdout)

    def seen(self, appliance, direction):
        """(protocol, client port, server) of every connection that the appliance forwarded."""
        found = set()
        for family in "46":
            listing = json.loads(appliance.run("nft", "-j", "list", "set", "inet", "seen", direction + family).stdout)
            for item in listing["nftables"]:
                for element in item.get("set", {}).get("elem", []):
                    element = element.get("elem", {}).get("val", element)
                    found.add(tuple(element["concat"]))
        return found

    def forwarded(self, comment="all"):
        """Packets that the appliances forwarded, by the comment of the counter."""
        total = 0
        for appliance in self.appliances:
            for rule in rules_of(appliance, "seen"):
                if rule.get("comment") == comment:
                    total += counter_in(rule)
        return total

    def entered(self):
        return sum(counter_in(rule) for rule in rules_of(self.weir, "entering"))

    def reset(self):
        for appliance in self.appliances:
            appliance.run("nft", "-f", "-", input="flush ruleset\n" + COUNTERS)
        self.weir.run("nft", "reset", "counters")


def rules_of(host, table):
    listing = json.loads(host.run("nft", "-j", "list", "table", "inet", table).stdout)
    return [item["rule"] for item in listing["nftables"] if "rule" in item]


def counter_in(rule):
    return next(e["counter"]["packets"] for e in rule["expr"] if "counter" in e)
