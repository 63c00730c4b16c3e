"""How an address served one client for some seconds."""

from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.client_state import (
    LEAST_REQUESTS,
    VERDICTS,
    AddressWork,
    ClassWork,
    Ended,
    JudgedRequests,
    Wait,
    default_objective,
    judge_client,
    verdict_of,
)
from fss_exporter.model.state import ERRORS, State
from fss_exporter.model.thresholds import LEAST_WAIT_SECONDS


def verdict_on(work: AddressWork, stated: Mapping[str, float], *, has_defaults: bool = True) -> str:
    return verdict_of(judge_client(work, stated, has_defaults=has_defaults))


def work(
    requests: int = 100, *, rtt_ms: int = 1, errors: int = 0, wait: float = 0.0, of: str = "metadata_read"
) -> AddressWork:
    """Requests of one class, with a mean round trip in milliseconds."""
    return AddressWork({of: ClassWork(requests, requests * rtt_ms)}, errors, Wait(wait))


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (work(), "fine"),
        (work(0), "idle"),
        (AddressWork(), "idle"),
        (work(0, wait=LEAST_WAIT_SECONDS), "hanging"),
        (work(errors=100, wait=60.0), "hanging"),
        (work(wait=LEAST_WAIT_SECONDS - 1), "fine"),
        (work(errors=1), "fine"),
        (work(errors=2), "failing"),
        (work(rtt_ms=10), "slow"),
        (work(rtt_ms=9), "fine"),
        (work(rtt_ms=10, errors=2), "failing"),
    ],
)
def test_the_worst_of_what_was_seen_is_the_verdict(seen: AddressWork, verdict: str) -> None:
    assert verdict_on(seen, {}) == verdict


def test_fewer_requests_than_one_a_second_are_neither_failing_nor_slow() -> None:
    few = LEAST_REQUESTS - 1
    assert verdict_on(work(few, rtt_ms=5_000), {}) == "fine"
    assert verdict_on(work(few, errors=few), {}) == "fine"


def test_reads_and_writes_are_judged_alone_and_three_in_a_minute_of_which_none_is_good_are_failing() -> None:
    for now, minute, percent in (
        (Ended(50, 50), Ended(50, 50), "100.0"),
        (Ended(100, 2), Ended(100, 2), "2.0"),
        (Ended(100, 1), Ended(100, 1), ""),
        (Ended(1, 1), Ended(3, 3), "100.0"),
        (Ended(0, 0), Ended(3, 3), "100.0"),
        (Ended(2, 2), Ended(2, 2), ""),
        (Ended(5, 5), Ended(30, 29), ""),
        (Ended(10, 0), Ended(60, 50), ""),
    ):
        for of_class in ("read", "write"):
            seen = work(12_000, errors=now.failed)
            seen.ended, seen.ended_in_a_minute = {of_class: now}, {of_class: minute}
            judgement = judge_client(seen, {}, has_defaults=True)
            says = [f"{percent} % of {of_class} requests fail"] if percent else []
            assert verdict_of(judgement) == ("failing" if percent else "fine"), (now, minute)
            assert [reason.text for reason in judgement.reasons if reason.subject is ERRORS and percent] == says


def test_a_client_that_asks_nothing_after_three_failed_writes_is_failing_and_not_idle() -> None:
    assert verdict_on(AddressWork(ended_in_a_minute={"write": Ended(3, 3)}), {}) == "failing"


def test_a_request_that_may_wait_since_before_the_first_look_is_not_known_and_has_no_figure() -> None:
    seen = judge_client(AddressWork(wait=Wait(None)), {}, has_defaults=True)
    assert (seen.state, verdict_of(seen)) == (State.NOT_KNOWN, "unknown")
    assert [(reason.text, reason.figure) for reason in seen.reasons] == [("no reply since the start", None)]


def test_a_wait_that_may_be_older_than_the_first_look_is_told_as_a_least() -> None:
    (reason,) = judge_client(AddressWork(wait=Wait(57, may_be_longer=True)), {}, has_defaults=True).reasons
    assert reason.text == "no reply for 57 s or more"


def test_a_service_without_default_objectives_is_slow_only_beyond_a_stated_one() -> None:
    slow = work(rtt_ms=200)
    assert verdict_on(slow, {}, has_defaults=False) == "fine"
    assert verdict_on(slow, {"read": 0.1}, has_defaults=False) == "fine"
    assert verdict_on(slow, {"metadata_read": 0.1}, has_defaults=False) == "slow"


def test_a_stated_objective_replaces_the_default_one() -> None:
    assert verdict_on(work(rtt_ms=40), {"metadata_read": 0.05}) == "fine"


@pytest.mark.parametrize(
    ("requests", "late", "verdict"),
    [
        (10_000, 200, "slow"),
        (10_000, 100, "fine"),
        (500, LEAST_REQUESTS - 1, "fine"),
        (500, LEAST_REQUESTS, "slow"),
        (0, 0, "fine"),
    ],
)
def test_more_than_one_request_in_a_hundred_beyond_the_p99_objective_is_slow_though_the_mean_is_fine(
    requests: int, late: int, verdict: str
) -> None:
    seen = work(10_000)
    seen.tails = {"read": JudgedRequests(requests, late)}
    assert verdict_on(seen, {}) == verdict


def test_late_requests_are_told_as_a_share_of_their_class() -> None:
    seen = work(10_000)
    seen.tails = {"read": JudgedRequests(10_000, 200), "metadata_read": JudgedRequests(10_000, 50)}
    (reason,) = judge_client(seen, {}, has_defaults=True).reasons
    assert reason.text == "2.0 % of requests of read take longer than the p99 objective"


@pytest.mark.parametrize(
    ("of_class", "mean_bytes", "seconds"),
    [
        ("read", 4096, 0.010),
        ("read", 8192, 0.010),
        ("read", 8193, 0.015),
        ("read", 1 << 20, 0.050),
        ("write", 1 << 20, 0.080),
        ("write", 4 << 20, 0.080),  # larger than any bucket that OCI publishes
        ("metadata_write", 0, 0.010),
    ],
)
def test_the_default_objective_of_a_transfer_is_that_of_its_mean_size(
    of_class: str, mean_bytes: int, seconds: float
) -> None:
    assert default_objective(of_class, ClassWork(10, 0, 10 * mean_bytes)) == seconds


@given(
    requests=st.integers(0, 10**9), rtt_ms=st.integers(0, 10**6), errors=st.integers(0, 10**9), wait=st.floats(0, 1e6)
)
def test_every_work_has_a_verdict(requests: int, rtt_ms: int, errors: int, wait: float) -> None:
    assert verdict_on(work(requests, rtt_ms=rtt_ms, errors=errors, wait=wait), {}) in VERDICTS
