# SPDX-License-Identifier: Apache-2.0
"""The metric streams of a tenancy: one for each resource and each value of the further dimensions of a metric.

`metrics.yml` is the table of metrics. OWNERS gives the resources that a metric is published for, VALUES the figure of a
minute. A minute is epoch seconds // 60 of the moment when the minute ends.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from itertools import groupby, product
from operator import attrgetter
from typing import Any
from zlib import crc32

from fss_toolbox.demo.region import demo_tenancy as records
from fss_toolbox.demo.region.activity import Activity, chance, wave
from fss_toolbox.demo.region.api_operations import read_table

Value = Callable[[int], float | None]  # The raw value of a minute; None where nothing is published


@dataclass(frozen=True, slots=True)
class PublishedStream:
    """One metric stream. `resource_id` is the OCID of the publisher. The stream ends with this resource."""

    compartment_id: str
    resource_id: str
    dimensions: Mapping[str, str]
    value: Value
    seed: int  # decides gaps and delays


@dataclass(frozen=True, slots=True)
class PublishedMetric:
    """One metric of a namespace, with the row of `metrics.yml`."""

    namespace: str
    name: str
    row: Mapping[str, Any]

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of each stream."""
        return {"unit": self.row["unit"], "displayName": self.row["title"], "description": self.row["text"]}

    def streams(self, activity: Activity) -> Iterator[PublishedStream]:
        """Yield every stream of the metric in a tenancy."""
        figure, split = self.row["value"], self.row.get("split", {})
        make = _figure(lambda *_: figure) if type(figure) is float else VALUES[figure]
        for compartment_id, dimensions, subject in OWNERS[self.row["of"]](activity):
            for values in product(*split.values()):
                labels = {**dimensions, **dict(zip(split, values, strict=True))}
                figures = [row[value] for row, value in zip(split.values(), values, strict=True) if type(row) is dict]
                value = make(activity, subject, Split(values[-1] if values else "", figures[-1] if figures else 0.0))
                owner = dimensions.get("resourceId", activity.tenancy.id)
                seed = crc32(repr((self.name, sorted(labels.items()))).encode())
                yield PublishedStream(compartment_id, owner, labels, value, seed)


@dataclass(frozen=True, slots=True)
class Split:
    """The value of the last split dimension of a stream, and the figure that `metrics.yml` gives for the value."""

    value: str
    figure: float


@cache
def published_metrics() -> tuple[PublishedMetric, ...]:
    """Return the rows of `metrics.yml` in the order of the file."""
    table = read_table(files(__package__).joinpath("metrics.yml"))
    return tuple(PublishedMetric(namespace, *entry) for namespace, rows in table.items() for entry in rows.items())


@dataclass(frozen=True, slots=True)
class ExportGroup:
    """A mount target, or one file system behind a mount target, and the exports whose requests add up."""

    target: records.DemoMountTarget
    links: list[records.Link]
    file_system: records.DemoFileSystem | None = None


# -- owners: compartment, dimensions, subject

Owner = tuple[str, dict[str, str], Any]


def _exports(activity: Activity) -> Iterator[Owner]:
    """Yield each file system behind each mount target once, with all exports that join the two."""
    for target in activity.mount_targets.values():
        links = sorted(activity.links_of[target.id], key=lambda link: link.file_system_id)
        for file_system_id, joined in groupby(links, key=lambda link: link.file_system_id):
            system = activity.file_systems[file_system_id]
            labels = {"resourceId": system.id, "mountTargetId": target.id, "resourceType": "filesystem"}
            yield system.compartment_id, labels, ExportGroup(target, list(joined), system)


def _mount_targets(activity: Activity) -> Iterator[Owner]:
    for target in activity.mount_targets.values():
        labels = {"resourceId": target.id, "resourceType": "mountTarget"}
        yield target.compartment_id, labels, ExportGroup(target, activity.links_of[target.id])


def _published_iops(activity: Activity) -> Iterator[Owner]:
    yield from _mount_targets(activity) if activity.tenancy.publishes_iops else ()


def _named(resources: Callable[[records.Tenancy], Iterable[Any]], kind: str, activity: Activity) -> Iterator[Owner]:
    for resource in resources(activity.tenancy):
        kinds = {"resourceType": kind} if kind else {}
        yield resource.compartment_id, {"resourceId": resource.id, "resourceName": resource.name, **kinds}, resource


def _tenancy(dimensions: Callable[[records.Tenancy], dict[str, str]], activity: Activity) -> Iterator[Owner]:
    yield activity.tenancy.id, dimensions(activity.tenancy), activity.tenancy


def _kerberos(activity: Activity) -> Iterator[Owner]:
    for target in activity.mount_targets.values():
        if target.kerberos:
            yield target.compartment_id, {"resourceId": target.id, "mtResourceName": target.name}, target


def _ldap(activity: Activity) -> Iterator[Owner]:
    """Yield each pair of mount target and connector twice: the Ldap metrics are published for both resources."""
    connectors = {connector.id: connector for connector in activity.tenancy.connectors}
    for target in activity.mount_targets.values():
        if connector := connectors.get(target.connector_id):
            names = {"mountTargetId": target.id, "mtResourceName": target.name, "obcResourceName": connector.name}
            for owner in (target, connector):
                yield owner.compartment_id, {"resourceId": owner.id, **names}, target


def _volumes(activity: Activity, *, attached: bool) -> Iterator[Owner]:
    for volume in activity.tenancy.volumes:
        attachment = {"attachmentId": volume.id.replace("volume", "volumeattachment")} if attached else {}
        yield volume.compartment_id, {"resourceId": volume.id, **attachment}, volume


