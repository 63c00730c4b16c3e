"""The busiest five minutes of a week, from a Prometheus that scrapes the clients."""

import math
from collections import defaultdict
from collections.abc import Callable

from fss_exporter.errors import SourceError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import READ
from fss_exporter.model.service_table import Ceilings
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.nfs.scraped import COST_MODEL, COUNTERS, override_of, traffic_of
from fss_exporter.plan.load import Load, SizeShare, busiest_moment, ended, size_shares
from fss_exporter.plan.prometheus_api import Prometheus, selector

_COST = "fss_client_estimated_io_operations"
_READ = "fss_client_read_bytes_total"
_WRITTEN = "fss_client_written_bytes_total"
_SIZES = "fss_client_io_size_bytes"


def of_clients(
    prometheus: Prometheus, limits: Callable[[str], Limits | Ceilings], address: str | None
) -> dict[str, Load]:
    """Return the busiest five minutes of the clients of each mount target, or of one, by address. `limits` are by address.

    Raises:
        SourceError: Prometheus does not answer, or has metrics of another version.
    """
    of = selector("address", address)
    queries = {name: f"sum by (address) (rate({name}{of}[5m]))" for name in (f"{_COST}_total", _READ, _WRITTEN)}
    loads = {}
    for where, history in prometheus.figures(queries, lambda labels: labels.get("address", "")).items():
        if where:
            at = busiest_moment({moment: _rough(values) for moment, values in history.items()}, limits(where))
            try:
                loads[where] = Load(ended(at), _load(prometheus, where, at), _sizes(prometheus, where, at))
            except (ValueError, KeyError) as error:
                raise SourceError(f"Prometheus has not the metrics of an agent of this version: {error}") from error
    return loads


def _rough(values: dict[str, float]) -> Traffic:
    iops = values.get(f"{_COST}_total", 0.0)
    every = OperationTraffic(iops, Bounds(iops, iops, iops))  # as a service counts them that counts READs and WRITEs
    return Traffic({READ: every}, values.get(_READ, 0.0), values.get(_WRITTEN, 0.0))


def _load(prometheus: Prometheus, address: str, at: float) -> Traffic:
    """Return the traffic of one moment, with one query for each counter, by class and operation."""
    of = selector("address", address)
    rates: dict[tuple[str, str, str], float] = defaultdict(float)
    services = set()
    for name in sorted(COUNTERS):
        for labels, value in prometheus.at(f"sum by (service, class, operation) (rate({name}{of}[5m]))", at):
            rates[name, labels.get("class", ""), labels.get("operation", "")] += value
            services.add(labels.get("service", ""))
    return traffic_of(services.pop() if len(services) == 1 else "", rates, _overrides(prometheus, at))


def _overrides(prometheus: Prometheus, at: float) -> CostOverrides:
    """Return the measured costs of the agents. If agents disagree, the newest date wins."""
    known = (override_of(labels) for labels, _ in prometheus.at(COST_MODEL, at))
    by_operation = {one.operation: one for one in sorted(known, key=lambda one: one.date)}
    return CostOverrides(tuple(by_operation.values()))


def _sizes(prometheus: Prometheus, address: str, at: float) -> dict[str, tuple[SizeShare, ...]]:
    """Return the size classes in use by operation, as far as clients are in exact mode."""
    of = selector("address", address)
    counts: dict[str, dict[float, float]] = defaultdict(dict)
    for labels, value in prometheus.at(f"sum by (operation, le) (rate({_SIZES}_bucket{of}[5m]))", at):
        counts[labels.get("operation", "")][float(labels["le"])] = value
    return {operation: size_shares(at_most) for operation, at_most in sorted(counts.items()) if at_most.get(math.inf)}
