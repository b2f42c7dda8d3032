# SPDX-License-Identifier: GPL-2.0-or-later
"""The weir node on its network: virtual addresses announced, the host's settings, and the kernel's
fallback while the engine is away."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from lab import HERE, VIP4, VIP6
from resources import web_and_echo

PYTHON = "/usr/bin/python3"


def announced(how, **kwargs):
    """The lab's four backends in two services, every forwarding rule with `announce`."""
    return re.sub(r"(ports: \[\d+\], backendService: \w+)}", rf"\1, announce: {how}}}", web_and_echo(primary=(1, 2, 3, 4), standby=(), **kwargs))


def host_state(lab):
    """All that weir keeps on the host, byte for byte."""
    return lab.kernel_state() + "\n".join(lab.weir.run(*words.split()).stdout for words in (
        "ip nexthop", "ip neigh show proxy", "ip -6 neigh show proxy", "ip addr show dev lo"))


def settings(lab):
    return lab.weir.run("sysctl", "-a", "-r", r"^net\.ipv[46]\.(conf|neigh|ip_forward|fib_multipath)", "--ignore").stdout


def mac(namespace, interface):
    return namespace.run("cat", f"/sys/class/net/{interface}/address").stdout.strip()


def ask(namespace, interface, *addresses):
    """Who answers for each address."""
    lines = namespace.run(PYTHON, f"{HERE}/ask_neighbours.py", interface, *addresses).stdout.splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines}


@pytest.fixture
def serving(make_lab):
    """A lab whose backends serve and whose weir runs with the configuration given."""
    def make(resources, node="", prepare=lambda lab: None):
        lab = make_lab()
        for backend in lab.backends:
            lab.serve(backend)
            lab.echo(backend)
        prepare(lab)
        lab.clean = host_state(lab)
        lab.configure(resources, node)
        lab.start_weir()
        return lab
    return make


def stop_weir(lab):
    for name in ("weir-engine", "weir-manager"):
        assert lab.stop(lab.programs[name]) == 0


def served(lab, vips=(VIP4, VIP6), count=40):
    for vip in vips:
        report = lab.traffic("burst", vip, 80, count)
        assert report["failed"] == 0, report["failures"][:5]


class Hearing:
    """Announcements that the client hears."""

    def __init__(self, lab):
        self.path = f"{lab.directory}/announcements"
        self.out = open(self.path, "wb")
        lab.client.start(PYTHON, f"{HERE}/hear_announcements.py", "up0", stdout=self.out)
        lab.until(lambda: "ready" in self.lines(), 10, "the client listens")

    def lines(self):
        with open(self.path, encoding="utf-8") as text:
            return text.read().splitlines()

    def count(self, address, link):
        return self.lines().count(f"{address} {link}")


