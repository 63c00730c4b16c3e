"""Metric families of storage services that the configuration or a server's name states: ceilings and objectives."""

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
    kinds = sorted({(*superblock.key, superblock.known.kind) for superblock in stated})
    yield family("fss_client_service_info", ((labels, 1.0) for labels in kinds))
    by_address: dict[str, set[Ceilings]] = {}
    for superblock in stated:
        by_address.setdefault(superblock.key.address, set()).add(superblock.known.ceilings)
    for name, value_of in _LIMITS.items():
        # Exports of one address with unlike ceilings share no ceiling.
        values = {address: value_of(*found) for address, found in by_address.items() if len(found) == 1}
        if known := [((address,), value) for address, value in values.items() if value is not None]:
            yield family(name, known)
    yield from _objectives(stated)


def _objectives(stated: Iterable[Superblock]) -> Iterator[Family]:
    """Return the documented throughput of a single client by address, without an address whose exports differ in type."""
    by_address: dict[str, set[OneClient | None]] = {}
    for superblock in stated:
        by_address.setdefault(superblock.key.address, set()).add(superblock.known.one_client)
    for name, values_of in _OBJECTIVES.items():
        known = [
            ((address, operation), value)
            for address, found in by_address.items()
            for one in (found if len(found) == 1 else ())
            if one is not None
            for operation, value in zip((READ, WRITE), values_of(one), strict=True)
        ]
        if known:
            yield family(name, known)
