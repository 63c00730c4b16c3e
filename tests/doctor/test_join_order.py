"""Which of && and || binds tighter: each way in which a service can answer, asked through a session that answers so."""

import re
from typing import TYPE_CHECKING, Any, cast

import pytest

from fss_exporter.errors import CloudError
from fss_exporter.oci.cloud_client import Scope
from fss_toolbox.doctor.account_facts import MetricFacts
from fss_toolbox.doctor.metric_probe import MetricProbe
from fss_toolbox.tables import Progress

if TYPE_CHECKING:
    from fss_exporter.oci.client import Session

READS = MetricFacts("MountTargetReadThroughput", "MountTargetReadThroughput", 1, streams=1)


class Answer:
    def __init__(self, data: object) -> None:
        self.data = data


class Service:
    """Answers queries of conditions by one order of the operators, or not at all."""

    tenancy_id = "ocid1.tenancy.oc1..a"

    def __init__(self, order: str) -> None:
        self.order = order

    def call(self, _service: str, _operation: str, _compartment: str, details: dict[str, Any], **_: object) -> Answer:
        if self.order == "refused":
            raise CloudError("400 InvalidParameter", operation="SummarizeMetricsData")
        if self.order == "silent":
            return Answer([])
        terms = re.sub(r"\S+\[1m]\.mean\(\) >= 0", "T", re.sub(r"\S+\[1m]\.mean\(\) < 0", "F", details["query"]))
        return Answer([{"aggregatedDatapoints": [{"value": float(evaluated(terms.split(), self.order))}]}])


def evaluated(words: list[str], order: str) -> bool:
    """Read `T || F && F` by an order."""
    if len(words) == 1:
        return words[0] == "T"
    places = [at for at, word in enumerate(words) if word in ("&&", "||")]
    last = {
        "and": next((at for at in places if words[at] == "||"), places[0]),
        "or": next((at for at in places if words[at] == "&&"), places[0]),
        "left": places[-1],
        "right": places[0],
    }[order]
    left, right = evaluated(words[:last], order), evaluated(words[last + 1 :], order)
    return (left and right) if words[last] == "&&" else (left or right)


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("and", "&& binds tighter"),
        ("or", "|| binds tighter"),
        ("left", "read from left to right"),
        ("right", "read from right to left"),
        ("refused", "refused: 400 InvalidParameter"),
        ("silent", "no stream in the answer"),
    ],
)
def test_the_order_of_and_and_or_is_found_from_two_answers(order: str, found: str) -> None:
    probe = MetricProbe(
        cast("Session", Service(order)),
        (Scope("ocid1.tenancy.oc1..a", subtree=True),),
        now=lambda: 1_790_000_000.0,
        note=lambda *_: None,
        progress=Progress(),
    )

    assert probe.join_order((READS,)) == found
    assert probe.join_order(()) == ""