def test_announce_arp_answers_on_the_chosen_interface_and_tells_it_unasked(serving):
    def prepare(lab):
        # The client finds the virtual addresses on its link, by asking, and in no other way.
        for family, default in (("", "10.1.0.1"), ("-6 ", "fd01::1")):
            lab.client.ip(f"{family}route del default via {default}")
        lab.client.ip("route add 10.2.0.0/24 via 10.1.0.1")
        lab.client.ip(f"route add {VIP4} dev up0")
        lab.client.ip(f"-6 route add {VIP6} dev up0")
        lab.heard = Hearing(lab)
        lab.settings = settings(lab)
    lab = serving(announced("ARP"), "interfaces: [client0]\nmanageSysctls: true\n", prepare)
    link = mac(lab.weir, "client0")
    for vip in (VIP4, VIP6):
        lab.until(lambda v=vip: lab.heard.count(v, link) >= 2, 5, f"{vip} announced at start, and repeated", lab.tail)
    answers = ask(lab.client, "up0", VIP4, VIP6, "10.9.9.8", "fd09::8")
    assert answers == {VIP4: [link], VIP6: [link, link], "10.9.9.8": [], "fd09::8": []}
    assert ask(lab.backends[0], "eth0", VIP4, VIP6) == {VIP4: [], VIP6: []}, "not on other interfaces"
    served(lab)
    # The kernel alone answers: the manager may be gone.
    lab.stop(lab.programs["weir-manager"], signal.SIGKILL)
    assert ask(lab.client, "up0", VIP4, VIP6) == {VIP4: [link], VIP6: [link, link]}
    lab.program("weir-manager")
    lab.until(lab.ready, 15, "the manager is back", lab.tail)

    before = [lab.heard.count(vip, link) for vip in (VIP4, VIP6)]
    lab.client.ip("link set up0 down")
    lab.client.ip("link set up0 up")
    for vip, count in zip((VIP4, VIP6), before):
        lab.until(lambda v=vip, c=count: lab.heard.count(v, link) > c, 6, f"{vip} announced when the link came back", lab.tail)
    time.sleep(2.5)  # the repetition
    before = [lab.heard.count(vip, link) for vip in (VIP4, VIP6)]
    lab.weirctl("reload", json_output=False)
    for vip, count in zip((VIP4, VIP6), before):
        lab.until(lambda v=vip, c=count: lab.heard.count(v, link) > c, 4, f"{vip} announced after a reload", lab.tail)

    # Withdrawn when no rule announces it, and at the stop.
    lab.configure(announced("ARP").replace(f'IPAddress: "{VIP6}", IPProtocol: TCP, ports: [80], backendService: web, announce: ARP',
                                           f'IPAddress: "{VIP6}", IPProtocol: TCP, ports: [80], backendService: web')
                  .replace(f'IPAddress: "{VIP6}", IPProtocol: UDP, ports: [5353], backendService: echo, announce: ARP',
                           f'IPAddress: "{VIP6}", IPProtocol: UDP, ports: [5353], backendService: echo'),
                  "interfaces: [client0]\nmanageSysctls: true\n")
    lab.weirctl("reload", json_output=False)
    lab.until(lambda: "fd09::9" not in lab.weir.run("ip", "-6", "neigh", "show", "proxy").stdout, 3, "IPv6 withdrawn", lab.tail)
    assert ask(lab.client, "up0", VIP4, VIP6) == {VIP4: [link], VIP6: []}
    stop_weir(lab)
    assert ask(lab.client, "up0", VIP4) == {VIP4: []}
    assert host_state(lab) == lab.clean
    assert settings(lab) == lab.settings


def start_bird(lab, namespace, name, text):
    path = f"{lab.directory}/bird-{name}"
    with open(f"{path}.conf", "w", encoding="utf-8") as out:
        out.write(text)
    namespace.start("bird", "-f", "-c", f"{path}.conf", "-s", f"{path}.ctl", "-P", f"{path}.pid", log=f"{path}.log")
    return lambda *words: namespace.run("birdc", "-s", f"{path}.ctl", *words, check=False).stdout


BIRD = """
log stderr all;
router id {own};
protocol device {{ scan time 1; }}
{kernel}
protocol bgp peer {{
  local {own} as {asn}; neighbor {peer} as {peer_asn};
  connect delay time 1; connect retry time 1; error wait time 1, 2;
  ipv4 {{ {direction}; next hop self; }};
  ipv6 {{ {direction}; next hop address {own6}; }};
}}
"""
KERNEL87 = """
protocol kernel weir4 { kernel table 87; learn; scan time 1; ipv4 { import all; export none; }; }
protocol kernel weir6 { kernel table 87; learn; scan time 1; ipv6 { import all; export none; }; }
"""
KERNEL_MAIN = """
protocol kernel main4 { ipv4 { import none; export all; }; }
protocol kernel main6 { ipv6 { import none; export all; }; }
"""


