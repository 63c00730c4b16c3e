"""The busiest five minutes of a week of mount targets: from clients, or from a poller where no client is scraped."""

from collections.abc import Callable, Mapping
from typing import Final

from fss_exporter.errors import SourceError
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import Limits
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.plan.client_history import of_clients
from fss_exporter.plan.load import Load, busiest_moment, ended
from fss_exporter.plan.prometheus_api import Prometheus, selector

_MEASURED: Final = "fss_mount_target_iops"
_ESTIMATED: Final = "fss_mount_target_estimated_iops"
_READ: Final = "fss_mount_target_read_bytes_per_second"
_WRITTEN: Final = "fss_mount_target_write_bytes_per_second"
_CONNECTIONS: Final = "fss_mount_target_connections"

EVERYTHING: Final = "all operations"  # Stands for what OCI does not split by operation

LimitsOf = Callable[[str, str], Limits]
"""Ceilings of the mount target at an address, with a shape. An empty shape is not known."""


def busiest(prometheus: Prometheus, limits: LimitsOf, address: str | None) -> dict[str, Load]:
    """Return the busiest five minutes of each mount target, or of one, by address.

    Raises:
        SourceError: Prometheus does not answer, or has no metrics of clients or mount targets of the week.
    """
    loads = of_clients(prometheus, lambda where: limits(where, ""), address) or _published(prometheus, limits, address)
    if not loads:
        of = f" with address {address}" if address else ""
        raise SourceError(
            f"Prometheus has no fss_client_ and no fss_mount_target_ metrics of the last week{of}. "
            "Are the clients, or is a poller, scraped?"
        )
    return loads


def _published(prometheus: Prometheus, limits: LimitsOf, address: str | None) -> dict[str, Load]:
    """Return the busiest five minutes of each mount target of a poller, by address, or by name without an address."""
    query = f"last_over_time(fss_mount_target_info{selector('address', address)}[7d])"
    known = {_target(labels): labels for labels, _ in prometheus.at(query, prometheus.now)}
    queries = {name: _mean(name) for name in (_MEASURED, _ESTIMATED, _READ, _WRITTEN)}
    loads = {}
    for target, history in prometheus.figures(queries, _target, needed=(_READ, _WRITTEN)).items():
        info = known.get(target, {})
        if address is None or info:
            where, shape = info.get("address") or target[1], info.get("shape", "")
            at = busiest_moment({moment: _traffic(one) for moment, one in history.items()}, limits(where, shape))
            loads[where] = _load(prometheus, target[0], history[at], at, shape)
    return loads


def _target(labels: Mapping[str, str]) -> tuple[str, str]:
    """Return OCID and name of a mount target."""
    return labels.get("mount_target_id", ""), labels.get("mount_target", "")


def _mean(name: str, mount_target_id: str | None = None) -> str:
    """Return the mean over pollers, because several pollers of a mount target see equal figures."""
    of = selector("mount_target_id", mount_target_id)
    return f"max by (mount_target_id, mount_target) (avg_over_time({name}{of}[5m]))"


def _traffic(figures: Mapping[str, float]) -> Traffic:
    """Return the traffic, with bounds as far as the figures have bounds."""
    point = figures.get(_MEASURED, figures.get(_ESTIMATED))
    if point is None:
        cost = None
    elif _MEASURED in figures:
        cost = Bounds(point, point, point)
    else:
        bounds = (figures.get(f"{_ESTIMATED}_{which}_bound", point) for which in ("lower", "upper"))
        cost = Bounds(next(bounds), point, next(bounds))
    # How many operations the cost is of is not published.
    whole = OperationTraffic(0.0, cost)
    return Traffic({EVERYTHING: whole}, figures[_READ], figures[_WRITTEN])


def _load(prometheus: Prometheus, mount_target_id: str, figures: Mapping[str, float], at: float, shape: str) -> Load:
    more = (f"{_ESTIMATED}_lower_bound", f"{_ESTIMATED}_upper_bound", _CONNECTIONS)
    also = {name: value for name in more for _, value in prometheus.at(_mean(name, mount_target_id), at)}
    if _MEASURED in figures:
        remark = "IOPS as OCI measured them"
    elif _ESTIMATED in figures:
        remark = "IOPS estimated from requests OCI publishes, which leave out LOOKUP, ACCESS and others: it may be more"
    else:
        remark = "IOPS not known: OCI published neither them nor requests"
    return Load(
        ended(at),
        _traffic({**also, **figures}),
        shape=shape,
        connections=also.get(_CONNECTIONS),
        remark=f"{remark}. No split by operation is published",
    )
