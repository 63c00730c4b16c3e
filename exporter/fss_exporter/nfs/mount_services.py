"""The storage service of a mount: from the configuration, from the server's name, or by default.

The service is looked up when the mounts change, never in a tick. By default an NFSv3 mount is of OCI File Storage, which has
no other version. An NFSv4 mount is of an unknown service: the mount keeps its raw counters and gets no estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, Protocol

from fss_exporter.model.service_table import NONE, OCI_FSS, SERVICES, recognised
from fss_exporter.model.storage_service import Ceilings, CostRule, OneClient, Service

_NFS3: Final = "nfs"


class MountKey(Protocol):
    """What a mount is known by."""

    @property
    def address(self) -> str:
        """Of the server."""

    @property
    def server(self) -> str:
        """Its name as mounted."""

    @property
    def export(self) -> str:
        """Path of the export."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What an operator says of some mounts; `*` in a pattern stands for anything, an empty one fits all.

    Attributes:
        service: name of a row of the table of services.
        kind: what was bought; empty where it is not said.
        capacity_bytes: of the file system or volume; None likewise.
        address, server, export: patterns.
    """

    service: str
    kind: str = ""
    capacity_bytes: float | None = None
    address: str = ""
    server: str = ""
    export: str = ""

    def fits(self, key: MountKey) -> bool:
        """Whether it speaks of a mount."""
        return (
            fnmatchcase(key.address, self.address or "*")
            and fnmatchcase(key.server.lower(), self.server.lower() or "*")
            and fnmatchcase(key.export, self.export or "*")
        )


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the service behind a mount.

    Attributes:
        service: the row of the table.
        cost: how its operations are counted.
        stated: True where the configuration or the server's name says so; False for the default.
        kind: what was bought; empty where it is not known.
        ceilings: the known ceilings.
    """

    service: Service
    cost: CostRule
    stated: bool = False
    kind: str = ""
    ceilings: Ceilings = field(default_factory=Ceilings)

    @property
    def one_client(self) -> OneClient | None:
        """What one client was seen to reach, from the documents of the service; None where the kind is not known."""
        kind = self.service.kinds.get(self.kind)
        return None if kind is None else kind.one_client


ASSUMED_NFS3: Final = Known(OCI_FSS, OCI_FSS.cost)
ASSUMED_OTHER: Final = Known(NONE, NONE.cost)


class Services:
    """Tells services.

    Args:
        claims: what the operator says; the first that fits counts, and more than any name.
    """

    def __init__(self, claims: Sequence[Claim] = ()) -> None:
        self._claims = tuple(claims)

    def of(self, key: MountKey, fstype: str) -> Known:
        """The service of a mount.

        Args:
            key: what it is known by.
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
