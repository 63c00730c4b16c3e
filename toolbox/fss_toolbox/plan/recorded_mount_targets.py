# SPDX-License-Identifier: Apache-2.0
"""The mount targets and other places that a Prometheus knows of a week: name, place, shape and ceilings."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from fss_exporter.addresses import NetworkAddress
from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import OCI_FSS
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import Prometheus, place_in, selector

_INFO: Final = "fss_mount_target_info"
_ADDRESSES: Final = "fss_mount_target_address_info"
_LIMITS: Final = {
    "iops": "fss_mount_target_iops_limit",
    "read_bytes_per_second": "fss_mount_target_read_bytes_per_second_limit",
    "write_bytes_per_second": "fss_mount_target_write_bytes_per_second_limit",
    "connections": "fss_mount_target_connections_limit",
    "encrypted_connections": "fss_mount_target_encrypted_connections_limit",
}
_OBSERVED: Final = {
    field: name.replace("fss_mount_target_", "fss_mount_target_observed_")
    for field, name in _LIMITS.items()
    if "connections" not in field
}


@dataclass(frozen=True, slots=True)
class RecordedMountTarget:
    """A mount target of the week as Prometheus has it."""

    id: str  # OCID. Empty if only clients know the mount target
    name: str = ""  # display name
    # None if the address is unknown, or if two mount targets of the network have the address
    place: NetworkAddress | None = None
    shape: str = ""  # empty if unknown
    limits: Limits | None = None  # None if Prometheus has none
    observed: Limits | None = None  # ceilings that the poller observed. None if it observed none


def without_load(recorded: Iterable[RecordedMountTarget], loads: Iterable[Load]) -> list[str]:
    """Return the names of known mount targets that no load is of."""
    loads = tuple(loads)
    ids, places = {load.mount_target_id for load in loads}, {load.place for load in loads if load.place}
    return [target.name or target.id for target in recorded if target.id not in ids and target.place not in places]


def named_services(prometheus: Prometheus, address: str | None = None) -> dict[NetworkAddress, set[str]]:
    """Return the storage services that clients name for each mounted place, or that they named last in the week.

    A mount whose address is not known is at no place.

    Raises:
        SourceError: Prometheus does not answer.
    """
    series = f"fss_client_service_info{selector('address', address)}"
    query = _last(series, "network, address", series)
    services: dict[NetworkAddress, set[str]] = defaultdict(set)
    for labels, _ in prometheus.at(query, prometheus.now):
        if labels.get("address"):
            services[place_in(labels)].add(labels.get("service", ""))
    return services


def other_services(prometheus: Prometheus, address: str | None = None) -> dict[NetworkAddress, str]:
    """Return the storage service of each mounted place that no client calls OCI File Storage.

    Raises:
        SourceError: Prometheus does not answer.
    """
    services = sorted(named_services(prometheus, address).items())
    return {place: min(named) for place, named in services if OCI_FSS.name not in named}


def recorded_mount_targets(prometheus: Prometheus, address: str | None = None) -> dict[str, RecordedMountTarget]:
    """Return the mount targets of the week by OCID. An impossible ceiling is noted and left out.

    Raises:
        SourceError: Prometheus does not answer.
    """
    query = _last(f"{_INFO}{selector('address', address)}", "mount_target_id", _INFO)
    ceilings, observed = _ceilings(prometheus, _LIMITS), _ceilings(prometheus, _OBSERVED)
    recorded = {}
    for labels, _ in prometheus.at(query, prometheus.now):
        ocid = ocid_of(labels)
        recorded[ocid] = RecordedMountTarget(
            ocid,
            labels.get("mount_target", ""),
            place_in(labels) if labels.get("address") else None,
            labels.get("shape", ""),
            ceilings.get(ocid),
            observed.get(ocid),
        )
    return recorded


def further_places(
    prometheus: Prometheus, recorded: Mapping[str, RecordedMountTarget]
) -> dict[NetworkAddress, RecordedMountTarget]:
    """Return the mount targets behind addresses other than the one that names them, such as those of IPv6.

    Raises:
        SourceError: Prometheus does not answer.
    """
    rows = prometheus.at(f"last_over_time({_ADDRESSES}[7d])", prometheus.now)
    behind = {place_in(labels): recorded[ocid_of(labels)] for labels, _ in rows if ocid_of(labels) in recorded}
    return {place: target for place, target in behind.items() if place != target.place}


def _ceilings(prometheus: Prometheus, names: Mapping[str, str]) -> dict[str, Limits]:
    """Return the ceilings by OCID, of series by field of `Limits`."""
    ceilings: dict[str, dict[str, float]] = defaultdict(dict)
    for field, name in names.items():
        newest = f"max by (mount_target_id) ({_last(name, 'mount_target_id', _INFO)})"
        for (ocid,), value in prometheus.by(newest, prometheus.now, "mount_target_id").items():
            if value < 1:
                prometheus.note(f"{name} of {ocid} is {value:g} and left out: no mount target has less than 1")
            else:
                ceilings[ocid][field] = value
    return {ocid: Limits(**fields) for ocid, fields in ceilings.items()}


def ocid_of(labels: Mapping[str, str]) -> str:
    """Return the OCID of the mount target of a series. Empty for a series without one."""
    return labels.get("mount_target_id", "")


def _last(series: str, subject: str, info: str) -> str:
    """Return the query of the last values of the week. `subject` are the labels that name what a series is about.

    Of a subject whose series `info` was scraped in the last ten minutes, nothing older counts: for example neither the earlier
    shape of a mount target, nor a ceiling that the present shape does not have.
    """
    present = f"last_over_time({info}[10m])"
    return f"last_over_time({series}[10m]) or (last_over_time({series}[7d]) unless on ({subject}) {present})"
