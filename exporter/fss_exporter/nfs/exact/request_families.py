"""Convert counted durations to metric families."""

import math
from collections.abc import Collection, Iterator
from typing import Final

from fss_exporter.catalogue import CATALOGUE, Family, family
from fss_exporter.model.operations import OPERATION_CLASSES
from fss_exporter.nfs.exact.request_durations import Durations
from fss_exporter.nfs.exact.request_totals import NO_REQUESTS, RequestTotals

EXPONENTS: Final = range(8, 25)
"""Edges of the histograms: 2^8 microseconds (0.256 ms) to 2^24 (16.8 s). The default objectives of 10, 15, 20, 50 and 80 ms
lie between the edges 8.2, 16.4, 32.8, 65.5 and 131 ms."""

_MICROSECONDS: Final = 1_000_000


def edge_seconds(exponent: int) -> float:
    """The upper edge of a class, in seconds."""
    return 2.0**exponent / _MICROSECONDS


def request_families(
    totals: RequestTotals, addresses: Collection[str], at_zero: Collection[str] = ()
) -> Iterator[Family]:
    """Return families of the durations of requests.

    Args:
        totals: counts so far.
        addresses: addresses of mounts with series. Each address has every class and edge, from zero on.
        at_zero: addresses that show zeros in this answer.
    """
    finished = family(CATALOGUE["fss_client_request_duration_seconds"])
    answered = family(CATALOGUE["fss_client_request_rtt_seconds"])
    unanswered = family(CATALOGUE["fss_client_requests_without_reply_total"])
    for address in sorted(addresses) if totals.active else ():
        for of_class in () if address in totals.paused else OPERATION_CLASSES:
            labels = (address, of_class)
            one = NO_REQUESTS if address in at_zero else totals.requests.get(labels, NO_REQUESTS)
            _add(finished, labels, one.finished)
            if totals.counts_rtt:
                _add(answered, labels, one.answered)
            if totals.counts_unanswered:
                unanswered.add_metric(labels, one.unanswered)
    yield from (finished, answered, unanswered)
    active = family(CATALOGUE["fss_nfs_latency_active"])
    active.add_metric((), float(totals.active))
    yield active
    failed = family(CATALOGUE["fss_nfs_latency_checks_failed_total"])
    for check, count in totals.failed.items():
        failed.add_metric((check,), count)
    yield failed


def _add(result: Family, labels: tuple[str, str], requests: Durations) -> None:
    buckets = [(edge_seconds(exponent), requests.at_most(exponent)) for exponent in EXPONENTS]
    result.add_histogram(labels, [*buckets, (math.inf, requests.calls)], requests.microseconds / _MICROSECONDS)
