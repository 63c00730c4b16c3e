# SPDX-License-Identifier: Apache-2.0
"""The answer of `plan --place`: moves, shares before and after, and the lines to paste."""

from collections.abc import Iterator
from typing import Any

from fss_exporter.model.limits import STANDARD
from fss_toolbox import printed
from fss_toolbox.plan.answer import Section
from fss_toolbox.plan.fleet_placement import FleetPlacement
from fss_toolbox.plan.placed_lines import fstab_lines, persistent_volumes, terraform
from fss_toolbox.sizing.placement import RESOURCES, Move, PlacedTarget
from fss_toolbox.tables import Column, Row, colour

_MOVES = (
    Column("client", left=True),
    Column("file system", left=True),
    Column("from", left=True),
    Column("to", left=True),
)
_SHARES = (Column("mount target", left=True), Column("now"), Column("then"), Column("fullest", 1, left=True))


def placement_sections(fleet: FleetPlacement, target: float) -> Iterator[Section]:
    """Yield the moves, the shares and the lines."""
    moves = [
        Row((_who(move), _name(fleet, move.part.file_system), _name(fleet, move.source), _name(fleet, move.target)))
        for move in fleet.placement.moves
    ]
    if moves:
        yield Section(f"Moves that keep each known ceiling at or below {printed.percent(target)}", _MOVES, moves)
    shares = [_share_row(fleet, each) for each in fleet.placement.targets]
    yield Section("Shares of the fullest ceiling", _SHARES, shares)
    yield Section(sentences=list(sentences(fleet)))
    if new := terraform(fleet):
        yield Section("Terraform: mount targets and exports to add first", pasted=new.rstrip("\n"))
    for client, lines in fstab_lines(fleet).items():
        if lines:
            yield Section(f"/etc/fstab of {client or 'other clients'}", pasted="\n".join(lines))
    if volumes := persistent_volumes(fleet):
        yield Section("Kubernetes: volumes in place of those of the pods", pasted=volumes.rstrip("\n"))


def _name(fleet: FleetPlacement, name: str) -> str:
    return fleet.names.get(name) or name


def _who(move: Move) -> str:
    share = "all" if move.share == 1 else f"{move.share:.0%}"
    return move.part.client or f"{share} of those not scraped"


def _share_row(fleet: FleetPlacement, each: PlacedTarget) -> Row:
    before = 0.0 if each.is_new else fleet.before.get(each.name)
    unknown = [RESOURCES[at] for at, share in enumerate(each.shares) if share is None]
    fullest = RESOURCES[each.fullest]
    judged = f"{fullest}, {' and '.join(unknown)} not known" if unknown else fullest
    return Row(
        (_name(fleet, each.name), printed.percent(before), printed.percent(each.share), judged), colour(each.share)
    )


def sentences(fleet: FleetPlacement) -> Iterator[str]:
    """Yield what the moves rest on, and what stays."""
    placement = fleet.placement
    if not placement.moves and not placement.stuck:
        yield "no moves: each mount target is below the target by its known ceilings"
    for name, reason in placement.stuck.items():
        bound = f". --mount-targets allows {fleet.most}" if fleet.most is not None else ""
        yield f"{_name(fleet, name)} stays above: {reason}{bound}"
    if fleet.left_out:
        yield f"not placed, because only scraped clients are known: {', '.join(fleet.left_out)}"
    if placement.moves:
        yield "each mount target counts in its busiest five minutes of the week, so the shares are at most these"
    new = [each.name for each in placement.new]
    if new:
        yield f"new mount targets for loads counted like this: needs at least {placement.least_new}, found {len(new)}"
        allowed = STANDARD.default_service_limit
        yield (
            f"new mount targets are of shape {STANDARD.name}. The service limit is {allowed} in each availability domain by default"
        )
    missing = [name for name in new if name not in fleet.addresses]
    if missing:
        yield f"state free addresses of their subnet with --new-address in place of {', '.join(f'ADDRESS-OF-{name}' for name in missing)}"


def placement_document(fleet: FleetPlacement) -> dict[str, Any]:
    """Return the placement as JSON. Schema: docs/schemas/plan.json."""
    return {
        "moves": [
            {
                "client": move.part.client or None,
                "share": move.share,
                "file_system_id": move.part.file_system,
                "file_system": _name(fleet, move.part.file_system),
                "from": _name(fleet, move.source),
                "to": _name(fleet, move.target),
                "to_address": fleet.addresses.get(move.target),
                "path": move.path,
                "needs_export": move.needs_export,
            }
            for move in fleet.placement.moves
        ],
        "mount_targets": [
            {
                "name": _name(fleet, each.name),
                "address": fleet.addresses.get(each.name),
                "availability_domain": each.zone[1],
                "is_new": each.is_new,
                "ratio_now": 0.0 if each.is_new else fleet.before.get(each.name),
                "ratio_then": each.share,
            }
            for each in fleet.placement.targets
        ],
        "sentences": list(sentences(fleet)),
        "terraform": terraform(fleet),
        "fstab": fstab_lines(fleet),
        "persistent_volumes": persistent_volumes(fleet),
    }
