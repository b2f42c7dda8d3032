# SPDX-License-Identifier: GPL-2.0-or-later
"""Ends and resets, both ways, with real programs (X5.2): an end is passed on after the last byte and the other direction
goes on; a reset arrives as a reset and never as an end; nobody's bytes are lost before an end."""

import json
import sys

import proxy_lab
import pytest
from dialogue_server import pattern
from hashlib import sha256
from lab import HERE

KB, MB = 1024, 1024 * 1024
ALL = "read all"

# Name: (client's steps, server's steps, what the client sees, what the server sees); seen: (bytes, how it ended), None:
# whatever number. The proxy may know of a reset before it has passed on what came before it only where the peer that
# reset had unread bytes; these dialogues read everything first.
DIALOGUES = {
    "client ends, server answers": (["end", ALL], [ALL, {"send": 1000}], (1000, "end"), (0, "end")),
    "client ends, server answers late": (["end", ALL], [ALL, {"wait": 2}, {"send": MB}], (MB, "end"), (0, "end")),
    "much, then the client's end": ([{"send": 4 * MB}, "end", ALL], [ALL, {"send": 10}], (10, "end"), (4 * MB, "end")),
    "server ends first, client goes on": ([ALL, {"wait": 1}, {"send": MB}], [{"send": 10}, "end", ALL], (10, "end"), (MB, "end")),
    "server ends at once": ([ALL], ["end"], (0, "end"), None),
    "both end without a byte": (["end", ALL], ["end", ALL], (0, "end"), (0, "end")),
    "both send much and end": ([{"send": 100 * KB}, "end", ALL], [{"send": 100 * KB}, "end", ALL], (100 * KB, "end"), (100 * KB, "end")),
    "an end in the middle of the other's stream": (["end", ALL], [{"send": 3 * MB}, {"wait": 0.5}, {"send": 3 * MB}], None, None),
    "half-closed for a while": (["end", {"wait": 3}, ALL], [{"wait": 4}, {"send": 5}], (5, "end"), None),
    "client resets, server reads": ([{"send": 10}, {"wait": 0.3}, "reset"], [ALL], None, (10, "reset")),
    "client resets after much": ([{"send": MB}, {"read": 1}, {"wait": 0.2}, "reset"], [{"read": MB}, {"send": 1}, ALL], None, (MB, "reset")),
    "client resets before a byte": ([{"wait": 0.3}, "reset"], [ALL], None, (0, "reset")),
    "client resets after its end": (["end", {"wait": 0.3}, "reset"], [{"wait": 1}, {"send": KB}, {"wait": 1}, {"send": KB}, ALL], None, None),
    "client resets while the server sends": ([{"read": KB}, "reset"], [{"send": 8 * MB}, ALL], None, (0, "reset")),
    "server resets, client reads": ([ALL], [{"send": 10}, {"wait": 0.3}, "reset"], (10, "reset"), None),
    "server resets after much": ([{"read": MB}, {"send": 1}, ALL], [{"send": MB}, {"read": 1}, {"wait": 0.2}, "reset"], (MB, "reset"), None),
    "server resets at once": ([ALL], ["reset"], (0, "reset"), None),
    "server resets after its end": ([ALL, {"wait": 1}, {"send": 10}, {"wait": 1}, {"send": 10}], ["end", {"wait": 0.5}, "reset"], (0, None), None),
    "server resets while the client sends": ([{"send": 16 * MB}, ALL], [{"read": KB}, "reset"], (0, "reset"), None),
    "server closes with bytes unread": ([{"send": 300 * KB}, {"wait": 0.5}, ALL], [{"read": 10}, {"wait": 0.2}], (0, "reset"), None),
}


