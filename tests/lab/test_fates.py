# SPDX-License-Identifier: GPL-2.0-or-later
"""The soak's checker: what it must accept and, above all, what it must not."""

from fates import Cause, Connection, History, Sample, observed_causes, with_changes

ALL = {"b1": "HEALTHY", "b2": "HEALTHY", "b3": "HEALTHY"}


def samples(*spans, failover=()):
    """A sample every 0.1 s; `spans`: (from, to, states that differ from all being healthy)."""
    return [Sample(t / 10, t / 10 + 0.05, ALL | states, frozenset(failover)) for begin, end, states in spans
            for t in range(int(begin * 10), int(end * 10))]


def history(spans=((0, 60, {}),), causes=(), outages=(), failover=(), **kinds):
    list_ = samples(*spans, failover=failover)
    return History({"web": list_}, list(causes) + observed_causes("web", list_, **kinds), list(outages))


def connection(backend="b1", opened=1.0, last=30.0, ended=None, error=None, **more):
    return Connection("web", backend, opened, [opened + i for i in range(1, int(last - opened) + 1)], ended or last + 1, error, **more)


def test_a_connection_that_lives_needs_no_cause():
    assert history().fate(connection()) == ("lived", "P1.2")


def test_P1_2_a_reset_without_a_cause_is_wrong():
    assert history().fate(connection(error="reset"))[0] == "wrong"
    drain = Cause("P7.1", "web", frozenset(["b1"]), 20, 20)
    assert history(causes=[drain]).fate(connection(error="reset"))[0] == "wrong"  # ten seconds before
    for other in (Cause("P7.1", "web", frozenset(["b2"]), 30.5, 30.5), Cause("P7.1", "mail", frozenset(["b1"]), 30.5, 30.5)):
        assert history(causes=[other]).fate(connection(error="reset"))[0] == "wrong"


def test_P1_2_a_moved_connection_and_one_without_answer_are_wrong():
    cause = Cause("P7.1", "web", frozenset(["b1"]), 30.5, 30.5)
    assert history(causes=[cause]).fate(connection(moved=True))[0] == "wrong"
    assert history(causes=[cause]).fate(connection(error="no answer"))[0] == "wrong"


def test_P7_1_the_end_of_a_drain_explains_a_reset_then_and_forbids_life_afterwards():
    cause = Cause("P7.1", "web", frozenset(["b1"]), 30.5, 30.6)
    assert history(causes=[cause]).fate(connection(error="reset")) == ("ended", "P7.1")
    assert history(causes=[cause]).fate(connection(last=50))[0] == "wrong"
    assert history(causes=[cause]).fate(connection(backend="b2", last=50))[0] == "lived"
    # The engine was away: it ends them when it is back.
    assert history(causes=[cause], outages=[(30, 33)]).fate(connection(last=33, error="reset")) == ("ended", "P7.1")


def test_P6_3_only_services_that_do_not_persist_end_connections_of_an_unhealthy_backend():
    spans = ((0, 30, {}), (30, 40, {"b1": "UNHEALTHY"}), (40, 60, {}))
    assert history(spans, never_persists=True).fate(connection(error="reset", last=29)) == ("ended", "P6.3")
    assert history(spans, never_persists=True).fate(connection(last=50))[0] == "wrong"
    assert history(spans).fate(connection(error="reset", last=29))[0] == "wrong"
    assert history(spans).fate(connection(last=50)) == ("lived", "P1.2")


def test_P6_3_a_failing_backend_that_drains_may_have_turned_unhealthy_before():
    spans = ((0, 30, {}), (30, 40, {"b1": "DRAINING"}), (40, 60, {}))
    for unanswered, fate in (([("b1", 28.5, 40)], "ended"), ([("b2", 28.5, 40)], "wrong"), ([("b1", 35, 40)], "wrong"), ([], "wrong")):
        told = history(spans, never_persists=True, unanswered=unanswered)
        assert told.fate(connection(error="reset", last=29))[0] == fate
        assert told.fate(connection(last=50))[0] == "lived"  # it drains: not to have ended is right as well
        assert history(spans, unanswered=unanswered).fate(connection(error="reset", last=29))[0] == "wrong"


