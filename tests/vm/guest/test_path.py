# SPDX-License-Identifier: GPL-2.0-or-later
"""What the hooks do with real packets."""

import time

import pytest
from conftest import DIRECT, make_service, weir_in
from network import MASK, VIP4, VIP6, counted, nft, sh
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment)
from scapy.packet import Raw


def ip(version, **fields):
    return IP(src="10.1.0.2", dst=VIP4, **fields) if version == 4 else IPv6(src="fd01::2", dst=VIP6, **fields)


def udp(version, sport=1000, dport=53):
    return ip(version) / UDP(sport=sport, dport=dport) / Raw(b"x" * 20)


def tcp(version, flags, sport=2000, dport=80):
    return ip(version) / TCP(sport=sport, dport=dport, flags=flags)


def sent(network, packets):
    """Packets that came to the queue, to b1 and to b2 because of these."""
    before = network.seen()
    network.send(packets)
    return tuple(now - then for now, then in zip(network.seen(), before))


both = pytest.mark.parametrize("version", [4, 6])


@both
def test_only_the_first_packet_of_a_flow_is_queued(network, weir, version):
    assert sent(network, [udp(version)] * 200) == (1, 200, 0)
    counters = weir.counters()
    assert counters["marked"] == 199 and counters["missed"] == 1 and counters["learned"] == 1
    flow, = weir.flows()
    assert (flow["source_port"], flow["destination_port"], flow["protocol"], flow["slot"]) == (1000, 53, 17, 1)
    slots = {m["backends"][0]["slot"]: m["backends"][0]["packets"] for m in weir.dump("backend_get")}
    assert slots == {1: 199, 2: 0}


@both
def test_known_flows_stay_where_they_are_when_the_queue_would_choose_another_or_is_gone(network, weir, version):
    sent(network, [udp(version)])
    network.mark(2)
    assert sent(network, [udp(version)] * 5 + [udp(version, sport=1001)] * 2) == (1, 5, 2)
    network.mark(None)
    assert sent(network, [udp(version)] * 5 + [udp(version, sport=1002)] * 2) == (2, 5, 0)


@both
def test_P1_1_a_syn_is_queued_and_what_it_gets_replaces_the_flow(network, weir, version):
    assert sent(network, [tcp(version, "S")] + [tcp(version, "A")] * 9) == (1, 10, 0)
    network.mark(2)
    assert sent(network, [tcp(version, "A"), tcp(version, "S"), tcp(version, "A")]) == (1, 1, 2)
    assert sent(network, [tcp(version, "SA"), tcp(version, "FA"), tcp(version, "R")]) == (0, 0, 3)
    assert weir.counters()["replaced"] == 1 and len(weir.flows()) == 1


@both
def test_P1_1_a_syn_follows_its_session_without_the_flag(network, weir, version):
    make_service(weir, key=1, flags=0)
    sent(network, [tcp(version, "S")])
    network.mark(2)
    assert sent(network, [tcp(version, "S", sport=7)]) == (0, 1, 0)


@both
@pytest.mark.parametrize("key,kind", [(1, 1), (2, 2), (3, 3)])
def test_P5_coarser_keys_join_what_they_leave_out(network, weir, version, key, kind):
    make_service(weir, key=key, flags=0)
    echo = ip(4) / ICMP() if version == 4 else ip(6) / ICMPv6EchoRequest()
    packets = [udp(version), udp(version, 1001, 54), tcp(version, "A"), echo]
    queued, b1, b2 = sent(network, packets)
    assert (queued, b1, b2) == (3 if key == 1 else 1, 4, 0)
    flows = weir.flows()
    assert {flow["kind"] for flow in flows} == {kind} and len(flows) == queued
    assert ("destination" in flows[0]) == (key < 3)


