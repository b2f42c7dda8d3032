# SPDX-License-Identifier: GPL-2.0-or-later
"""The ABI refuses what it does not know, in words, and survives everything."""

import os
import random
import struct
import subprocess
import sys

import pytest
from conftest import make_service, weir_in
from network import MASK, VIP4, wait_for
from weir_genl import BACKEND, COMMANDS, FLOW, NESTED, NLM_F_REQUEST, RULE, TOP, attribute, encode, refused

KEY = {"service": 1, "kind": 0, "source": "10.1.0.2", "destination": VIP4, "protocol": 6, "source_port": 1, "destination_port": 2}


def test_without_a_node_there_is_nothing_to_set(network):
    client = weir_in(network.weir)
    code, words = refused(client, "service_set", service=1, key=0, idle_timeout=60, epoch=1)
    assert code == "ENOTCONN" and "NODE_SET" in words
    assert client("node_get")["mark_mask"] == 0
    client("node_del")


def test_the_version_is_the_projects(network):
    assert weir_in(network.weir)("node_get")["version"] == os.environ["WEIR_VERSION"]


@pytest.mark.parametrize("command,values,code", [
    ("node_set", {"mark_mask": 0, "max_flows": 10}, "ERANGE"),
    ("node_set", {"mark_mask": MASK, "max_flows": 0}, "ERANGE"),
    ("node_set", {"mark_mask": MASK, "max_flows": (1 << 27) + 1}, "ERANGE"),
    ("node_set", {"mark_mask": MASK}, "EINVAL"),
    ("node_set", {"mark_mask": 0xFF, "max_flows": 10}, "EBUSY"),
    ("service_set", {"service": 9, "epoch": 1}, "EINVAL"),
    ("service_set", {"service": 9, "epoch": 1, "key": 4, "idle_timeout": 60}, "ERANGE"),
    ("service_set", {"service": 9, "epoch": 1, "key": 0, "idle_timeout": 57601}, "ERANGE"),
    ("service_set", {"service": 9, "epoch": 1, "key": 0, "idle_timeout": 60, "flags": 4}, "EINVAL"),
    ("service_set", {"service": 1, "epoch": 1, "rules": [{"protocol": 6}]}, "EINVAL"),
    ("service_set", {"service": 1, "epoch": 1, "rules": [{"address": VIP4, "protocol": 6, "first_port": 1}]}, "EINVAL"),
    ("service_set", {"service": 1, "epoch": 1, "rules": [{"address": VIP4, "first_port": 1, "last_port": 2}]}, "EINVAL"),
    ("service_set", {"service": 1, "epoch": 1, "rules": [{"address": VIP4, "protocol": 6, "first_port": 3, "last_port": 2}]},
     "EINVAL"),
    ("service_del", {"service": 9}, "ENOENT"),
    ("service_del", {"service": 1, "slot": 1}, "EINVAL"),
    ("backend_set", {"service": 9, "backends": [{"slot": 1, "mark": 0x10000}]}, "ENOENT"),
    ("backend_set", {"service": 1, "backends": [{"slot": 1, "mark": 1}]}, "ERANGE"),
    ("backend_set", {"service": 1, "backends": [{"slot": 1}]}, "EINVAL"),
    ("backend_set", {"service": 1, "backends": [{"slot": 1, "mark": 0}]}, "ERANGE"),
    ("backend_del", {"service": 1, "slot": 9}, "ENOENT"),
    ("flow_del", {}, "EINVAL"),
    ("flow_del", {"service": 9}, "ENOENT"),
    ("flow_get", {}, "EINVAL"),
    ("flow_get", {"service": 1, "flows": [KEY]}, "EINVAL"),
    ("flow_get", {"flows": [KEY] * 257}, "EINVAL"),
    ("flow_get", {"flows": [{k: v for k, v in KEY.items() if k != "source_port"}]}, "EINVAL"),
    ("flow_get", {"flows": [KEY | {"kind": 3}]}, "EINVAL"),
    ("flow_get", {"flows": [KEY | {"source": "fd01::2"}]}, "EINVAL"),
    ("node_get", {"service": 1}, "EINVAL"),
])
def test_values_out_of_range_and_missing_ones_are_refused(weir, command, values, code):
    before = weir.dump("service_get"), [m | {"backends": None} for m in weir.dump("backend_get")]
    assert refused(weir, command, **values)[0] == code
    assert (weir.dump("service_get"), [m | {"backends": None} for m in weir.dump("backend_get")]) == before


def test_unknown_and_malformed_attributes_are_refused(weir):
    service = attribute(TOP["service"][0], struct.pack("=H", 1)) + attribute(TOP["epoch"][0], struct.pack("=I", 1))
    for name, extra in {
        "an attribute nobody knows": attribute(99, b"1234"),
        "one of another command": attribute(TOP["slot"][0], struct.pack("=H", 1)),
        "one of answers only": attribute(TOP["flow_count"][0], struct.pack("=I", 1)),
        "too long": attribute(TOP["flags"][0], bytes(8)),
        "too short": attribute(TOP["flags"][0], bytes(2)),
        "an array without the flag": attribute(TOP["rules"][0], encode(RULE, {"address": VIP4})),
        "an unknown one in an array": attribute(TOP["rules"][0] | NESTED, attribute(1 | NESTED, attribute(77, b"1234"))),
        "bytes behind the last": b"\1\0\0",
    }.items():
        assert refused(weir.raw, "service_set", service + extra), name
    weir.raw("service_set", service)


