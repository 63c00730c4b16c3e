"""Find the storage service of a mount: from the configuration, from the server's name, or by default.

The lookup runs when the mounts change, never in a tick. By default an NFSv3 mount belongs to OCI File Storage, because the
service offers no other version. An NFSv4 mount belongs to an unknown service. Such a mount has raw counters and no
estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, Protocol

from fss_exporter.model.service_table import NONE, OCI_FSS, SERVICES, Ceilings, CostRule, OneClient, Service, recognised

_NFS3: Final = "nfs"


class MountKey(Protocol):
    """Address, server and export of a mount."""

    @property
    def address(self) -> str:
        """Of the server."""

    @property
    def server(self) -> str:
        """The server's name as mounted."""

    @property
    def export(self) -> str:
        """Path of the export."""


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

    def fits(self, key: MountKey) -> bool:
        """Whether the claim matches a mount."""
        return (
            fnmatchcase(key.address, self.address or "*")
            and fnmatchcase(key.server.lower(), self.server.lower() or "*")
            and fnmatchcase(key.export, self.export or "*")
        )


@dataclass(frozen=True, slots=True)
class Known:
    """The known facts about the service behind a mount."""

    service: Service  # row of the table
    cost: CostRule  # way of counting operations
    stated: bool = False  # True if the configuration or the server's name decides. False for the default
    kind: str = ""  # type of the service. Empty if unknown
    ceilings: Ceilings = field(default_factory=Ceilings)  # the known ceilings

    @property
    def one_client(self) -> OneClient | None:
        """Documented throughput of a single client. None if the type is unknown."""
        kind = self.service.kinds.get(self.kind)
        return None if kind is None else kind.one_client


ASSUMED_NFS3: Final = Known(OCI_FSS, OCI_FSS.cost)
ASSUMED_OTHER: Final = Known(NONE, NONE.cost)


class Services:
    """Look up the services of mounts.

    Args:
        claims: statements of the operator. The first match wins, and a claim wins over a server name.
    """

    def __init__(self, claims: Sequence[Claim] = ()) -> None:
        self._claims = tuple(claims)

    def of(self, key: MountKey, fstype: str) -> Known:
        """Return the service of a mount.

        Args:
            key: address, server and export.
            fstype: `nfs` or `nfs4`.
        """
        claim = next((one for one in self._claims if one.fits(key)), None)
        service = recognised(key.server) if claim is None else SERVICES[claim.service]
        if service is None:
            return ASSUMED_NFS3 if fstype == _NFS3 else ASSUMED_OTHER
        # The weights of OCI File Storage are those of NFSv3 procedures.
        cost = NONE.cost if service.cost == OCI_FSS.cost and fstype != _NFS3 else service.cost
        if claim is None:
            return Known(service, cost, stated=True)
        return Known(
            service,
            cost,
            stated=True,
            kind=claim.kind,
            ceilings=service.ceilings(claim.kind, claim.capacity_bytes),
        )


BY_NAME: Final = Services()
"""Without anything an operator says."""
