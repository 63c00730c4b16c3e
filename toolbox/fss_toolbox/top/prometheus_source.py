# SPDX-License-Identifier: Apache-2.0
"""The fleet of a Prometheus as a source of `top`: mount targets as the poller knows them, and the clients behind each.

A poller that died leaves its last figures with their age, for an hour. The recorded series of clients are a lower bound. An address that
only clients know is a line too, against the ceilings of its service or of the shape that the flags state.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from fss_exporter.addresses import NetworkAddress
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import FigureSource, KnownFigure, best_known, coverage_of
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import READ
from fss_exporter.model.state import State
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.served_ceilings import CEILINGS_OF_SERVICES, SOURCES, ServedCeilings
from fss_exporter.web.status.mount_target_rows import GAUGES, LATENCIES, LIMITS, QUANTITIES, Ages, latency_usage
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage, with_places
from fss_toolbox.ceilings import Judge
from fss_toolbox.plan.history import ClientsMoment, client_traffic
from fss_toolbox.plan.prometheus_api import Prometheus, at_place, client_rate
from fss_toolbox.sizing.uses import known_uses, uses
from fss_toolbox.top.client_targets import row_of_clients
from fss_toolbox.top.fleet_states import FleetStates
from fss_toolbox.top.picture import (
    PROCESS_LABELS,
    LoadPart,
    Parts,
    Picture,
    failed_polls,
    key_of,
    operations_of,
    process_parts,
)

_INFO: Final = "fss_mount_target_info"
_AGE: Final = "fss_mount_target_data_age_seconds"
_RATIO: Final = 'fss_mount_target_utilisation_ratio{statistic="mean"}'
_CLIENTS: Final = {
    Quantity.IOPS: "address:fss_client_estimated_iops:rate5m",
    Quantity.READ: "address:fss_client_read_bytes:rate5m",
    Quantity.WRITE: "address:fss_client_written_bytes:rate5m",
}
# A poller that answers decides which mount targets exist. Of a silent poller the last hour counts.
_TARGETS: Final = (
    f"{_INFO} or (last_over_time({_INFO}[1h]) unless on (tenancy, region) group by (tenancy, region) ({_INFO}))"
)
_SILENT: Final = f"group by (region) (last_over_time({_INFO}[1h]) unless on (tenancy, region) {_INFO})"
_FAILED: Final = "max by (region) (fss_oci_poll_success) == 0"
_AGES: Final = (
    f"min by (mount_target_id, resource) ({_AGE} + (time() - timestamp({_AGE}))"
    f" or (last_over_time({_AGE}[1h]) + time() - max_over_time(timestamp({_AGE})[1h:1m])))"
)
_FIGURES: Final = {
    "iops": "fss_client_estimated_io_operations_total",
    "operations": "fss_client_requests_total",
    "read_bytes": "fss_client_read_bytes_total",
    "written_bytes": "fss_client_written_bytes_total",
    "rtt": "fss_client_rtt_seconds_total",
}
_LATENCY: Final = (
    "max by (tenancy, region, mount_target_id, kind, size, file_system) (fss_mount_target_latency_objective_ratio)"
)
_OBJECTIVES: Final = "max by (mount_target_id, kind, size) (fss_mount_target_latency_objective_seconds)"
_GAUGES: Final = {gauge: (quantity, metric.lower(), source) for quantity, gauge, metric, source in GAUGES}
_MINUTES: Final = f'max by (__name__, tenancy, region, mount_target_id) ({{__name__=~"{"|".join(_GAUGES)}"}})'
_MINUTE_AGES: Final = "min by (tenancy, region, oci_metric) (fss_oci_datapoint_age_seconds)"
_NO_STATES: Final = "no states: this Prometheus does not evaluate the rules, see docs/install.md"
_MOST_CLIENTS: Final = 3  # so many mount targets are named whose clients are worse off
_RUNBOOK_OF_CLIENT: Final = {State.HANGING: "stalled", State.FAILING: "errors", State.SLOW: "slow"}
_NO_CLIENTS: Final = "no client of this mount target is scraped"
_NO_PROCESSES: Final = "no agent counts by process. serve --nfs.exact=auto --nfs.exact.processes=20 counts it"


@dataclass(frozen=True, slots=True)
class _PlacedRow:
    """The row of a mount target, with what names it in queries."""

    id: str  # OCID. Empty for an address that only clients know
    row: MountTargetRow
    network: str


class PrometheusSource:
    """The mount targets and clients of one Prometheus."""

    def __init__(self, prometheus: Prometheus, title: str, judge: Judge, interval: float) -> None:
        self.title = title
        self.period_seconds = self.interval = interval
        self._prometheus = prometheus
        self._judge = judge
        self._at = 0.0
        self._places: dict[str, NetworkAddress] = {}

    def look(self) -> Picture:
        """Ask for every mount target."""
        self._at = self._prometheus.present()
        listed = list(self._inventory())
        limits = {quantity: self._by(_last(name), "mount_target_id") for quantity, name in LIMITS.items()}
        clients = {
            quantity: self._by(f"sum by (network, address) ({recorded})", "network", "address")
            for quantity, recorded in _CLIENTS.items()
        }
        usages: dict[str, list[Usage]] = defaultdict(list)
        for ocid, usage in self._usages(limits):
            usages[ocid].append(usage)
        listed = [replace(target, row=_with_figures(target, usages[target.id], limits, clients)) for target in listed]
        near = self._by(f"min by (tenancy, region) ({_last('fss_oci_warning_ratio')})", "tenancy", "region")
        listed = [replace(target, row=_near_at(target.row, near)) for target in listed]
        unpolled = list(self._unpolled(clients, {(target.network, target.row.address) for target in listed}))
        lines = (*listed, *unpolled)
        states = FleetStates(self._by)
        targets = with_places(
            replace(line.row, state=states.of(line.id, NetworkAddress(line.network, line.row.address)))
            for line in lines
        )
        self._places = {
            key_of(row): NetworkAddress(line.network, row.address) for row, line in zip(targets, lines, strict=True)
        }
        remarks = (*self._of_single_clients(targets, states), *self._remarks(targets, has_poller=bool(listed)))
        return Picture(targets, None, remarks if states.are_recorded or not targets else (*remarks, _NO_STATES))

    def _usages(self, limits: Mapping[Quantity, Mapping[tuple[str, ...], float]]) -> Iterator[tuple[str, Usage]]:
        """Yield OCIDs and usages: of the ceilings, of what has no ceiling, and of the latency objective."""
        ages = self._by(_AGES, "mount_target_id", "resource")
        ratios = f"max by (mount_target_id, resource, source) ({_last(_RATIO)})"
        for (target, resource, source), ratio in self._by(ratios, "mount_target_id", "resource", "source").items():
            quantity = QUANTITIES.get(resource)
            limit = limits[quantity].get((target,)) if quantity else None
            if quantity is not None and limit:
                figure = KnownFigure(ratio * limit, SOURCES.get(source, FigureSource.OCI), ages.get((target, resource)))
                yield target, Usage(quantity, figure, limit)
        ages_of_minutes: Ages = {
            (tenancy, region, metric.lower()): age
            for (tenancy, region, metric), age in self._by(_MINUTE_AGES, "tenancy", "region", "oci_metric").items()
        }
        yield from self._without_ceilings(limits, ages_of_minutes)
        yield from self._latencies(ages_of_minutes).items()

    def _of_single_clients(self, targets: Iterable[MountTargetRow], states: FleetStates) -> Iterator[str]:
        """Yield a line for each of the first mount targets some of whose clients are worse off than it is."""
        found = [
            (*worst, row.shown_name)
            for row in targets
            if (worst := states.worst_clients(self._places[key_of(row)], row.state.state))
        ]
        found.sort(key=lambda one: (-one[0], one[2]))
        for state, reason, name in found[:_MOST_CLIENTS]:
            yield f"{reason.who} at {name}: {state.word}, {reason.text} (docs/runbook.md#fssclient{_RUNBOOK_OF_CLIENT[state]})"
        if len(found) > _MOST_CLIENTS:
            yield f"and clients of {len(found) - _MOST_CLIENTS} more mount targets that are worse off than the mount target"

    def _without_ceilings(
        self, limits: Mapping[Quantity, Mapping[tuple[str, ...], float]], ages: Ages
    ) -> Iterator[tuple[str, Usage]]:
        """Yield OCID and newest minute of each load that has no ceiling, and so no share of one."""
        minutes = self._by(_MINUTES, "__name__", "tenancy", "region", "mount_target_id")
        for (gauge, tenancy, region, target), value in minutes.items():
            quantity, oci_metric, source = _GAUGES[gauge]
            if (target,) not in limits[quantity]:
                yield target, Usage(quantity, KnownFigure(value, source, ages.get((tenancy, region, oci_metric))))

    def _latencies(self, ages: Ages) -> Mapping[str, Usage]:
        """Return the latency nearest to its objective by OCID of the mount target, as the poller judges it."""
        kinds = ("mount_target_id", "kind", "size")
        objectives = self._by(_OBJECTIVES, *kinds)
        labels = ("tenancy", "region", *kinds, "file_system")
        worst: dict[str, Usage] = {}
        for key, ratio in sorted(self._by(_LATENCY, *labels).items(), key=lambda of: of[1]):
            of = dict(zip(labels, key, strict=True))
            objective = objectives.get((of["mount_target_id"], of["kind"], of["size"]))
            age = ages.get((of["tenancy"], of["region"], LATENCIES.get(of["kind"], "").lower()))
            if objective:
                worst[of["mount_target_id"]] = latency_usage(ratio, objective, age, of)
        return worst

    def _remarks(self, targets: Collection[MountTargetRow], *, has_poller: bool) -> tuple[str, ...]:
        """Return what the reader should know of the pollers."""
        if has_poller:
            silent = ", ".join(region for (region,) in sorted(self._by(_SILENT, "region")))
            remarks = (
                (
                    f"no poller of {silent} is scraped now: its last figures are shown (docs/runbook.md#fssocipollerdown)",
                )
                if silent
                else ()
            )
            return (*remarks, *failed_polls(region for (region,) in self._by(_FAILED, "region")))
        if targets:
            shape = self._judge.shape
            return (
                f"no poller of the last hour: states and lower bounds of the scraped clients, against the ceilings of shape {shape}",
            )
        return (
            "this Prometheus has neither mount targets of a poller of the last hour nor what the rules record of clients",
        )

    def _unpolled(
        self, clients: Mapping[Quantity, Mapping[tuple[str, ...], float]], polled: Collection[tuple[str, str]]
    ) -> Iterator[_PlacedRow]:
        """Yield the addresses that only clients know."""
        limits: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for ceiling, name in CEILINGS_OF_SERVICES.items():
            for place, value in self._by(f"min by (network, address) ({name})", "network", "address").items():
                limits[place][ceiling] = value
        info = "group by (network, address, service, kind) (fss_client_service_info)"
        services = {key[:2]: key[2:] for key in self._by(info, "network", "address", "service", "kind")}
        for place, iops in clients[Quantity.IOPS].items():
            network, address = place
            if not address or (network, address) in polled:
                continue
            read_bytes, written_bytes = (clients[way].get(place, 0.0) for way in (Quantity.READ, Quantity.WRITE))
            traffic = Traffic({READ: OperationTraffic(iops, Bounds.exact(iops))}, read_bytes, written_bytes)
            if place in services:
                service, kind = services[place]
                served = ServedCeilings(Limits(**limits[place]), service, kind, service)
                compared = known_uses(traffic, served.limits)
            else:
                served = ServedCeilings(self._judge.at(address), shape=self._judge.shape)
                compared = uses(traffic, served.limits)
            row = row_of_clients(address, network, served, compared, FigureSource.CLIENTS)
            yield _PlacedRow("", row, network)

    def _inventory(self) -> Iterator[_PlacedRow]:
        by_id = {}
        for labels, _ in self._prometheus.at(_TARGETS, self._at):
            row = MountTargetRow(
                name=labels.get("mount_target", ""),
                region=labels.get("region", ""),
                address=labels.get("address", ""),
                shape=labels.get("shape", ""),
                lifecycle=labels.get("state", ""),
                usages=(),
                tenancy=labels.get("tenancy", ""),
            )
            key = labels.get("mount_target_id", "")
            by_id[key] = _PlacedRow(key, row, labels.get("network", ""))
        yield from by_id.values()

    def _by(self, query: str, *labels: str) -> dict[tuple[str, ...], float]:
        return self._prometheus.by(query, self._at, *labels)

    def parts(self, target: MountTargetRow, kind: str) -> Parts:
        """Return the parts behind a mount target, as far as its clients are scraped."""
        place = self._places.get(key_of(target))
        if place is None or not place.address:
            return Parts(remark="the address of this mount target is not known, so its clients are not known")
        of = at_place(place)
        if kind == "operations":
            subject = ClientsMoment(place, self._at)
            rows = operations_of(client_traffic(self._prometheus, [subject])[subject])
            return Parts(rows, "" if rows else _NO_CLIENTS)
        if kind == "processes":
            rows = tuple(self._processes(of))
            return Parts(rows, "" if rows else _NO_PROCESSES)
        rows = tuple(self._grouped(of, "instance" if kind == "clients" else "export"))
        return Parts(rows, "" if rows else _NO_CLIENTS)

    def _grouped(self, of: str, label: str) -> Iterator[LoadPart]:
        figures = {
            field: self._by(f"sum by ({label}) ({client_rate(name, of, 'class')})", label)
            for field, name in _FIGURES.items()
        }
        for key, operations in figures["operations"].items():
            iops, rtt = figures["iops"].get(key), figures["rtt"].get(key)
            yield LoadPart(
                key[0],
                None if iops is None else Bounds.exact(iops),
                operations,
                figures["read_bytes"].get(key),
                figures["written_bytes"].get(key),
                rtt / operations if rtt is not None and operations else None,
            )

    def _processes(self, of: str) -> Iterator[LoadPart]:
        def rates(counter: str, *labels: str) -> dict[tuple[str, ...], float]:
            rate = client_rate(f"fss_client_process_{counter}_total", of, *labels)
            return self._by(f"sum by ({', '.join(labels)}) ({rate})", *labels)

        payload = rates("bytes", *PROCESS_LABELS, "direction")
        loads = process_parts(rates("io_operations", *PROCESS_LABELS), rates("operations", *PROCESS_LABELS), payload)
        return (part for _, part in loads)

    def close(self) -> None:
        """Leave nothing behind."""


def _last(selector: str) -> str:
    return f"last_over_time({selector}[1h])"


def _near_at(row: MountTargetRow, near: Mapping[tuple[str, ...], float]) -> MountTargetRow:
    """Return a row whose loads are near from the share on that the configuration of its poller states."""
    ratio = near.get((row.tenancy, row.region))
    if ratio is None:
        return row
    return replace(row, usages=tuple(replace(usage, warning_ratio=ratio) for usage in row.usages))


def _with_figures(
    placed: _PlacedRow,
    shares: list[Usage],
    limits: Mapping[Quantity, Mapping[tuple[str, ...], float]],
    clients: Mapping[Quantity, Mapping[tuple[str, ...], float]],
) -> MountTargetRow:
    row, usages = placed.row, list(shares)
    for quantity, loads in clients.items():
        seen = loads.get((placed.network, row.address)) if row.address else None
        if seen is not None:
            whole = best_known(usage.figure for usage in shares if usage.quantity is quantity)
            figure = KnownFigure(seen, FigureSource.CLIENTS, coverage=coverage_of(seen, whole))
            usages.append(Usage(quantity, figure, limits[quantity].get((placed.id,))))
    return replace(row, usages=tuple(usages))
