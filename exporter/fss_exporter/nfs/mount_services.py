# SPDX-License-Identifier: Apache-2.0
"""Look up the storage service of a mount: from the configuration, from the server's name, or by default.

The lookup runs when the mounts change, never in a tick. By default an NFSv3 mount over TCP belongs to OCI File Storage, because the
service offers nothing else. A mount of NFSv4, UDP or RDMA belongs to an unknown service, and has raw counters and no estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from fss_exporter.model import service_table
from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import NONE, OCI_FSS, CostRule, OneClient, SeriesKey, Service
from fss_exporter.model.thresholds import WARNING_RATIO

_NFS3: Final = "nfs"


@dataclass(frozen=True, slots=True)
class Claim:
    """The operator's statement about some mounts. `*` in a pattern matches any text, and an empty pattern matches everything."""

    service: str  # name of a row of the table of services
    kind: str = ""  # type of the service. Empty if the operator names none
    capacity_bytes: float | None = None  # capacity of the file system or volume. None if the operator names none
    # address, server, export: patterns
    address: str = ""
    server: str = ""
    export: str = ""

    def fits(self, key: SeriesKey) -> bool:
        """Whether the claim matches a mount."""
        claimed = (self.address, self.server.lower(), self.export)
        return all(map(_matches, (key.address, key.server.lower(), key.export), claimed))


def _matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern, in which only `*` is special."""
    return not pattern or fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))


@dataclass(frozen=True, slots=True)
class MountStorage:
    """The storage behind a mount."""

    service: Service  # row of the table
    cost: CostRule  # way of counting operations
    stated: bool = False  # True if the configuration or the server's name decides. False for the default
    kind: str = ""  # type of the service. Empty if not stated
    ceilings: Limits = field(default_factory=Limits)  # without those that nobody states
    warning_ratio: float = WARNING_RATIO  # share of a ceiling that is near

    @property
    def has_ceilings(self) -> bool:
        """Whether the configuration states any ceiling."""
        return self.ceilings != Limits()

    @property
    def one_client(self) -> OneClient | None:
        """Documented throughput of a single client. None if the type is unknown."""
        kind = self.service.kinds.get(self.kind)
        return None if kind is None else kind.one_client


ASSUMED_NFS3: Final = MountStorage(OCI_FSS, OCI_FSS.cost)
ASSUMED_OTHER: Final = MountStorage(NONE, NONE.cost)


class Services:
    """Look up the services of mounts. The first claim that fits wins, and a claim wins over a server name."""

    def __init__(self, claims: Sequence[Claim] = (), warning_ratio: float = WARNING_RATIO) -> None:
        self._claims = tuple(claims)
        self._warning_ratio = warning_ratio

    def of(self, key: SeriesKey, fstype: str, *, is_tcp: bool = True) -> MountStorage:
        """Return the service of a mount. `fstype` is `nfs` or `nfs4`."""
        claim = next((rule for rule in self._claims if rule.fits(key)), None)
        service = service_table.recognised(key.server) if claim is None else service_table.SERVICES[claim.service]
        if service is None:
            return ASSUMED_NFS3 if fstype == _NFS3 and is_tcp else ASSUMED_OTHER
        # OCI File Storage has weights for NFSv3 procedures only.
        cost = NONE.cost if service.cost == OCI_FSS.cost and fstype != _NFS3 else service.cost
        if claim is None:
            return MountStorage(service, cost, stated=True)
        ceilings = service.ceilings(claim.kind, claim.capacity_bytes)
        return MountStorage(
            service, cost, stated=True, kind=claim.kind, ceilings=ceilings, warning_ratio=self._warning_ratio
        )


BY_NAME: Final = Services()  # The server's name decides, because the operator claims no mount