def fragments(version):
    body = b"\x04\xd2\x00\x35" + bytes(60)  # ports 1234 and 53
    if version == 4:
        return [ip(4, proto=17, flags="MF", id=9) / Raw(body), ip(4, proto=17, frag=8, id=9) / Raw(body)]
    return [ip(6) / IPv6ExtHdrFragment(nh=17, m=1, id=9) / Raw(body), ip(6) / IPv6ExtHdrFragment(nh=17, offset=8, id=9) / Raw(body)]


@both
def test_P8_4_fragments_are_packets_of_their_3_tuple(network, weir, version):
    assert sent(network, fragments(version) * 3) == (1, 6, 0)
    assert [flow["kind"] for flow in weir.flows()] == [1]
    assert sent(network, [udp(version, 1234, 53)])[0] == 1  # another key


@both
def test_P8_2_rules_with_ports_take_first_fragments_and_leave_later_ones(network, weir, version):
    vip = VIP4 if version == 4 else VIP6
    make_service(weir, rules=[{"address": vip, "protocol": 17, "first_port": 50, "last_port": 60}])
    first, later = fragments(version)
    assert sent(network, [first, first, later, later]) == (3, 4, 0)


@both
def test_P8_3_the_most_specific_rule_counts(network, weir, version):
    vip = VIP4 if version == 4 else VIP6
    make_service(weir, 1, rules=[{"address": vip}])
    make_service(weir, 2, rules=[{"address": vip, "protocol": 17}])
    make_service(weir, 3, rules=[{"address": vip, "protocol": 17, "first_port": 53, "last_port": 53}])
    sent(network, [udp(version, dport=53), udp(version, dport=54), tcp(version, "A")])
    assert {flow["destination_port"]: flow["service"] for flow in weir.flows()} == {53: 3, 54: 2, 80: 1}


def test_packets_of_no_rule_are_left_alone(network, weir):
    make_service(weir, rules=[{"address": VIP4, "protocol": 6}])
    assert sent(network, [udp(4)] * 3 + [udp(6)] * 3) == (6, 6, 0)
    assert weir.flows() == [] and weir.counters()["missed"] == 0


def test_P8_6_errors_about_flows_and_neighbour_discovery_are_never_cached(network, weir):
    make_service(weir, key=2, flags=0)
    sent(network, [udp(4), udp(6)])  # their 2-tuples are known, so an error would hit
    error4 = ip(4) / ICMP(type=3, code=4) / IP(src=VIP4, dst="10.1.0.2") / UDP()
    error6 = ip(6) / ICMPv6DestUnreach() / IPv6(src=VIP6, dst="fd01::2") / UDP()
    assert sent(network, [error4, error6])[0] == 2
    assert len(weir.flows()) == 2


def malformed():
    short = bytes(tcp(4, "A"))
    doff = bytearray(short)
    doff[32] = 0x40
    length = bytearray(bytes(udp(4)))
    length[24:26] = b"\x00\x07"
    long = bytearray(bytes(udp(4)))
    long[24:26] = b"\x01\x00"
    return {"data offset below 5": bytes(doff), "UDP length below 8": bytes(length), "UDP length beyond": bytes(long),
            "extension headers": bytes(ip(6) / IPv6ExtHdrDestOpt() / UDP(sport=1000, dport=53)),
            "multicast source": bytes(IP(src="224.0.0.5", dst=VIP4) / UDP(sport=1000, dport=53))}


@pytest.mark.parametrize("name", sorted(malformed()))
def test_P8_7_what_the_engine_must_look_at_goes_to_the_queue(network, weir, name):
    make_service(weir, key=3, flags=0)
    sent(network, [udp(4), udp(6)])
    before = weir.counters()["unusual"]
    network.mark(None)
    assert sent(network, [malformed()[name]]) == (1, 0, 0)
    assert weir.counters()["unusual"] - before == 1


