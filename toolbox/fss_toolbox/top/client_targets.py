# SPDX-License-Identifier: Apache-2.0
"""Mount targets as one client sees them: its own traffic against the ceilings, which is a part of the load."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.limits import Limits
from fss_exporter.served_ceilings import ServedCeilings
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage
from fss_toolbox.ceilings import Judge
from fss_toolbox.iostat.traffic_report import Report, ReportLine, ReportOrder, parts_of, targets_of
from fss_toolbox.sizing.uses import BOTH_DIRECTIONS, CONNECTIONS, IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH, Use
from fss_toolbox.top.picture import LoadPart, Parts, operations_of, part_of

_QUANTITIES = {
    IOPS: Quantity.IOPS,
    READ_BANDWIDTH: Quantity.READ,
    WRITE_BANDWIDTH: Quantity.WRITE,
    BOTH_DIRECTIONS: Quantity.BOTH,
    CONNECTIONS: Quantity.CONNECTIONS,
}
ONE_CLIENT = "only this client is seen. --prometheus shows all clients of a mount target"
NO_MOUNT = Parts(remark="this client has no mount of this mount target")
NO_LOAD = "no load in this interval"


def client_targets(report: Report, judge: Judge, listed: Collection[str] = ()) -> Iterator[MountTargetRow]:
    """Yield a mount target for each address of a report. The addresses in `known` are left out."""
    for line in targets_of(report, judge, "iops"):
        if line.name not in listed:
            served = judge.served.get(line.name) or ServedCeilings(Limits(), shape=judge.shape)
            iops = line.traffic.iops and KnownFigure.of(line.traffic.iops, FigureSource.HOST)
            row = row_of_clients(line.name, "", served, line.compare(line.traffic), FigureSource.HOST, iops)
            yield replace(row, state=line.state)


def row_of_clients(
    address: str,
    region: str,
    served: ServedCeilings,
    uses: Collection[Use],
    source: FigureSource,
    iops: KnownFigure | None,
) -> MountTargetRow:
    """Return the row of an address of which only the load of clients is known. Clients estimate IOPS, and count bytes."""
    compared = [use for use in uses if use.resource in _QUANTITIES]
    return MountTargetRow(
        name=served.name,
        region=region,
        address=address,
        shape=served.shape,
        lifecycle="",
        usages=tuple(
            Usage(_QUANTITIES[use.resource], figure, use.limit)
            for use in compared
            if use.demand is not None
            and (figure := iops if use.resource == IOPS else KnownFigure.counted(use.demand, source)) is not None
        ),
    )


def client_parts(report: Report, judge: Judge, address: str, kind: str) -> Parts:
    """Return the mounts, operations or the single client of an address in a report."""
    lines = [line for line in targets_of(report, judge, "iops") if line.name == address]
    if not lines:
        return NO_MOUNT
    if kind == "clients":
        own = replace(part_of(report.source, lines[0].traffic), state=lines[0].state.state)
        return Parts((own,), ONE_CLIENT)
    rows = _mounts(report, lines[0]) if kind == "mounts" else operations_of(lines[0].traffic)
    return Parts(tuple(rows), "" if rows else NO_LOAD)


def _mounts(report: Report, target: ReportLine) -> tuple[LoadPart, ...]:
    lines = parts_of(report, target, ReportOrder("mount", "iops", None))
    return tuple(
        part_of(
            line.mount.export if line.mount else line.name,
            line.traffic,
            ", ".join(report.mount_points.get(line.mount, ())) if line.mount else "",
        )
        for line in lines
    )
