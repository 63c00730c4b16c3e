# SPDX-License-Identifier: Apache-2.0
"""The fleet of a Prometheus as a source of `top`: mount targets as the poller knows them, and the clients behind each.

A poller that died leaves its last figures with their age, for an hour. The recorded series of clients are a part of the load. An address that
only clients know is a line too, against the ceilings of its service or of the shape that the flags state.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from fss_exporter.addresses import NetworkAddress
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import FigureSource, KnownFigure, best_known, coverage_of
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import READ
from fss_exporter.model.state import IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH, State, whole_percent
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_exporter.served_ceilings import CEILINGS_OF_SERVICES, SOURCES, ServedCeilings
from fss_exporter.served_states import OF_ADDRESSES
from fss_exporter.web.status.mount_target_rows import GAUGES, LATENCIES, LIMITS, QUANTITIES, Ages, latency_usage
from fss_exporter.web.status.overview import FAILED_CALL
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage, with_places
from fss_toolbox.ceilings import Judge
from fss_toolbox.plan.client_moments import ClientsMoment, client_traffic
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
_ADDRESSES: Final = "fss_mount_target_address_info"
_PLACED: Final = ("mount_target_id", "network", "address")
_AGE: Final = "fss_mount_target_data_age_seconds"
_RATIO: Final = 'fss_mount_target_utilisation_ratio{statistic="mean"}'
_CLIENTS: Final = (
    "address_class:fss_client_estimated_iops_lower_bound",
    "address:fss_client_estimated_iops",
    "address_class:fss_client_estimated_iops_upper_bound",
    "address:fss_client_read_bytes",
    "address:fss_client_written_bytes",
)
_ByPlace = Mapping[Quantity, Mapping[tuple[str, ...], KnownFigure]]
# A poller that answers decides which mount targets exist. Of a silent poller the last hour counts.
_TARGETS: Final = (
    f"{_INFO} or (last_over_time({_INFO}[1h]) unless on (tenancy, region) group by (tenancy, region) ({_INFO}))"
)
_SILENT: Final = f"group by (region) (last_over_time({_INFO}[1h]) unless on (tenancy, region) {_INFO})"
_FAILED: Final = "max by (region) (fss_oci_poll_success) == 0"
_FAILED_CALLS: Final = "max by (region, operation, reason) (fss_oci_failed_calls)"
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
    "failed": "fss_client_unexpected_errors_total",
}
_WAIT: Final = "fss_client_unanswered_seconds"
# What a mount target is near, with the figure of clients that takes of it.
_TAKEN: Final = {
    IOPS.name: (Quantity.IOPS, "iops"),
    READ_BANDWIDTH.name: (Quantity.READ, "read_bytes"),
    WRITE_BANDWIDTH.name: (Quantity.WRITE, "written_bytes"),
}
_NO_CEILINGS: Final = ServedCeilings(Limits())
_MOST_BUSIEST: Final = 3  # so many mount targets are told above the table
_STANDS_OUT: Final = 0.2  # share of the whole load from which on a client is named, as in the texts of alerts
_LATENCY: Final = (
    "max by (tenancy, region, mount_target_id, kind, size, file_system) (fss_mount_target_latency_objective_ratio)"
)
_OBJECTIVES: Final = "max by (mount_target_id, kind, size) (fss_mount_target_latency_objective_seconds)"
_GAUGES: Final = {gauge: (quantity, metric.lower(), source) for quantity, gauge, metric, source in GAUGES}
_MINUTES: Final = f'max by (__name__, tenancy, region, mount_target_id) ({{__name__=~"{"|".join(_GAUGES)}"}})'
_MINUTE_AGES: Final = "min by (tenancy, region, oci_metric) (fss_oci_datapoint_age_seconds)"
_NO_STATES: Final = "no states: this Prometheus does not evaluate the rules, see docs/install.md"
_COVERAGE: Final = "mount_target:fss_client_coverage"
_SEE_AGENTS: Final = "because OCI sees no hang (docs/runbook.md#fssexporterdown)"
_RUNBOOK_OF_CLIENT: Final = {State.HANGING: "stalled", State.FAILING: "errors", State.SLOW: "slow"}
_NO_CLIENTS: Final = "no client of this mount target is scraped"
_NO_PROCESSES: Final = "no agent counts by process. serve --nfs.exact=auto --nfs.exact.processes=20 counts it"


@dataclass(frozen=True, slots=True)
class _PlacedRow:
    """The row of a mount target, with what names it in queries."""

    row: MountTargetRow
    places: tuple[NetworkAddress, ...]  # that of the row first


class PrometheusSource:
    """The mount targets and clients of one Prometheus."""

    opens = "clients"

    def __init__(self, prometheus: Prometheus, title: str, judge: Judge, interval: float) -> None:
        self.title = title
        self.period_seconds = self.interval = interval
        self._prometheus = prometheus
        self._judge = judge
        self._at = 0.0
        self._places: dict[str, tuple[NetworkAddress, ...]] = {}

    def read(self) -> Picture:
        """Ask for every mount target."""
        self._at = self._prometheus.present()
        listed = list(self._inventory())
        limits = {quantity: self._by(_last(name), "mount_target_id") for quantity, name in LIMITS.items()}
        clients = self._of_clients()
        usages: dict[str, list[Usage]] = defaultdict(list)
        for ocid, usage in self._usages(limits):
            usages[ocid].append(usage)
        listed = [
            replace(target, row=_with_figures(target, usages[target.row.ocid], limits, clients)) for target in listed
        ]
        near = self._by(f"min by (tenancy, region) ({_last('fss_oci_warning_ratio')})", "tenancy", "region")
        listed = [replace(target, row=_near_at(target.row, near)) for target in listed]
        states = FleetStates(self._by)
        unpolled = list(self._unpolled(clients, states, {place for target in listed for place in target.places}))
        lines = (*listed, *unpolled)
        targets = with_places(replace(line.row, state=states.of(line.row.ocid, line.places)) for line in lines)
        self._places = {key_of(row): line.places for row, line in zip(targets, lines, strict=True)}
        targets = self._with_busiest(targets)
        ids = {row.ocid: row for row in targets}
        no_states = () if states.are_recorded or not targets else (_NO_STATES,)
        return Picture(
            targets,
            of_clients=tuple(self._of_single_clients(targets, states)),
            gaps=(*self._of_pollers(targets, has_poller=bool(listed)), *self._of_lost_agents(ids), *no_states),
        )

    def _of_clients(self) -> _ByPlace:
        """Return what the scraped clients cause, by quantity and place. They estimate IOPS, and count bytes."""
        lower, iops, upper, read, written = (
            self._by(f"sum by (network, address) ({recorded}:rate5m)", "network", "address") for recorded in _CLIENTS
        )
        return {
            Quantity.IOPS: {
                place: KnownFigure.of(Bounds(lower.get(place, 0.0), value, upper[place]), FigureSource.CLIENTS)
                if place in upper
                else KnownFigure(value, FigureSource.CLIENTS)
                for place, value in iops.items()
            },
            Quantity.READ: {place: KnownFigure.counted(value, FigureSource.CLIENTS) for place, value in read.items()},
            Quantity.WRITE: {
                place: KnownFigure.counted(value, FigureSource.CLIENTS) for place, value in written.items()
            },
        }

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

    def _of_single_clients(self, targets: Iterable[MountTargetRow], states: FleetStates) -> Iterator[tuple[State, str]]:
        """Yield state and reason for each mount target some of whose clients are worse off than it is."""
        for row in targets:
            worst = states.worst_clients(self._places[key_of(row)], row.state.state)
            if worst:
                state, reason = worst
                runbook = f"docs/runbook.md#fssclient{_RUNBOOK_OF_CLIENT[state]}"
                yield state, f"{reason.who} at {row.shown_name}: {state.word}, {reason.text} ({runbook})"

    def _with_busiest(self, targets: Sequence[MountTargetRow]) -> tuple[MountTargetRow, ...]:
        """Return the mount targets. The fullest that are near a ceiling name the client that takes most of it."""
        near = [row for row in targets if row.state.state is State.NEAR and row.state.reasons]
        fullest = sorted(near, key=lambda row: -row.utilisation)[:_MOST_BUSIEST]
        return tuple(_named(row, self._busiest(row)) if row in fullest else row for row in targets)

    def _busiest(self, row: MountTargetRow) -> str:
        """Return the client that takes a fifth or more of what a mount target is near, or what all take. Empty if no client is scraped."""
        taken = _TAKEN.get(row.state.reasons[0].subject.name)
        places = [place for place in self._places[key_of(row)] if place.address]
        if taken is None or not places:
            return ""
        quantity, figure = taken
        rate = client_rate(_FIGURES[figure], at_place(*places), "class")
        whole = best_known(usage.figure for usage in row.of(quantity))
        for (instance,), value in self._by(f"topk(1, sum by (instance) ({rate}))", "instance").items():
            if not whole or whole.value < value:
                return f"busiest client {instance}"
            if value >= _STANDS_OUT * whole.value:
                return f"busiest client {instance} with {whole_percent(value / whole.value)} % of it"
            together = self._by(f"sum({rate})").get((), value)
            return f"the scraped clients explain {whole_percent(min(1.0, together / whole.value))} % of it"
        return ""

    def _of_lost_agents(self, targets: Mapping[str, MountTargetRow]) -> Iterator[str]:
        """Yield a line about the mount targets (by OCID) that are not known because agents that were seen are gone."""
        now = self._by(f"max by (mount_target_id) ({_COVERAGE}:ratio)", "mount_target_id")
        lost = [
            (targets[ocid], was, now.get((ocid,), 0.0))
            for (ocid,), was in self._by(
                f"max by (mount_target_id) ({_COVERAGE}_lost:p90_1d)", "mount_target_id"
            ).items()
            if ocid in targets and targets[ocid].state.state is State.NOT_KNOWN
        ]
        for row, was, share in lost[:1]:
            of = (
                f"of {len(lost)} mount targets are gone. Those of {row.shown_name}"
                if len(lost) > 1
                else f"of {row.shown_name} are gone. They"
            )
            yield f"agents {of} explained {was:.0%} of its load, and {share:.0%} now: not known, {_SEE_AGENTS}"

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

    def _of_pollers(self, targets: Collection[MountTargetRow], *, has_poller: bool) -> Iterator[str]:
        """Yield why the figures of pollers are old or missing."""
        if has_poller:
            failed, silent = (
                [region for (region,) in sorted(self._by(query, "region"))] for query in (_FAILED, _SILENT)
            )
            yield from failed_polls(failed, self._by(_FAILED_CALLS, "region", *FAILED_CALL))
            if silent:
                yield f"no poller of {', '.join(silent)} is scraped now: its last figures are shown (docs/runbook.md#fssocipollerdown)"
        elif targets:
            shape = self._judge.shape
            yield f"no poller of the last hour: states and load of the scraped clients, against the ceilings of shape {shape}"
        else:
            yield "this Prometheus has neither mount targets of a poller of the last hour nor what the rules record of clients"

    def _unpolled(
        self, clients: _ByPlace, states: FleetStates, polled: Collection[tuple[str, str]]
    ) -> Iterator[_PlacedRow]:
        """Yield the addresses that only clients know, with a load or a state."""
        limits: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for ceiling, name in CEILINGS_OF_SERVICES.items():
            for place, value in self._by(f"min by (network, address) ({name})", "network", "address").items():
                limits[place][ceiling] = value
        info = "group by (network, address, service, kind) (fss_client_service_info)"
        services = {key[:2]: key[2:] for key in self._by(info, "network", "address", "service", "kind")}
        for place in dict.fromkeys((*chain.from_iterable(clients.values()), *states.addresses)):
            network, address = place
            if not address or (network, address) in polled:
                continue
            loads = {quantity: figures[place] for quantity, figures in clients.items() if place in figures}
            iops = loads.get(Quantity.IOPS)
            read_bytes, written_bytes = (
                loads[way].value if way in loads else 0.0 for way in (Quantity.READ, Quantity.WRITE)
            )
            cost = OperationTraffic(0.0, (iops.bounds or Bounds.exact(iops.value)) if iops else None)
            traffic = Traffic({READ: cost}, read_bytes, written_bytes)
            if place in services:
                service, kind = services[place]
                served = ServedCeilings(Limits(**limits[place]), service, kind, service)
                compared = known_uses(traffic, served.limits)
            else:  # only OCI File Storage has a cost without a stated service
                served = ServedCeilings(self._judge.at(address), shape=self._judge.shape) if iops else _NO_CEILINGS
                compared = uses(traffic, served.limits)
            row = row_of_clients(address, network, served, compared if loads else (), FigureSource.CLIENTS, iops)
            yield _PlacedRow(row, (NetworkAddress(network, address),))

    def _inventory(self) -> Iterator[_PlacedRow]:
        addresses = self._by(f"group by (mount_target_id, network, address) ({_last(_ADDRESSES)})", *_PLACED)
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
                ocid=labels.get("mount_target_id", ""),
            )
            own = NetworkAddress(labels.get("network", ""), row.address)
            further = (NetworkAddress(*place) for ocid, *place in addresses if ocid == row.ocid)
            by_id[row.ocid] = _PlacedRow(row, tuple(dict.fromkeys((own, *further))))
        yield from by_id.values()

    def _by(self, query: str, *labels: str) -> dict[tuple[str, ...], float]:
        return self._prometheus.by(query, self._at, *labels)

    def parts(self, target: MountTargetRow, kind: str) -> Parts:
        """Return the parts behind a mount target, as far as its clients are scraped."""
        places = [place for place in self._places.get(key_of(target), ()) if place.address]
        if not places:
            return Parts(remark="the address of this mount target is not known, so its clients are not known")
        of = at_place(*places)
        if kind == "operations":
            subjects = [ClientsMoment(place, self._at) for place in places]
            rows = operations_of(together(client_traffic(self._prometheus, subjects).values()))
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
        states, waits = (self._by(f"max by ({label}) ({name}{of})", label) for name in (OF_ADDRESSES, _WAIT))
        for key, operations in figures["operations"].items():
            iops, rtt = figures["iops"].get(key), figures["rtt"].get(key)
            yield LoadPart(
                key[0],
                None if iops is None else Bounds.exact(iops),
                operations,
                figures["read_bytes"].get(key),
                figures["written_bytes"].get(key),
                rtt / operations if rtt is not None and operations else None,
                failed=figures["failed"].get(key),
                state=State(int(states[key])) if key in states else None,
                waiting_seconds=waits.get(key) or None,
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


def _named(row: MountTargetRow, who: str) -> MountTargetRow:
    first, *others = row.state.reasons
    return replace(row, state=replace(row.state, reasons=(replace(first, who=who or first.who), *others)))


def _with_figures(
    placed: _PlacedRow,
    shares: list[Usage],
    limits: Mapping[Quantity, Mapping[tuple[str, ...], float]],
    clients: _ByPlace,
) -> MountTargetRow:
    row, usages = placed.row, list(shares)
    for quantity, loads in clients.items():
        if seen_at := [loads[place] for place in placed.places if place.address and place in loads]:
            seen = _together(seen_at)
            whole = best_known(usage.figure for usage in shares if usage.quantity is quantity)
            figure = replace(seen, coverage=coverage_of(seen.value, whole))
            usages.append(Usage(quantity, figure, limits[quantity].get((row.ocid,))))
    return replace(row, usages=tuple(usages))


def _together(figures: Sequence[KnownFigure]) -> KnownFigure:
    """Return what the clients at several addresses cause. The bounds are known if each has bounds."""
    bounds = [figure.bounds for figure in figures if figure.bounds is not None]
    value = sum(figure.value for figure in figures)
    whole = Bounds.total(bounds) if len(bounds) == len(figures) else None
    return replace(figures[0], value=value, bounds=whole)
