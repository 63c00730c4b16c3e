# SPDX-License-Identifier: Apache-2.0
"""What the scraped clients of mount targets did in five minutes, from a Prometheus: operations with their cost, and sizes."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeVar

from fss_exporter.addresses import NetworkAddress
from fss_exporter.catalogue import CATALOGUE
from fss_exporter.client_scrape import COST_MODEL, COUNTERS, override_of, traffic_of
from fss_exporter.errors import SourceError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.traffic import Traffic
from fss_toolbox.plan.load import SizeShare, size_shares
from fss_toolbox.plan.prometheus_api import Prometheus, at_place, client_rate, texts

_Subject = TypeVar("_Subject")

# Counters of the amount of a load and of its time. A load says nothing of faults.
# Written without their ends, because a list of docs/scaling.md takes each whole name in the code for a series that is read.
_COUNTERS: Final = sorted(
    COUNTERS - {f"fss_client_{name}_total" for name in ("retransmissions", "timeouts", "errors", "queue_seconds")}
)

_SIZES: Final = "fss_client_io_size_bytes"


class ClientsMoment(NamedTuple):
    """The clients of a mount target in five minutes."""

    place: NetworkAddress
    moment: float  # end, epoch seconds


@contextmanager
def _of_this_version() -> Iterator[None]:
    """Raise SourceError for series that an agent of this version does not have."""
    try:
        yield
    except (ValueError, KeyError) as error:
        raise SourceError(f"Prometheus has not the metrics of an agent of this version: {error}") from error


@_of_this_version()
def client_traffic(prometheus: Prometheus, subjects: Collection[ClientsMoment]) -> dict[ClientsMoment, Traffic]:
    """Return the traffic of the clients of mount targets, by class and operation.

    Raises:
        SourceError: Prometheus does not answer, or its metrics are not those of an agent of this version.
    """
    overrides = _overrides(prometheus, {subject.moment for subject in subjects})
    selected = {subject: (at_place(subject.place), subject.moment) for subject in subjects}
    traffic = {}
    for subject, by_service in counter_rates(prometheus, selected, "service").items():
        rates: dict[tuple[str, str, str], float] = defaultdict(float)
        for of_service in by_service.values():
            for counter, rate in of_service.items():
                rates[counter] += rate
        services = [service for (service,) in by_service]
        traffic[subject] = traffic_of(services[0] if len(services) == 1 else "", rates, overrides[subject.moment])
    return traffic


def counter_rates(
    prometheus: Prometheus, selected: Mapping[_Subject, tuple[str, float]], *names: str
) -> dict[_Subject, dict[tuple[str, ...], dict[tuple[str, str, str], float]]]:
    """Return the rates of the client counters of a load by these labels, as `traffic_of` takes them.

    `selected` has the selector of the series and the end of five minutes, epoch seconds, of each subject.

    Raises:
        SourceError: Prometheus does not answer.
    """
    by = ", ".join((*names, "class", "operation"))
    queries = {
        (subject, counter): f"sum by ({by}) ({client_rate(counter, of, 'class', 'operation', at=moment)})"
        for subject, (of, moment) in selected.items()
        for counter in _COUNTERS
    }
    rates: dict[_Subject, dict[tuple[str, ...], dict[tuple[str, str, str], float]]] = {
        subject: defaultdict(dict) for subject in selected
    }
    for (subject, counter), samples in prometheus.together(queries).items():
        for labels, value in samples:
            of_class, operation = texts(labels, "class", "operation")
            rates[subject][texts(labels, *names)][counter, of_class, operation] = value
    return rates


def _overrides(prometheus: Prometheus, moments: Collection[float]) -> dict[float, CostOverrides]:
    """Return the measured costs that the agents counted by at each moment. Where agents disagree, the newest date wins."""
    of_thousands_of_agents_once = f"group by ({', '.join(CATALOGUE[COST_MODEL].labels)}) ({COST_MODEL}"
    answers = prometheus.together({moment: f"{of_thousands_of_agents_once} @ {moment})" for moment in moments})
    overrides = {}
    for moment, samples in answers.items():
        by_date = sorted((override_of(labels) for labels, _ in samples), key=lambda override: override.date)
        overrides[moment] = CostOverrides(tuple({override.operation: override for override in by_date}.values()))
    return overrides


@_of_this_version()
def client_sizes(
    prometheus: Prometheus, subjects: Collection[ClientsMoment]
) -> dict[ClientsMoment, dict[str, tuple[SizeShare, ...]]]:
    """Return the size classes in use by operation, as far as clients are in exact mode.

    A server has either the buckets of the agents as series, or a native histogram that it made of them at the scrape.

    Raises:
        SourceError: as `client_traffic`.
    """
    buckets, native = {}, {}
    for subject in subjects:
        of = at_place(subject.place)
        each = client_rate(f"{_SIZES}_bucket", of, "operation", "le", at=subject.moment)
        buckets[subject] = f"sum by (operation, le) ({each})"
        copies = f"avg by (network, instance, address, operation) (rate({_SIZES}{of}[5m] @ {subject.moment}))"
        native[subject] = f"sum by (operation) ({copies})"
    counts: dict[ClientsMoment, dict[str, dict[float, float]]] = {subject: defaultdict(dict) for subject in subjects}
    for subject, samples in prometheus.together(buckets).items():
        for labels, value in samples:
            counts[subject][labels.get("operation", "")][float(labels["le"])] = value
    for subject, histograms in prometheus.histograms_together(native).items():
        for labels, at_most in histograms:
            counts[subject].setdefault(labels.get("operation", ""), at_most)
    return {subject: _shares(by_operation) for subject, by_operation in counts.items()}


def _shares(counts: Mapping[str, Mapping[float, float]]) -> dict[str, tuple[SizeShare, ...]]:
    return {operation: size_shares(at_most) for operation, at_most in sorted(counts.items()) if any(at_most.values())}
