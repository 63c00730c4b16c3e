"""The incidents of `make test`: each alert brings each kind of message in one of them. `make test-incidents` runs all."""

import re
from collections.abc import Iterator, Sequence
from itertools import cycle

from tests.rules.alerts_tried import PAGE
from tests.rules.incidents import Incident
from tests.rules.orders import ORDERS
from tests.rules.table import INCIDENTS


def outcomes() -> dict[str, str]:
    """By name of the incident: the messages in docs/alerts-tried.md, without their minutes.

    A message about many of the same alert stands here as a message about two.
    """
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d+ \|", line)]
    without_minutes = {name: re.sub(r"( \(\d+\))? -?\d+", "", messages) for _, name, _, messages, *_ in rows}
    return {name: re.sub(r"\b(\w+)(?:\+\1\b)+", r"\1+\1", messages) for name, messages in without_minutes.items()}


LARGE = frozenset(
    {
        "20 mount targets of a region are down",
        "20 mount targets of a region are down for 20 minutes: one page, nothing after",
        "20 mount targets of a region are slow",
        "6 of 200 clients hang",
        "7 % of the agents are dead for good",
        "99 % of the IOPS and everything slow: one page, nothing after recovery",
        "ESTALE on open at all clients",
        "a background loop stands still",
        "a retransmitting client",
        "a third of the clients hang",
        "a tenth of the agents cannot read mountstats after a roll-out",
        "every target is scraped by two jobs, and one client of ten hangs",
        "everything is well",
        "everything is well, in an installation without a poller",
        "five bursts of 8 minutes at ten times the objective",
        "half of the clients hang",
        "load grows to the ceiling in an hour, and requests become slow at 97 %",
        "one client of fifty hangs",
        "one metric stops: the share of good requests",
        "the first copy of a replication",
        "the poller of a region dies, in the job of the agents",
        "the poller of a region is gone from service discovery",
        "two outages of 20 minutes, three hours apart: two pages",
        "two pollers, one with an old and larger ceiling",
        "two replicas of Prometheus write to one store, and the poller dies",
    }
)
"""Incidents with many series or hours, to each of which a smaller incident has the same messages."""


LONG_RUNS = frozenset(
    {
        "OCI data are 40 minutes late, and agents see twice the objective: two pages",
        "a backup each Sunday at 95 % of the ceiling is no forecast",
        "a full mount target is deleted, and its successor with the same name is full",
        "a poller is taken out of service for good: one page, and a ticket after three hours",
        "agents are gone from service discovery by day",
        "one of three scrapes fails on every target while 10 % of the requests fail",
        "the budget is spent by an outage, and two days later 2 % fail for an hour",
        "the poller dies, and 15 minutes later all clients hang: two pages",
        "the poller dies, and clients hang from then on for two hours: two pages",
        "the poller dies, and ten minutes later agents see the full ceiling",
    }
)
"""Incidents of many hours or weeks, or of two causes, that `make test-incidents` runs alone. Other incidents have their alerts."""


def parts(one: Incident, outcome: str) -> frozenset[str]:
    """What an incident shows: each alert with the receiver of its message, or its kind where nothing is sent."""
    return frozenset(re.findall(r"(?:page|ticket) Fss\w+", outcome)) or frozenset({f"{one.kind}: {outcome}"})


def candidates() -> dict[Incident, frozenset[str]]:
    """The incidents that are short enough, with what they show. What is expected counts where the page lacks an incident."""
    known = outcomes()
    short = [one for one in INCIDENTS if one.name not in LARGE | LONG_RUNS]
    return {one: parts(one, known.get(one.name, re.sub(r" \d+ min", "", one.expected))) for one in short}


def chosen() -> Iterator[Incident]:
    """Few incidents that show together what all candidates show. Each next one shows most of what is left."""
    shown = candidates()
    left = frozenset[str]().union(*shown.values())
    while left:
        best = max(shown, key=lambda one: len(shown[one] & left))
        left -= shown[best]
        yield best


def on_a_generation(incidents: Sequence[Incident]) -> list[tuple[Incident, str]]:
    """Each incident with a generation of promtool, in turn."""
    return list(zip(incidents, cycle("23"), strict=False))


def in_another_order(incidents: Sequence[Incident]) -> list[tuple[Incident, str]]:
    """Each incident with an order of the groups, in turn. Weeks are left out, because their steps are longer than an interval."""
    return list(zip((one for one in incidents if one.build().step == 1), cycle(ORDERS), strict=False))


def name(parameter: object) -> str:
    """What the test is called."""
    return parameter.name if isinstance(parameter, Incident) else str(parameter)