OWNERS: Mapping[str, Callable[[Activity], Iterator[Owner]]] = {
    "export": _exports,
    "mount_target": _mount_targets,
    "published_iops": _published_iops,
    "quota": partial(
        _named,
        lambda tenancy: [file_system for file_system in tenancy.file_systems if file_system.quota_rules],
        "fileSystem",
    ),
    "replication": partial(_named, lambda tenancy: tenancy.replications, "replication"),
    "tenancy": partial(_tenancy, lambda tenancy: {"tenantId": tenancy.id}),
    "lock_mode": partial(_tenancy, lambda _: {"lockMode": "GOVERNANCE"}),
    "kerberos": _kerberos,
    "ldap": _ldap,
    "lustre": partial(_named, lambda tenancy: tenancy.lustre_file_systems, ""),
    "attachment": partial(_volumes, attached=True),
    "volume": partial(_volumes, attached=False),
}

# -- values

MakeValue = Callable[[Activity, Any, Split], Value]


def _rate(of: Callable[[records.RequestMix, str], float], digits: int | None = None) -> MakeValue:
    def make(activity: Activity, subject: ExportGroup, split: Split) -> Value:
        rate = activity.rate(subject.links, lambda mix: of(mix, split.value))
        return lambda minute: float(round(rate(minute), digits))

    return make


def _latency(of: Callable[[records.RequestMix, str], float]) -> MakeValue:
    """Return a latency that grows as the mount target fills, and is silent while idle. Documented: "File System Metrics"."""

    def make(activity: Activity, subject: ExportGroup, split: Split) -> Value:
        asked = activity.rate(subject.links, lambda mix: of(mix, split.value))

        def value(minute: int) -> float | None:
            if not round(asked(minute), 2):
                return None
            pressure = activity.pressure(subject.target.id, minute)
            return round(split.figure * (1 + 2 * pressure**4 + 20 * max(0.0, pressure - 1)), 6)

        return value

    return make


def _figure(of: Callable[[Any, Split, int], float]) -> MakeValue:
    """Return a figure of resource, split and minute, whatever clients ask."""
    return lambda _activity, subject, split: lambda minute: of(subject, split, minute)


def _swung(per_second: Callable[[Any], float]) -> MakeValue:
    """Return an amount per minute that swings as the requests of the region do."""
    return _figure(
        lambda resource, _, minute: float(round(per_second(resource) * 60 * wave(crc32(resource.id.encode()), minute)))
    )


def _room(total: float, file_system: records.LustreFileSystem, split: Split) -> float:
    share = 1.0 if split.value == "total" else 1.0 - file_system.used_share
    return float(round(total * share))


def _replicated(replication: records.DemoReplication, minute: int) -> float:
    return float(round(replication.bytes_per_second * (0.9 + 0.2 * chance(replication.interval_minutes, minute))))


def _connections(subject: ExportGroup, _split: Split, minute: int) -> float:
    usual = subject.target.connections
    return float(round(usual * (0.97 + 0.06 * chance(usual, minute))))


def _health(subject: ExportGroup, split: Split, _minute: int) -> float:
    return subject.target.health if split.value == "SuccessRate" else round(100 - subject.target.health, 6)


def _events(_subject: object, split: Split, minute: int) -> float:
    """Return whole events of a minute whose long-run mean is the figure."""
    return float(int(split.figure + chance(crc32(split.value.encode()), minute)))


def _ldap_latency(_subject: object, split: Split, minute: int) -> float:
    return round(0.004 + 0.002 * chance(crc32(split.value.encode()), minute), 6)


VALUES: Mapping[str, MakeValue] = {
    "read_bytes": _rate(lambda mix, _: mix.read_bytes),
    "written_bytes": _rate(lambda mix, _: mix.written_bytes),
    "io_operations": _rate(lambda mix, _: mix.io_operations),
    "reads_of_size": _rate(lambda mix, bucket: mix.requests("READ", bucket), 2),
    "writes_of_size": _rate(lambda mix, bucket: mix.requests("WRITE", bucket), 2),
    "operations": _rate(lambda mix, operation: mix.requests(operation), 2),
    "read_latency": _latency(lambda mix, bucket: mix.requests("READ", bucket)),
    "write_latency": _latency(lambda mix, bucket: mix.requests("WRITE", bucket)),
    "metadata_latency": _latency(lambda mix, operation: mix.requests(operation)),
    "used_bytes": _figure(lambda subject, *_: float(subject.file_system.used_bytes)),
    "soft_quota": _figure(lambda resource, _, minute: float(int(chance(len(resource.id), minute) * 1.2) * 3)),
    "replicated": _figure(lambda resource, _, minute: _replicated(resource, minute)),
    "replicated_in_a_minute": _figure(lambda resource, _, minute: 60 * _replicated(resource, minute)),
    "recovery_point_age": _figure(lambda resource, _, minute: resource.recovery_point_age(minute)),
    "connections": _figure(_connections),
    "health": _figure(_health),
    "events": _figure(_events),
    "ldap_latency": _figure(_ldap_latency),
    **{
        f"swinging_{name}": _swung(attrgetter(name))
        for name in ("read_bytes", "written_bytes", "reads", "writes", "metadata_operations", "throttled")
    },
    "lustre_capacity": _figure(lambda resource, split, _: _room(resource.capacity_gb * 1e9, resource, split)),
    "lustre_inodes": _figure(lambda resource, split, _: _room(2e9, resource, split)),
    "guaranteed_iops": _figure(lambda resource, *_: resource.guaranteed_iops),
    "guaranteed_megabytes": _figure(lambda resource, *_: resource.guaranteed_bytes / 1e6),
}