def test_P7_5_a_backend_that_was_unhealthy_before_its_drain_has_not_turned_when_it_comes_back():
    for before, life in (({"b1": "UNHEALTHY"}, "lived"), ({}, "wrong")):
        # Everybody else is unhealthy at first: that is why a connection is at b1 at all (P2.2).
        spans = ((0, 20, {b: "UNHEALTHY" for b in ALL} | ({} if before else {"b1": "HEALTHY"})), (20, 30, {"b1": "DRAINING"}),
                 (30, 60, {"b1": "UNHEALTHY"}))
        assert history(spans, never_persists=True).fate(connection(last=50))[0] == life


def test_what_changed_twice_between_two_samples_is_known_from_the_log():
    spans = ((0, 30, {"b2": "UNHEALTHY", "b3": "UNHEALTHY"}), (30, 60, {"b1": "DRAINING", "b2": "UNHEALTHY", "b3": "UNHEALTHY"}))
    seen = samples(*spans, failover=["b3"])
    filled = with_changes(seen, [(29.96, "b3", "HEALTHY"), (29.97, "b1", "UNHEALTHY"), (29.98, "b3", "UNHEALTHY"), (40, "b1", "HEALTHY")])
    assert len(filled) == len(seen) + 4 - 1  # b1 drains at 40
    assert [s.uses_failover() for s in filled if 29.95 < s.begin < 29.99] == [False, True, False]
    told = History({"web": filled}, observed_causes("web", filled, forgets_on_failover=True), [])
    assert told.fate(connection(error="reset", last=29)) == ("ended", "P6.5")
    assert told.fate(connection(backend="b3", opened=29.97, last=29.9))[0] == "lived"
    assert history(spans, failover=["b3"], forgets_on_failover=True).fate(connection(error="reset", last=29))[0] == "wrong"


def test_P7_2_the_kernel_of_the_next_backend_may_take_a_packet_for_one_of_an_earlier_connection():
    cause = Cause("P7.4", "web", frozenset(["b1"]), 30.5, 30.6)
    lost = connection(error="no answer", ended=120, elsewhere=frozenset(["b2"]))
    assert history(causes=[cause]).fate(lost) == ("ended", "P7.4")
    assert history().fate(lost)[0] == "wrong"
    assert history(causes=[cause]).fate(connection(error="no answer", ended=120))[0] == "wrong"
    late = Cause("P7.4", "web", frozenset(["b1"]), 60, 60.1)
    assert history(causes=[late]).fate(lost)[0] == "wrong"


def test_P6_5_a_switch_between_pools_ends_those_of_the_old_pool():
    down = {"b1": "UNHEALTHY", "b2": "UNHEALTHY"}
    spans = ((0, 30, {}), (30, 40, down), (40, 60, {}))
    for kind, reset, life in ((True, "ended", "wrong"), (False, "wrong", "lived")):
        told = history(spans, failover=["b3"], forgets_on_failover=kind)
        assert told.fate(connection(error="reset", last=29))[0] == reset
        assert told.fate(connection(last=50))[0] == life


def test_P2_a_backend_that_was_not_eligible_is_wrong():
    spans = ((0, 10, {}), (10, 40, {"b1": "UNHEALTHY"}), (40, 60, {}))
    assert history(spans).fate(connection(opened=20))[0] == "wrong"
    assert history(spans).fate(connection(opened=10.5))[0] == "lived"
    assert history(spans).fate(connection(opened=45, last=50))[0] == "lived"
    everybody = {b: "UNHEALTHY" for b in ALL}
    assert history(((0, 60, everybody),)).fate(connection())[0] == "lived"  # P2.2
    assert history(((0, 60, {"b1": "DRAINING"}),)).fate(connection())[0] == "wrong"
    assert history(failover=["b3"]).fate(connection(backend="b3"))[0] == "wrong"


def test_P1_1_only_a_repeated_syn_under_a_changing_set_may_fail():
    spans = ((0, 10, {}), (10, 40, {"b1": "UNHEALTHY"}))
    changing, still = history(spans), history()
    late = Connection("web", None, 9.5, [], 10.6, "reset")
    early = Connection("web", None, 9.9, [], 10.1, "reset")
    assert changing.fate(late) == ("ended", "P1.1")
    assert changing.fate(early)[0] == "wrong"
    assert still.fate(late)[0] == "wrong"