def test_announce_route_is_learned_by_bird_and_withdrawn_when_no_backend_is_usable(serving):
    def prepare(lab):
        for family, default in (("", "10.1.0.1"), ("-6 ", "fd01::1")):
            lab.client.ip(f"{family}route del default via {default}")
        lab.client.ip("route add 10.2.0.0/24 via 10.1.0.1")
        lab.node_bird = start_bird(lab, lab.weir, "weir", BIRD.format(
            own="10.1.0.1", own6="fd01::1", asn=65001, peer="10.1.0.2", peer_asn=65002, kernel=KERNEL87, direction="import none; export where source = RTS_INHERIT"))
        lab.client_bird = start_bird(lab, lab.client, "client", BIRD.format(
            own="10.1.0.2", own6="fd01::2", asn=65002, peer="10.1.0.1", peer_asn=65001, kernel=KERNEL_MAIN, direction="import all; export none"))
    lab = serving(announced("ROUTE"), prepare=prepare)

    def learned():
        routes = lab.client.run("ip", "route").stdout + lab.client.run("ip", "-6", "route").stdout
        return [vip for vip in (VIP4, VIP6) if re.search(rf"^{re.escape(vip)} via (10\.1\.0\.1|fd01::1)", routes, re.M)]
    lab.until(lambda: learned() == [VIP4, VIP6], 20, "BIRD learned both addresses",
              lambda: lab.node_bird("show", "route") + lab.client_bird("show", "protocols", "all") + lab.tail())
    served(lab)
    for backend in lab.backends:
        lab.stop(lab.servers[backend.short])
    lab.until(lambda: all(lab.health_of("web", b) == "UNHEALTHY" for b in lab.backends), 15, "all unhealthy", lab.tail)
    lab.until(lambda: lab.weir.run("ip", "route", "show", "table", "87", check=False).stdout == "", 2, "the route is withdrawn", lab.tail)
    lab.until(lambda: learned() == [], 3, "BIRD withdrew it", lab.tail)
    lab.serve(lab.backends[0])
    lab.until(lambda: learned() == [VIP4, VIP6], 10, "announced again", lab.tail)
    stop_weir(lab)
    lab.until(lambda: learned() == [], 5, "withdrawn at the stop")
    assert "proto 87" not in host_state(lab)


def check_host(lab):
    done = lab.weir.run(f"{lab.binaries}/weirctl", "check", "--host", lab.config, check=False)
    assert done.returncode in (0, 1)
    return done.returncode, done.stderr


def fixes(text):
    return re.findall(r"^    (sysctl -w .*)$", text, re.M)


WRONG = [
    # (setting, as the host has it, what the message names, command that mends it)
    ("net.ipv4.ip_forward", 0, "forwards no IPv4 packet", "sysctl -w net.ipv4.ip_forward=1"),
    ("net.ipv4.conf.client0.forwarding", 0, "come in by client0", "sysctl -w net.ipv4.conf.client0.forwarding=1"),
    ("net.ipv6.conf.all.forwarding", 0, "forwards no IPv6 packet", "sysctl -w net.ipv6.conf.all.forwarding=1"),
    ("net.ipv4.conf.lan0.rp_filter", 1, "reverse path filter", "sysctl -w net.ipv4.conf.lan0.rp_filter=0"),
    ("net.ipv4.conf.lan0.rp_filter", 2, "reverse path filter", "sysctl -w net.ipv4.conf.lan0.rp_filter=0"),
    ("net.ipv4.conf.all.rp_filter", 1, "reverse path filter", "sysctl -w net.ipv4.conf.all.rp_filter=0"),
    ("net.ipv4.conf.lan0.send_redirects", 1, "ICMP redirect", "sysctl -w net.ipv4.conf.lan0.send_redirects=0"),
    ("net.ipv4.conf.all.send_redirects", 1, "ICMP redirect", "sysctl -w net.ipv4.conf.all.send_redirects=0"),
    ("net.ipv6.conf.client0.proxy_ndp", 0, "solicitations on client0", "sysctl -w net.ipv6.conf.client0.proxy_ndp=1"),
]


