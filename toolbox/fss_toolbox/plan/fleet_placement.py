# SPDX-License-Identifier: Apache-2.0
"""Which clients and file systems go to which mount target, from a Prometheus that scrapes a poller."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fss_exporter.errors import SourceError
from fss_exporter.model.knowledge import FigureSource
from fss_exporter.model.limits import Limits
from fss_toolbox.plan.fleet import fleet_of, series_of
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import Prometheus, texts
from fss_toolbox.plan.recorded_mount_targets import ocid_of
from fss_toolbox.sizing.advice import MountLoad, TargetLoad
from fss_toolbox.sizing.placement import Amounts, MovablePart, Move, PlacedTarget, Placement, placed
from fss_toolbox.sizing.uses import IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH

# Share of the load of a file system from which the rest is the error of estimates, and no further clients.
_SEEN: Final = 0.9


@dataclass(frozen=True, slots=True)
class MovingMount:
    """A mount point of a client whose load moves, with the labels of `fss_client_mount_info`."""

    client: str
    source: str  # name of the mount target in the placement
    file_system: str  # OCID
    mount_point: str
    nfs_version: str
    nconnect: str
    hard: str  # `true` or `false`
    sec: str
    encrypted: str  # `true` or `false`


@dataclass(frozen=True, slots=True)
class Home:
    """Where a mount target is. A text is empty if it is not known."""

    domain: str = ""  # availability domain
    region: str = ""
    compartment: str = ""  # name, or the OCID of a compartment whose name may not be read


@dataclass(frozen=True, slots=True)
class FleetPlacement:
    """A placement with the names that people and programs need for it."""

    placement: Placement
    before: Mapping[str, float | None]  # share of the fullest ceiling today, by name of the mount target
    names: Mapping[str, str]  # display names of mount targets by name in the placement, and of file systems by OCID
    ids: Mapping[str, str]  # OCIDs of the mount targets that exist, by name in the placement
    addresses: Mapping[str, str]  # of the mount targets that exist, and of new ones where stated
    homes: Mapping[str, Home]  # of the mount targets that exist
    mounts: Sequence[MovingMount]  # of the clients that move
    left_out: Sequence[str]  # names of mount targets whose whole load is not known
    most: int | None  # most mount targets that may be there. None without a bound

    def target_named(self, name: str) -> PlacedTarget:
        """Return a mount target after the moves."""
        return next(each for each in self.placement.targets if each.name == name)

    def home_of(self, name: str) -> Home:
        """Return where a mount target is. A new one belongs to the first mount target that gives load to it."""
        first = next((move.source for move in self.placement.moves if move.target == name), name)
        return self.homes.get(name) or self.homes.get(first) or Home()


def fleet_placement(
    prometheus: Prometheus,
    loads: Mapping[str, Load],
    new: Limits,
    target: float,
    most: int | None,
    new_addresses: Sequence[str],
) -> FleetPlacement:
    """Return the placement of a fleet on at most `most` mount targets, or on as many as it takes.

    `loads` are by name. `new` are the ceilings of a new mount target.

    Raises:
        SourceError: Prometheus does not answer, or knows the whole load of no mount target.
    """
    whole = {name: load for name, load in loads.items() if load.mount_target_id}
    left_out = [name for name in loads if name not in whole]
    if not whole:
        raise SourceError(
            "--place needs the whole load of mount targets, and Prometheus has the load of scraped clients alone. Scrape a poller"
        )
    fleet = fleet_of(prometheus, whole)
    homes_by_id = _homes(prometheus)
    homes = {name: homes_by_id.get(load.mount_target_id, Home()) for name, load in whole.items()}
    targets = [
        _placed_target(each, whole[each.place], fleet.mounts, homes[each.place].domain) for each in fleet.targets
    ]
    most_new = len(targets) if most is None else most - len(loads)
    found = placed(targets, Amounts.ceilings(new), most_new, target)
    new_names = [each.name for each in found.targets if each.is_new]
    stated = dict(zip(new_names, new_addresses, strict=False))
    return FleetPlacement(
        found,
        before={each.name: each.share for each in targets},
        names={each.place: each.name for each in fleet.targets}
        | {ocid: name for each in fleet.targets for ocid, name in each.names.items()},
        ids={name: load.mount_target_id for name, load in whole.items()},
        addresses={name: load.place.address for name, load in whole.items() if load.place} | stated,
        homes=homes,
        mounts=list(_client_mounts(prometheus, whole, fleet.targets, found.moves)),
        left_out=left_out,
        most=most,
    )


def _homes(prometheus: Prometheus) -> dict[str, Home]:
    """Return where each mount target is by OCID."""
    labels_of_home = ("availability_domain", "region", "compartment")
    query = f"group by (mount_target_id, {', '.join(labels_of_home)}) (last_over_time(fss_mount_target_info[7d]))"
    return {
        ocid_of(labels): Home(*texts(labels, *labels_of_home)) for labels, _ in prometheus.at(query, prometheus.now)
    }


def _placed_target(own: TargetLoad, load: Load, mounts: Sequence[MountLoad], domain: str) -> PlacedTarget:
    used = [own.use(resource) for resource in (IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH)]
    whole = Amounts(*(use.demand for use in used))
    if load.iops_figure is None or load.iops_figure.source is FigureSource.CLIENTS:
        whole = whole._replace(iops=None)  # That of the clients is a part, and the whole is not known.
    return PlacedTarget(
        own.place,
        (load.place.network if load.place else "", domain or own.place),
        Amounts(*(use.limit for use in used)),
        whole,
        own.exports,
        () if None in whole or not domain else tuple(_parts(own, whole, mounts)),
    )


def _parts(own: TargetLoad, whole: Amounts, mounts: Sequence[MountLoad]) -> Iterator[MovablePart]:
    """Yield the load of each scraped client on each file system, and of the other clients of the file system."""
    by_client: dict[str, dict[str, Amounts]] = defaultdict(dict)
    for mount in mounts:
        file_system = own.exports.get(mount.export, "")
        if mount.place == own.place and file_system and mount.traffic.iops is not None:
            amounts = Amounts(mount.iops, mount.traffic.read_bytes, mount.traffic.written_bytes)
            clients = by_client[file_system]
            clients[mount.client] = clients[mount.client].plus(amounts) if mount.client in clients else amounts
    for file_system, amounts in _of_file_systems(own, whole).items():
        rest = amounts
        for client, part in by_client[file_system].items():
            yield MovablePart(file_system, client, part)
            rest = rest.plus(part, -1.0)
        if any((left or 0.0) > (1 - _SEEN) * (all_of_it or 0.0) for left, all_of_it in zip(rest, amounts, strict=True)):
            yield MovablePart(file_system, "", rest)


def _of_file_systems(own: TargetLoad, whole: Amounts) -> dict[str, Amounts]:
    """Return the load of each file system. OCI publishes not all operations, so its figures give shares of the whole."""
    seen = {ocid: (own.file_systems[ocid], *own.transfers.get(ocid, (0.0, 0.0))) for ocid in own.file_systems}
    sums = [sum(figures) for figures in zip(*seen.values(), strict=True)]
    return {
        ocid: Amounts(
            *(
                (amount or 0.0) * (figure / total if total else 1.0 if len(seen) == 1 else 0.0)
                for amount, figure, total in zip(whole, figures, sums, strict=True)
            )
        )
        for ocid, figures in seen.items()
    }


_LABELS: Final = ("instance", "export", "mount_point", "nfs_version", "nconnect", "hard", "sec", "encrypted")


def _client_mounts(
    prometheus: Prometheus,
    loads: Mapping[str, Load],
    targets: Sequence[TargetLoad],
    moves: Sequence[Move],
) -> Iterator[MovingMount]:
    """Yield the mount points of the clients that move."""
    moving = {(move.source, move.part.client, move.part.file_system) for move in moves if move.part.client}
    sources = {source for source, _, _ in moving}
    queries = {
        name: f"group by ({', '.join(_LABELS)}) (fss_client_mount_info{series_of(loads[name])} @ {loads[name].moment})"
        for name in sources
    }
    exports = {each.place: each.exports for each in targets}
    for source, samples in prometheus.together(queries).items():
        for labels, _ in samples:
            client, export, *options = texts(labels, *_LABELS)
            file_system = exports[source].get(export, "")
            if (source, client, file_system) in moving:
                yield MovingMount(client, source, file_system, *options)
