# SPDX-License-Identifier: Apache-2.0
"""The ceilings that an exporter serves with its metrics, by address, and what OCI says of the load there."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fss_exporter.addresses import mount_targets_of_host
from fss_exporter.model.knowledge import FigureSource, KnownFigure, best_known
from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import OCI_FSS
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.samples import Samples

_OF_MOUNT_TARGETS: Final = {
    "iops": "fss_mount_target_iops_limit",
    "read_bytes_per_second": "fss_mount_target_read_bytes_per_second_limit",
    "write_bytes_per_second": "fss_mount_target_write_bytes_per_second_limit",
    "connections": "fss_mount_target_connections_limit",
    "encrypted_connections": "fss_mount_target_encrypted_connections_limit",
}

# Metric of a client by the name of the ceiling in `Limits`.
CEILINGS_OF_SERVICES: Final = {
    "iops": "fss_client_iops_limit",
    "read_bytes_per_second": "fss_client_read_bytes_per_second_limit",
    "write_bytes_per_second": "fss_client_write_bytes_per_second_limit",
    "bytes_per_second": "fss_client_bytes_per_second_limit",
}

SOURCES: Final = {"measured": FigureSource.MEASURED, "oci": FigureSource.OCI}  # source by value of the label `source`


@dataclass(frozen=True, slots=True)
class ServedCeilings:
    """The ceilings of one address."""

    limits: Limits
    name: str = ""  # display name of the mount target, or the service. Empty if the exporter does not know it
    shape: str = ""  # shape of the mount target, or type of the service. Empty if unknown
    service: str = OCI_FSS.name
    # IOPS of all clients together, as OCI knows them. None if OCI said nothing for an hour
    whole: KnownFigure | None = None
    warning_ratio: float = WARNING_RATIO  # share of a ceiling that is near


def served_ceilings(samples: Samples) -> dict[str, ServedCeilings]:
    """Return the ceilings on a host's page of metrics by address. An address of two mount targets is not among them."""
    return {**dict(_services(samples)), **dict(_mount_targets(samples))}


def _services(samples: Samples) -> Iterator[tuple[str, ServedCeilings]]:
    ceilings = _limits(samples, CEILINGS_OF_SERVICES, "address")
    infos = {labels["address"]: labels for labels, _ in samples.all("fss_client_service_info")}
    near = samples.by("fss_client_warning_ratio", "address")
    for address in {*ceilings, *infos}:
        service, kind = (infos.get(address, {}).get(name, "") for name in ("service", "kind"))
        limits = ceilings.get(address, Limits())
        ratio = near.get((address,), WARNING_RATIO)
        yield address, ServedCeilings(limits, service, kind, service or OCI_FSS.name, warning_ratio=ratio)


def _mount_targets(samples: Samples) -> Iterator[tuple[str, ServedCeilings]]:
    ceilings = _limits(samples, _OF_MOUNT_TARGETS, "mount_target_id")
    shares: dict[str, list[KnownFigure]] = defaultdict(list)
    for mount_target, resource, figure in last_shares(samples):
        if resource == "iops":
            shares[mount_target].append(figure)
    near = samples.by("fss_oci_warning_ratio", "tenancy", "region")
    for address, labels in mount_targets_of_host(samples).items():
        target = labels["mount_target_id"]
        limits, share = ceilings.get(target, Limits()), best_known(shares[target])
        whole = None
        if share is not None and limits.iops is not None:
            whole = share.times(limits.iops)
        ratio = near.get((labels.get("tenancy", ""), labels.get("region", "")), WARNING_RATIO)
        yield address, ServedCeilings(limits, labels["mount_target"], labels["shape"], whole=whole, warning_ratio=ratio)


def last_shares(samples: Samples) -> Iterator[tuple[str, str, KnownFigure]]:
    """Yield the mean shares of ceilings that a poller keeps for an hour: OCID, resource and share."""
    ages = samples.by("fss_mount_target_data_age_seconds", "mount_target_id", "resource")
    for labels, ratio in samples.all("fss_mount_target_utilisation_ratio"):
        if labels["statistic"] == "mean":
            target, resource = labels["mount_target_id"], labels["resource"]
            yield target, resource, KnownFigure(ratio, SOURCES[labels["source"]], ages.get((target, resource)))


def _limits(samples: Samples, names: Mapping[str, str], label: str) -> dict[str, Limits]:
    limits: dict[str, dict[str, float]] = {}
    for field, name in names.items():
        for (key,), value in samples.by(name, label).items():
            limits.setdefault(key, {})[field] = value
    return {key: Limits(**fields) for key, fields in limits.items()}