def test_check_host_finds_each_wrong_setting_and_names_the_cure(make_lab):
    lab = make_lab()
    lab.configure(announced("ARP"), "interfaces: [client0]\n")
    code, text = check_host(lab)
    assert code == 1
    for line in fixes(text):
        lab.weir.run(*line.split())
    code, text = check_host(lab)
    assert code == 0 and not fixes(text), text
    for name, value, says, cure in WRONG:
        lab.weir.run("sysctl", "-qw", f"{name}={value}")
        code, text = check_host(lab)
        assert code == 1 and says in text and cure in fixes(text), (name, value, text)
        for line in fixes(text):
            lab.weir.run(*line.split())
    code, text = check_host(lab)
    assert code == 0 and not fixes(text), text

    # With an ordinary route to the virtual address the loose filter lets answers pass.
    lab.weir.ip("route add default via 10.1.0.2")
    lab.weir.sysctl(net__ipv4__conf__all__rp_filter=1)
    code, text = check_host(lab)
    assert code == 1 and "sysctl -w net.ipv4.conf.lan0.rp_filter=2" in fixes(text), text
    lab.weir.run(*"sysctl -qw net.ipv4.conf.lan0.rp_filter=2".split())
    assert check_host(lab)[0] == 0

    # Addresses: held here by mistake; answered for by a backend; a backend behind a gateway.
    lab.weir.ip(f"addr add {VIP4}/32 dev lo")
    code, text = check_host(lab)
    assert code == 1 and f"{VIP4} is an address of this host" in text, text
    lab.weir.ip(f"addr del {VIP4}/32 dev lo")
    lab.backends[0].sysctl(net__ipv4__conf__all__arp_ignore=0)
    code, text = check_host(lab)
    assert code == 1 and f"{mac(lab.backends[0], 'eth0')} on lan0 answers for the virtual address {VIP4}" in text, text
    assert "arp_ignore=1" in text
    lab.backends[0].sysctl(net__ipv4__conf__all__arp_ignore=1)
    lab.weir.ip("route add 10.2.0.12/32 via 10.1.0.2")
    code, text = check_host(lab)
    assert code == 1 and "10.2.0.12 is not on a directly connected network" in text, text
    lab.weir.ip("route del 10.2.0.12/32 via 10.1.0.2")
    assert check_host(lab)[0] == 0

    # Reading needs no privilege.
    os.chmod(lab.directory, 0o755)
    done = lab.weir.run("setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all", f"{lab.binaries}/weirctl", "check", "--host", lab.config,
                        "--format", "json", check=False)
    assert done.returncode == 0, done.stderr


def test_managed_settings_make_the_host_fit_and_go_back_to_the_byte_also_after_kill_9(serving):
    def prepare(lab):
        lab.weir.sysctl(net__ipv4__ip_forward=0, net__ipv6__conf__all__forwarding=0, net__ipv4__conf__all__rp_filter=1,
                        net__ipv4__conf__lan0__rp_filter=1, net__ipv4__conf__all__send_redirects=1)
        lab.weir.sysctl(net__ipv6__conf__client0__forwarding=1)  # not as the others
        lab.settings = settings(lab)
    lab = serving(web_and_echo(primary=(1, 2, 3, 4), standby=()), "manageSysctls: true\n", prepare)
    served(lab)
    code, text = check_host(lab)
    assert code == 0, text
    held = dict(line.split(" = ") for line in settings(lab).splitlines() if " = " in line)
    assert held["net.ipv4.conf.lan0.rp_filter"] == held["net.ipv4.conf.all.rp_filter"] == "0"
    assert held["net.ipv4.conf.client0.rp_filter"] == "1", "others keep the filter that they had through conf.all"
    assert held["net.ipv4.ip_forward"] == "0", "only interfaces are changed where that is enough"

    # An interface that appears later is treated as the others.
    lab.weir.ip("link add late0 type veth peer name late1")
    lab.weir.ip("link set late0 up")
    lab.until(lambda: lab.weir.run("sysctl", "-n", "net.ipv4.conf.late0.forwarding").stdout.strip() == "1", 4, "late0 forwards", lab.tail)
    lab.weir.ip("link del late0")

    lab.stop(lab.programs["weir-manager"], signal.SIGKILL)
    lab.program("weir-manager")
    lab.until(lab.ready, 15, "the manager is back", lab.tail)
    served(lab)
    stop_weir(lab)
    assert settings(lab) == lab.settings
    assert host_state(lab) == lab.clean