@both
def test_a_backends_epoch_ends_the_flows_of_its_class(network, weir, version):
    sent(network, [udp(version), tcp(version, "A"), ip(version) / Raw(b"?" * 8)])
    assert len(weir.flows()) == 3
    weir("backend_set", service=1, backends=[{"slot": 1, "mark": 0x10000, "epoch_udp": 11, "epoch_other": 11}])
    assert [flow["protocol"] for flow in weir.flows()] == [6]
    network.mark(2)
    assert sent(network, [udp(version), tcp(version, "A")]) == (1, 1, 1)
    # A verdict of before the change teaches nothing that is valid: the service's epoch is the old one.
    network.mark(1)
    assert sent(network, [udp(version, sport=5)] * 3) == (3, 3, 0)
    weir("service_set", service=1, epoch=11)
    assert sent(network, [udp(version, sport=5)] * 3) == (1, 3, 0)


def test_what_is_taken_away_takes_its_flows_with_it(network, weir):
    def relearn():
        return sent(network, [udp(4)] * 3)[0]
    assert relearn() == 1 and relearn() == 0
    weir("flow_del", service=1)
    assert weir.flows() == [] and relearn() == 1
    weir("flow_del", service=1, slot=1)
    assert weir.flows() == [] and relearn() == 1
    weir("flow_del", service=1, slot=2)
    assert relearn() == 0
    flow, = weir.flows()
    key = {name: flow[name] for name in ("service", "kind", "source", "destination", "protocol", "source_port", "destination_port")}
    assert weir("flow_get", flows=[key])["flows"][0]["idle"] < 60000
    weir("flow_del", flows=[key, key | {"source_port": 1}])
    assert weir.flows() == [] and weir("node_get")["flow_count"] < 6 and relearn() == 1
    weir("backend_set", service=1, backends=[{"slot": 1, "mark": 0x30000}])
    assert weir.flows() == [] and sent(network, [udp(4)] * 3)[0] == 3  # the rule's mark is nobody's now
    weir("backend_set", service=1, backends=[{"slot": 1, "mark": 0x10000}])
    assert relearn() == 1
    weir("backend_del", service=1, slot=1)
    assert weir.flows() == [] and sent(network, [udp(4)] * 3)[0] == 3
    weir("service_del", service=1)
    make_service(weir)
    assert weir.flows() == [] and relearn() == 1
    weir("node_del")
    assert sent(network, [udp(4)] * 3) == (3, 3, 0) and weir("node_get")["flow_count"] == 0


def test_P6_1_an_idle_flow_is_none_and_its_memory_comes_back(network, weir):
    make_service(weir, idle_timeout=1)
    assert sent(network, [udp(4)] * 2)[0] == 1
    time.sleep(1.3)
    assert weir.flows() == [] and sent(network, [udp(4)] * 2)[0] == 1
    deadline = time.monotonic() + 60
    while weir("node_get")["flow_count"] and time.monotonic() < deadline:
        time.sleep(0.5)
    assert weir("node_get")["flow_count"] == 0 and weir.counters()["expired"] >= 1


def test_syns_push_nothing_out_of_a_full_table_that_has_seen_more_than_a_syn(network, weir):
    weir("node_set", mark_mask=MASK, max_flows=64)
    for port in range(16):
        sent(network, [tcp(4, "S", 3000 + port), tcp(4, "A", 3000 + port)])
    sent(network, [tcp(4, "S", port) for port in range(5000, 8000)])
    node = weir("node_get")
    assert node["flow_count"] <= 64 and node["counters"]["evicted"] + node["counters"]["unlearned"] > 2000
    kept = [flow for flow in weir.flows() if flow["source_port"] < 4000]
    assert len(kept) == 16, kept
    # Full of flows that have seen more, the table still takes what is more than a SYN itself.
    sent(network, [udp(4, port) for port in range(6000, 7000)])
    evicted = weir.counters()["evicted"]
    sent(network, [tcp(4, "S", port) for port in range(9000, 9050)])
    assert weir.counters()["evicted"] == evicted
    sent(network, [tcp(4, "A", port) for port in range(9000, 9050)])
    assert len([flow for flow in weir.flows() if flow["source_port"] >= 9000]) > 10