def test_everything_needs_the_capability_in_the_namespaces_user_namespace(network, weir):
    script = ("import sys; sys.path.insert(0, '/payload/guest')\n"
              "from weir_genl import Weir, COMMANDS, refused\n"
              "weir = Weir()\n"
              "print(sorted({(refused(weir, command) or ('accepted',))[0] for command in COMMANDS if command[-3:] != 'get'"
              " or command in ('node_get', 'flow_get')}))")
    as_nobody = f"ip netns exec {network.weir} setpriv --reuid=65534 --regid=65534 --clear-groups {sys.executable} -c"
    assert subprocess.check_output(as_nobody.split() + [script], text=True).strip() == "['EPERM']"
    # Who made the namespace's user namespace is root there, and may.
    own = f"setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net {sys.executable} -c"
    assert "EPERM" not in subprocess.check_output(own.split() + [script], text=True)


def test_a_user_namespaces_root_gets_a_small_table_only(weir):
    script = ("import sys; sys.path.insert(0, '/payload/guest')\n"
              "from weir_genl import Weir\n"
              "weir = Weir(); weir('node_set', mark_mask=1, max_flows=1 << 27); print(weir('node_get')['max_flows'])")
    own = f"setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net {sys.executable} -c"
    assert subprocess.check_output(own.split() + [script], text=True).strip() == "65536"
    weir("node_set", mark_mask=MASK, max_flows=1 << 27)
    assert weir("node_get")["max_flows"] == 1 << 27


def test_a_dump_tells_every_flow_once(network, weir):
    weir("node_set", mark_mask=MASK, max_flows=100000)
    blast = f"ip netns exec {network.client} /payload/blast up0 {network.mac()} 10.1.0.2 {VIP4} 20000 20000"
    subprocess.run(blast.split(), check=True)
    wait_for(lambda: weir("node_get")["flow_count"] == 20000)
    flows = [(flow["source"], flow["source_port"], flow["destination_port"]) for flow in weir.flows()]
    assert len(flows) == len(set(flows)) == 20000


def random_attribute(dice, depth=0):
    table = dice.choice((TOP, RULE, BACKEND, FLOW))
    number, kind = dice.choice(list(table.values()))
    if dice.random() < 0.05:
        number = dice.randrange(0, 40)
    if isinstance(kind, list) and dice.random() < 0.9 and depth < 3:
        items = b"".join(attribute(1 | NESTED, b"".join(random_attribute(dice, depth + 1) for _ in range(dice.randrange(5))))
                         for _ in range(dice.randrange(4)))
        return attribute(number | (NESTED if dice.random() < 0.95 else 0), items)
    sizes = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "address": dice.choice((4, 16))}
    size = sizes.get(kind if isinstance(kind, str) else "", 4) if dice.random() < 0.9 else dice.randrange(0, 20)
    value = dice.randbytes(size) if dice.random() < 0.5 else dice.randrange(0, 3).to_bytes(max(size, 1), "little")[:size]
    return attribute(number, value)


def valid(dice):
    """Most of the time what a sane program would send, so that there is something to break."""
    number = dice.randrange(3)
    key = {"service": number, "kind": 3, "source": "10.1.0.2"}
    return dice.choice((
        ("node_set", {"mark_mask": MASK, "max_flows": dice.randrange(1, 2000)}),
        ("service_set", {"service": number, "key": dice.randrange(4), "idle_timeout": dice.randrange(1, 5), "epoch": dice.randrange(9),
                         "flags": dice.randrange(4), "rules": [{"address": VIP4, "protocol": dice.choice((0, 6, 17))}]}),
        ("service_del", {"service": number}),
        ("backend_set", {"service": number, "backends": [{"slot": dice.randrange(3), "mark": dice.choice((0x10000, 0x20000))}]}),
        ("backend_del", {"service": number, "slot": dice.randrange(3)}),
        ("flow_del", {"service": number}), ("flow_del", {"flows": [key, KEY]}), ("flow_get", {"flows": [KEY, key]}),
    ))


def test_random_messages_under_traffic_do_no_harm(network, weir):
    """Valid, invalid and truncated ones; what would be wrong is in the kernel's log, which the harness reads."""
    count = int(os.environ.get("WEIR_FUZZ_MESSAGES", "100000"))
    dice = random.Random(int(os.environ.get("WEIR_FUZZ_SEED", "9")))
    blast = f"ip netns exec {network.client} /payload/blast up0 {network.mac()} 10.1.0.2 {VIP4} 1000000000 3000 500"
    traffic = subprocess.Popen(blast.split())
    weir.socket.setblocking(False)
    names = list(COMMANDS)
    accepted = 0
    try:
        for _ in range(count):
            if dice.random() < 0.5:
                command, values = valid(dice)
                payload = encode(TOP, values)
            else:
                command = dice.choice(names)
                payload = b"".join(random_attribute(dice) for _ in range(dice.randrange(6)))
            if dice.random() < 0.1:
                payload = payload[:dice.randrange(len(payload) + 1)]
            flags = NLM_F_REQUEST | (4 if dice.random() < 0.2 else 0) | (0x300 if dice.random() < 0.02 else 0)
            body = struct.pack("=BBH", COMMANDS[command] if dice.random() < 0.98 else dice.randrange(256), 1, 0) + payload
            try:
                weir.send(weir.family, body, flags)
            except OSError:
                pass
            try:
                while answer := weir.socket.recv(1 << 16):
                    accepted += answer[4:6] != b"\2\0"
            except OSError:
                pass
        assert accepted > count // 100
        # Whatever the last messages left behind: it can be told to begin anew, and works.
        fresh = weir_in(network.weir)
        fresh("node_del")
        fresh("node_set", mark_mask=MASK, max_flows=10000)  # more than there are, so that none gives way
        make_service(fresh)
        wait_for(lambda: fresh.counters()["learned"] > 0 and fresh.counters()["marked"] > 0)
    finally:
        traffic.kill()
        traffic.wait()
    fresh("node_del")
    assert fresh("node_get")["flow_count"] == 0