def even(report, backends):
    assert report["failed"] == 0, report["failures"][:5]
    assert set(report["shares"]) == set(backends), report["shares"]
    share = sum(report["shares"].values()) / len(backends)
    assert all(0.75 * share <= count <= 1.25 * share for count in report["shares"].values()), report["shares"]


def test_fallback_opens_when_the_engine_stays_away_and_closes_when_it_is_back(serving):
    lab = serving(web_and_echo(primary=(1, 2, 3, 4), standby=()), "engineGraceSec: 2\nmanageSysctls: true\n")
    before = host_state(lab)
    served(lab)
    idle = lab.client.start(sys.executable, f"{HERE}/idle_connections.py", VIP4, "80", "40", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    first = idle.stdout.readline().split()
    assert len(first) == 40 and "-" not in first

    # A quick restart does not open it.
    lab.stop(lab.programs["weir-engine"])
    lab.program("weir-engine")
    lab.until(lab.ready, 10, "the engine is back", lab.tail)
    lab.until(lambda: lab.weirctl("status")["fallback"] == {"open": False, "openings": 0}, 2, "the engine is not missed", lab.tail)

    lab.stop(lab.programs["weir-engine"], signal.SIGKILL)
    announced = lab.until(lambda: "opensInSec" in lab.weirctl("status")["fallback"], 1.5, "the engine is missed", lab.tail)
    waited = lab.until(lambda: lab.weirctl("status")["fallback"]["open"], 6, "the fallback is open", lab.tail)
    assert announced + waited >= 1.5, (announced, waited)
    assert "fallback since" in lab.weirctl("status", json_output=False)
    for vip in (VIP4, VIP6):
        even(lab.traffic("burst", vip, 80, 1000), ("b1", "b2", "b3", "b4"))
        even(lab.traffic("udp", vip, 5353, 400), ("b1", "b2", "b3", "b4"))
    # It follows the backends' health, and a manager that is killed finds it open.
    lab.stop(lab.servers["b1"])
    lab.until(lambda: lab.health_of("web", lab.backends[0]) == "UNHEALTHY", 10, "b1 is unhealthy", lab.tail)
    even(lab.traffic("burst", VIP4, 80, 600), ("b2", "b3", "b4"))
    lab.stop(lab.programs["weir-manager"], signal.SIGKILL)
    served(lab)
    lab.program("weir-manager")
    lab.until(lambda: isinstance(s := lab.weirctl("status", check=False), dict) and s["fallback"]["open"], 5, "the manager goes on with it", lab.tail)
    served(lab)
    lab.serve(lab.backends[0])
    lab.until(lambda: lab.health_of("web", lab.backends[0]) == "HEALTHY", 10, "b1 is healthy", lab.tail)

    lab.program("weir-engine")
    lab.until(lambda: not lab.weirctl("status")["fallback"]["open"], 10, "the fallback is closed", lab.tail)
    lab.until(lambda: host_state(lab) == before, 4, "nothing of it is left", lambda: host_state(lab))
    served(lab)
    idle.stdin.write("\n")
    idle.stdin.flush()
    again = idle.stdout.readline().split()
    kept = sum(a == b for a, b in zip(first, again))
    assert all(a == b for a, b in zip(first, again) if a != "b1"), (first, again)
    assert kept >= 20
    stop_weir(lab)
    assert host_state(lab) == lab.clean
