"""Metric families of stated storage services: ceilings and objectives. The configuration or a server's name states a
service.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from fss_exporter.catalogue import Family, family
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import Ceilings, OneClient
from fss_exporter.nfs.superblocks import Superblock

_LIMITS: dict[str, Callable[[Ceilings], float | None]] = {
    "fss_client_iops_limit": lambda ceilings: ceilings.iops,
    "fss_client_read_bytes_per_second_limit": lambda ceilings: ceilings.read_bytes_per_second,
    "fss_client_write_bytes_per_second_limit": lambda ceilings: ceilings.write_bytes_per_second,
    "fss_client_bytes_per_second_limit": lambda ceilings: ceilings.bytes_per_second,
}

_OBJECTIVES: dict[str, Callable[[OneClient], tuple[float, float]]] = {
    "fss_client_objective_operations_per_second": lambda one: (one.read_iops, one.write_iops),
    "fss_client_objective_bytes_per_second": lambda one: (one.read_bytes_per_second, one.write_bytes_per_second),
}


def service_families(superblocks: Sequence[Superblock]) -> Iterator[Family]:
    """Return the families of the services of these superblocks. Empty on a host without a stated service."""
    stated = [superblock for superblock in superblocks if superblock.known.stated]
    if not stated:
        return
    info = family("fss_client_service_info")
    for labels in sorted({_service_labels(superblock) for superblock in stated}):
        info.add_metric(labels)
    yield info
    by_address: dict[str, set[Ceilings]] = {}
    for superblock in stated:
        by_address.setdefault(superblock.key.address, set()).add(superblock.known.ceilings)
    for name, value_of in _LIMITS.items():
        limits = family(name)
        for address, found in by_address.items():
            value = value_of(next(iter(found)))
            # Exports of one address with unlike ceilings share no ceiling that one number could tell.
            if value is not None and len(found) == 1:
                limits.add_metric((address,), value)
        if limits.values:
            yield limits
    yield from _objectives(stated)


def _objectives(stated: Iterable[Superblock]) -> Iterator[Family]:
    """Return the documented throughput of a single client by address. Empty if the exports of an address have different
    types.
    """
    by_address: dict[str, set[OneClient | None]] = {}
    for superblock in stated:
        by_address.setdefault(superblock.key.address, set()).add(superblock.known.one_client)
    for name, values_of in _OBJECTIVES.items():
        objectives = family(name)
        for address, found in by_address.items():
            one = next(iter(found)) if len(found) == 1 else None
            for operation, value in zip((READ, WRITE), values_of(one) if one else (), strict=False):
                objectives.add_metric((address, operation), value)
        if objectives.values:
            yield objectives


def _service_labels(superblock: Superblock) -> tuple[str, ...]:
    return *superblock.key, superblock.known.kind