@pytest.fixture(scope="module")
def played(module_lab):
    lab = module_lab(backends=1)
    proxy_lab.serve(lab.backends[0], "dialogue_server.py", "9000", f"{lab.directory}/seen")
    proxy_lab.start(lab, proxy_lab.one_backend(service="timeoutSec: 20, logConfig: {enable: true}"))
    script = {name: {"client": client, "server": at_server} for name, (client, at_server, _, _) in DIALOGUES.items()}
    done = lab.client.run(sys.executable, f"{HERE}/play_dialogues.py", proxy_lab.FRONT4, "80", input=json.dumps(script), timeout=60)
    lab.at_client = json.loads(done.stdout)

    def at_server():
        with open(f"{lab.directory}/seen", encoding="utf-8") as seen:
            return {each["id"]: each for each in map(json.loads, seen)}
    lab.until(lambda: len(at_server()) == len(DIALOGUES), 20, "the server has seen the end of every dialogue",
              lambda: str(set(DIALOGUES) - set(at_server())))
    lab.at_server = at_server()
    return lab


def check(seen, expected, sent):
    if expected is None:
        return
    count, end = expected
    assert end is None or seen["end"] == end, seen
    assert seen["bytes"] == count, seen
    assert seen["sha256"] == sha256(b"".join(map(pattern, sent))[:count]).hexdigest()


@pytest.mark.parametrize("name", DIALOGUES)
def test_X5_2_ends_and_resets_arrive_as_what_they_are(played, name):
    client, server, at_client, at_server = DIALOGUES[name]
    sent = [[step["send"] for step in steps if isinstance(step, dict) and "send" in step] for steps in (client, server)]
    check(played.at_client[name], at_client, sent[1])
    check(played.at_server[name], at_server, sent[0])
    assert "nothing" not in (played.at_client[name]["end"], played.at_server[name]["end"])


def test_X5_2_an_end_while_the_other_still_sends_loses_nothing(played):
    seen = played.at_client["an end in the middle of the other's stream"]
    assert (seen["bytes"], seen["end"]) == (6 * MB, "end")
    assert seen["sha256"] == sha256(pattern(3 * MB) * 2).hexdigest()


def test_X5_1_nothing_is_left_open(played):
    # A reset of one side is passed on as soon as the other has what came before it: nothing waits for the idle time.
    played.until(lambda: proxy_lab.metric(played, "weir_proxy_connections") == 0, 5, "all connections are over", played.tail)
    reasons = [line.get("REASON") for line in proxy_lab.access_log(played)]
    assert len(reasons) == len(DIALOGUES) and "connection_timeout" not in reasons, reasons


def test_X5_1_who_is_half_closed_may_be_silent_and_who_is_gone_is_found_long_before_the_idle_time(make_lab):
    lab = make_lab(backends=1)
    proxy_lab.serve(lab.backends[0], "dialogue_server.py", "9000", f"{lab.directory}/seen")
    proxy_lab.start(lab, proxy_lab.one_backend(service="timeoutSec: 600, logConfig: {enable: true}"),
                    "proxy: {keepaliveIdleSec: 1, keepaliveIntervalSec: 1}\n")
    # A host forgets a connection that a program has closed a while after its own end.
    lab.client.sysctl(net__ipv4__tcp_fin_timeout=1)
    script = {
        # Nobody reads any more: after an end it is only the host's answers to keepalive that tell the two apart.
        "gone": {"client": ["end"], "server": [ALL, {"wait": 30}]},
        "half-closed": {"client": ["end", ALL], "server": [ALL, {"wait": 9}, {"send": 1000}]},
    }
    done = lab.client.run(sys.executable, f"{HERE}/play_dialogues.py", proxy_lab.FRONT4, "80", input=json.dumps(script), timeout=60)
    seen = json.loads(done.stdout)
    assert (seen["half-closed"]["bytes"], seen["half-closed"]["end"]) == (1000, "end")
    lab.until(lambda: proxy_lab.metric(lab, "weir_proxy_connections") == 0, 5, "the one that was gone is over", lab.tail)
    assert sorted(line.get("DETAIL", "") for line in proxy_lab.access_log(lab)) == ["", "client_reset"]