@both
def test_direct_transmission_lowers_one_hop_and_skips_forwarding(network, weir, version):
    sh("echo 1 > /sys/module/weir/parameters/direct")
    try:
        make_service(weir, flags=DIRECT)
        hops = {"ttl" if version == 4 else "hlim": 9}
        packet = ip(version, **hops) / UDP(sport=1, dport=2) / Raw(b"y" * 30)
        name, field = ("b1", "ip ttl" if version == 4 else "ip6 hoplimit")
        nft(network.b1, f"table inet seen {{ counter hop {{ }}; chain p {{ type filter hook prerouting priority -501; "
                                f"{field} 8 udp dport 2 counter name hop; }}; }}")
        assert name and sent(network, [packet] * 50) == (1, 50, 0)
        assert counted(network.b1)["hop"] == 50
        counters = weir.counters()
        assert counters["direct"] == 49 and counters["marked"] == 0 and counted(network.weir)["forwarded"] == 1
        # What forwarding must answer goes there: a hop limit that ends, more than the link can carry.
        dying = ip(version, **{next(iter(hops)): 1}) / UDP(sport=1, dport=2) / Raw(b"y" * 30)
        assert sent(network, [dying]) == (0, 0, 0) and weir.counters()["marked"] == 1
        sh(f"ip -n {network.weir} link set b1 mtu 1280")
        unbroken = {"flags": "DF"} if version == 4 else {}
        big = ip(version, **hops, **unbroken) / UDP(sport=1, dport=2) / Raw(b"y" * 1400)
        assert sent(network, [big]) == (0, 0, 0) and weir.counters()["marked"] == 2
        # The route changes, and the next packet goes the new way.
        sh(f"ip -n {network.weir} link set b1 mtu 1500")
        family, via = ("-4", "10.2.2.2") if version == 4 else ("-6", "fd02:2::2")
        sh(f"ip -n {network.weir} {family} route replace default via {via} dev b2 table 101")
        assert sent(network, [packet] * 5) == (0, 0, 5)
    finally:
        sh("echo 0 > /sys/module/weir/parameters/direct")
        nft(network.b1, "table inet seen { }; delete table inet seen")
        for family, via in (("-4", "10.2.1.2"), ("-6", "fd02:1::2")):
            sh(f"ip -n {network.weir} {family} route replace default via {via} dev b1 table 101")


def test_without_the_modules_parameter_nothing_is_direct(network, weir):
    make_service(weir, flags=DIRECT)
    assert sent(network, [udp(4)] * 5) == (1, 5, 0)
    assert weir.counters()["direct"] == 0 and counted(network.weir)["forwarded"] == 5


def test_known_flows_are_untracked_and_keep_the_other_bits_of_a_mark(network, weir):
    nft(network.weir, f"table inet bits {{ counter kept {{ }}; chain early {{ type filter hook prerouting "
       f"priority -470; ip daddr {VIP4} meta mark set 0x123; }}; chain late {{ type filter hook prerouting priority 0; "
       f"ip daddr {VIP4} meta mark 0x10123 ct state untracked counter name kept; }}; }}")
    try:
        nft(network.weir, f"flush chain inet weir pre\ntable inet weir {{ chain pre {{ meta mark & {MASK:#x} != 0 accept; "
                                  f"ip daddr {VIP4} counter name queued notrack meta mark set 0x10123; }}; }}")
        assert sent(network, [udp(4)] * 5) == (1, 5, 0)
        assert counted(network.weir)["kept"] == 5
    finally:
        nft(network.weir, "delete table inet bits")


def test_other_namespaces_know_nothing_of_a_node(network, weir):
    other = weir_in(network.b1)
    assert other("node_get")["mark_mask"] == 0 and weir("node_get")["mark_mask"] == MASK
    assert other.flows() == []
