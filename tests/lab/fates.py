# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rule explains what became of a connection: pure, so that it can be tested without packets.

A history has, in seconds of one clock,
  samples  {service: [Sample]}: what the manager said of the service, in order
  causes   [Cause]: what happened that may end connections
  outages  [(begin, end)]: when the engine was not there to do what it had been told
A cause begins to act at `begin` and has surely acted at `end`; what the engine could not do then it does when it is back.
"""

import bisect
import dataclasses

SLACK_S = 1.0
# A repeated SYN is a new connection (P1.1); the kernel repeats it after a second.
SYN_REPEATED_S = 0.9


@dataclasses.dataclass
class Sample:
    """`states`: {backend: HEALTHY, UNHEALTHY or DRAINING}; `failover`: backends of failover groups."""
    begin: float
    end: float
    states: dict
    failover: frozenset = frozenset()

    def eligible(self):
        """P2 without a ratio and without dropTrafficIfUnhealthy."""
        members = {b: state for b, state in self.states.items() if state != "DRAINING"}
        primaries = {b for b in members if b not in self.failover}
        healthy = {b for b, state in members.items() if state == "HEALTHY"}
        if not self.failover:
            return healthy or primaries  # P2.1, P2.2
        return (healthy & primaries) or (healthy - primaries) or primaries  # P2.5, P2.3, P2.9

    def uses_failover(self):
        return bool(self.eligible() & self.failover)


@dataclasses.dataclass
class Cause:
    """`until`: when the backend may be used again (then nothing is proved by a connection that lives)."""
    rule: str
    service: str
    backends: frozenset
    begin: float
    end: float
    until: float = float("inf")


@dataclasses.dataclass
class Connection:
    service: str
    backend: str
    opened: float
    answers: list
    ended: float
    error: str = None
    moved: bool = False
    port: int = None
    elsewhere: frozenset = frozenset()  # backends other than its own whose kernels know its addresses and ports


def with_changes(samples, changes):
    """The samples, and between them what a backend's health turned to: [(time, backend, state)] in order. Two changes
    between two samples may leave no trace in either."""
    filled, changes = [], list(changes)
    for sample in samples:
        while changes and changes[0][0] < sample.begin:
            at, backend, state = changes.pop(0)
            # Before the first sample nothing is known; of a backend that drains health decides nothing.
            if filled and filled[-1].states.get(backend) not in (None, "DRAINING"):
                last = filled[-1]
                filled.append(Sample(max(at, last.begin), max(at, last.end), last.states | {backend: state}, last.failover))
        filled.append(sample)
    return filled


def before_the_drain(samples, end, backend):
    """The backend's last state that was no drain, of samples[:end]; None: there was none."""
    return next((s.states[backend] for s in reversed(samples[:end]) if s.states.get(backend) not in (None, "DRAINING")), None)


def observed_causes(service, samples, never_persists=False, forgets_on_failover=False, unanswered=()):
    """Causes that lie in the states themselves: P6.3 and P6.5. `unanswered`: (backend, begin, end) of the times when probes
    could not succeed; a backend that began to drain then may have turned unhealthy between two samples, which explains the
    end of a connection but does not demand it."""
    causes = []
    for i, (old, new) in enumerate(zip(samples, samples[1:])):
        later = samples[i + 1:]
        if never_persists:
            for backend, state in new.states.items():
                former = old.states.get(backend)
                # P7.5: whoever comes back from a drain as what it was has not turned.
                if former == "DRAINING" and before_the_drain(samples, i + 1, backend) == "UNHEALTHY":
                    continue
                if state == "UNHEALTHY" and former not in (None, "UNHEALTHY"):
                    until = next((s.begin for s in later if s.states.get(backend) != "UNHEALTHY" or backend in s.eligible()), later[-1].end)
                    causes.append(Cause("P6.3", service, frozenset([backend]), old.begin, new.end, until))
                elif state == "DRAINING" and old.states.get(backend) == "HEALTHY" and any(
                        b == backend and begin < new.end and old.begin < end for b, begin, end in unanswered):
                    causes.append(Cause("P6.3", service, frozenset([backend]), old.begin, new.end, old.begin))
        if forgets_on_failover and old.uses_failover() != new.uses_failover():
            backends = frozenset(old.states) & (new.failover if old.uses_failover() else frozenset(old.states) - new.failover)
            until = next((s.begin for s in later if s.uses_failover() != new.uses_failover()), later[-1].end)
            causes.append(Cause("P6.5", service, backends, old.begin, new.end, until))
    return causes


class History:
    def __init__(self, samples, causes, outages):
        self.samples, self.causes, self.outages = samples, causes, sorted(outages)
        self.ends = {service: [s.end for s in list_] for service, list_ in samples.items()}

    def settled(self, time):
        """When what was decided at `time` is surely in effect."""
        for begin, end in self.outages:
            if begin - SLACK_S <= time <= end:
                time = end
        return time + SLACK_S

    def rule_for_end(self, connection):
        """The rule by which a connection was ended with an error, or None."""
        last = connection.answers[-1] if connection.answers else connection.opened
        ended = connection.ended
        if connection.error == "no answer":
            if not connection.elsewhere:
                return None  # no rule lets packets disappear for so long
            # A backend that has a connection of these addresses and ports, whose client is long gone, answers packets of
            # the new one with its own numbers (RFC 5961, 4.2), and never with a reset.
            ended = last + 2 * SLACK_S
        for cause in self.causes:
            if (cause.service == connection.service and (connection.backend is None or connection.backend in cause.backends)
                    and cause.begin <= ended and self.settled(cause.end) >= last - SLACK_S):
                return cause.rule
        if not connection.answers and connection.ended - connection.opened >= SYN_REPEATED_S:
            sets = [s.eligible() for s in self.around(connection.service, connection.opened, connection.ended)]
            if any(s != sets[0] for s in sets):
                return "P1.1"
        return None

    def rule_against_life(self, connection):
        """A rule by which a connection should have ended, but it had an answer later; or None."""
        for cause in self.causes:
            if cause.service != connection.service or connection.backend not in cause.backends or connection.opened >= cause.begin:
                continue
            after = bisect.bisect_right(connection.answers, self.settled(cause.end))
            if after < len(connection.answers) and connection.answers[after] < cause.until - SLACK_S:
                return cause.rule
        return None

    def around(self, service, begin, end):
        """Samples that overlap a span, with one before and one after."""
        list_ = self.samples[service]
        first = bisect.bisect_left(self.ends[service], begin - SLACK_S)
        last = bisect.bisect_left(self.ends[service], self.settled(end))
        return list_[max(0, first - 1):last + 1]

    def may_choose(self, connection):
        """Whether the backend was eligible when the connection was new (P2)."""
        end = connection.answers[0] if connection.answers else connection.ended
        return any(connection.backend in s.eligible() for s in self.around(connection.service, connection.opened, end))

    def fate(self, connection):
        """(fate, rule or what is wrong). Fates: lived, ended, wrong."""
        if connection.moved:
            return "wrong", "P1.2: answers came from two backends over one connection"
        if connection.backend is not None and not self.may_choose(connection):
            return "wrong", f"P2: {connection.backend} was not eligible"
        if rule := self.rule_against_life(connection):
            return "wrong", f"{rule}: it should have ended"
        if connection.error is None:
            return "lived", "P1.2"
        rule = self.rule_for_end(connection)
        return ("ended", rule) if rule else ("wrong", f"no rule explains: {connection.error}")
