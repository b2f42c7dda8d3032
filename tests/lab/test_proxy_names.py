# SPDX-License-Identifier: GPL-2.0-or-later
"""Backends that are DNS names (X3.1), with a name server of the lab's own."""

import json
import os
import subprocess
import sys
import time

import proxy_lab
from lab import HERE

NODE = "proxy: {nameServers: [10.2.0.13], dnsMinTtlSec: 1, dnsMaxTtlSec: 2}\n"
RESOURCES = """
networkEndpointGroups:
  - {name: far, networkEndpointType: INTERNET_FQDN_PORT, endpoints: [{fqdn: Web.Example.com, port: 80}]}
backendServices:
  - {name: shop, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, logConfig: {enable: true}, SELECTION
     backends: [{group: far, balancingMode: CONNECTION, maxConnections: 1000}]}
targetTcpProxies: [{name: front, service: shop}]
forwardingRules:
  - {name: v4, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.8.8.8, IPProtocol: TCP, ports: [80], target: front}
"""


class Names:
    """The lab's name server on b3; what it says is changed by `say`."""

    def __init__(self, lab):
        self.lab, self.path, self.log = lab, f"{lab.directory}/names.json", f"{lab.directory}/questions"
        self.say(A=["10.2.0.11"])
        self.serve()

    def serve(self):
        open(self.log, "wb").close()
        self.process = self.lab.backends[2].start(sys.executable, f"{HERE}/dns_server.py", "10.2.0.13", self.path, log=self.log)
        self.lab.until(lambda: os.path.getsize(self.log) > 0, 5, "the name server is ready")

    def say(self, **answer):
        with open(f"{self.path}.new", "w", encoding="utf-8") as out:
            json.dump({"web.example.com": {"ttl": 1, **answer}}, out)
        os.replace(f"{self.path}.new", self.path)

    def questions(self):
        with open(self.log, encoding="utf-8") as lines:
            return lines.read().count("web.example.com A\n")


def named(make_lab, selection=""):
    lab = make_lab(backends=3)
    for backend in lab.backends[:2]:
        lab.serve(backend)
    lab.names = Names(lab)
    return proxy_lab.start(lab, RESOURCES.replace("SELECTION", selection), NODE)


def who(lab):
    """The backend that answers, and the address it was called at."""
    done = lab.client.run("curl", "-s", "-m", "5", f"http://{proxy_lab.FRONT4}/", check=False)
    words = done.stdout.split()
    return (words[0], words[2]) if len(words) == 3 else None


def test_X3_1_names_are_served_from_the_first_client_on_and_followed_by_their_ttl(make_lab):
    lab = named(make_lab)
    assert who(lab) == ("b1", "10.2.0.11")  # no client comes before the name is known
    # One connection stays open over the change: it goes on, while new ones go to the new address.
    with held(lab) as ask:
        assert ask() == "b1"
        lab.names.say(A=["10.2.0.12"])
        lab.until(lambda: who(lab) == ("b2", "10.2.0.12"), 6, "the new address is used", lab.tail)
        assert {who(lab) for _ in range(10)} == {("b2", "10.2.0.12")}
        assert ask() == "b1"
    lines = [line for line in proxy_lab.access_log(lab) if "BACKEND" in line]
    assert {line["BACKEND"] for line in lines} == {"web.example.com:80"} and {line["GROUP"] for line in lines} == {"far"}
    # By the TTL of a second, not by every connection.
    before, begin = lab.names.questions(), time.monotonic()
    for _ in range(30):
        who(lab)
    time.sleep(1.5)
    assert 1 <= lab.names.questions() - before <= time.monotonic() - begin + 2


class held:
    """A client's connection that stays open: calling it asks for the backend's name."""

    PROGRAM = """
import socket, sys
sock = socket.create_connection((sys.argv[1], 80), timeout=5)
for line in sys.stdin:
    sock.sendall(b"GET / HTTP/1.1\\r\\nHost: lab\\r\\n\\r\\n")
    print(sock.recv(4096).split(b"\\r\\n\\r\\n")[1].split()[0].decode(), flush=True)
"""

    def __init__(self, lab):
        self.process = lab.client.start(sys.executable, "-c", self.PROGRAM, proxy_lab.FRONT4, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=None, text=True)

    def __enter__(self):
        return self

    def __call__(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)


def test_X3_1_the_last_good_answer_is_kept_when_the_name_server_fails(make_lab):
    lab = named(make_lab)
    assert who(lab) == ("b1", "10.2.0.11")
    for failure in ({"rcode": 2}, {"rcode": 3}, {"A": []}, None):
        if failure is None:
            lab.stop(lab.names.process)
        else:
            lab.names.say(**failure)
        time.sleep(2.5)
        assert {who(lab) for _ in range(5)} == {("b1", "10.2.0.11")}, failure
    lab.until(lambda: proxy_lab.metric(lab, "weir_proxy_dns_names", state="failing") == 1, 8, "the failure is counted")
    assert proxy_lab.metric(lab, "weir_proxy_dns_failures_total") > 0
    assert sum("cannot resolve the name of a backend; going on" in line for line in proxy_lab.log_lines(lab)) == 1
    lab.names.say(A=["10.2.0.12"])
    lab.names.serve()
    lab.until(lambda: who(lab) == ("b2", "10.2.0.12"), 15, "the name server is asked again", lab.tail)


def test_X1_3_of_both_families_the_policy_chooses_and_X3_3_who_refuses_is_passed_over(make_lab):
    lab = named(make_lab)
    lab.names.say(A=["10.2.0.11"], AAAA=["fd02::11"])
    for selection, expected in (("", "10.2.0.11"), ("ipAddressSelectionPolicy: PREFER_IPV6,", "fd02::11"),
                                ("ipAddressSelectionPolicy: IPV6_ONLY,", "fd02::11")):
        lab.configure(RESOURCES.replace("SELECTION", selection), NODE)
        lab.weirctl("reload", json_output=False)
        lab.until(lambda: who(lab) == ("b1", expected), 6, "the address of the chosen family is used", lab.tail)
    # A name that has one family only is reached by that one.
    lab.names.say(A=["10.2.0.12"])
    lab.until(lambda: who(lab) == ("b2", "10.2.0.12"), 6, "the only family is used", lab.tail)
    lab.names.say(A=["10.2.0.11", "10.2.0.12"])
    lab.until(lambda: {who(lab) for _ in range(12)} == {("b1", "10.2.0.11"), ("b2", "10.2.0.12")}, 15, "both are used", lab.tail)
    lab.stop(lab.servers["b1"])
    assert {who(lab) for _ in range(12)} == {("b2", "10.2.0.12")}


def test_X3_1_a_name_that_nobody_knows_closes_the_client_and_holds_nobody_up(make_lab):
    lab = make_lab(backends=3)
    lab.names = Names(lab)
    lab.names.say(rcode=3)
    proxy_lab.start(lab, RESOURCES.replace("SELECTION", ""), NODE)
    assert who(lab) is None
    lab.until(lambda: proxy_lab.access_log(lab), 3, "it is in the log")
    line = proxy_lab.access_log(lab)[0]
    assert (line["REASON"], line["DETAIL"]) == ("destination_unavailable", "failed_to_pick_backend")
    lab.serve(lab.backends[0])
    lab.names.say(A=["10.2.0.11"])
    lab.until(lambda: who(lab) == ("b1", "10.2.0.11"), 8, "it is served once it is known", lab.tail)
