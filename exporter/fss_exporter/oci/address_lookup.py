"""Address and host name of each mount target, looked up once for each private IP and subnet, because they never change."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, Protocol

from fss_exporter.errors import CloudError, NotAuthorized
from fss_exporter.oci.oci_inventory import Inventory, MountTarget
from fss_exporter.oci.tag_filter import Row

LOOK_UPS: Final = ("get_private_ip", "get_subnet")
"""Operations it takes."""


class Calls(Protocol):
    """What is needed of a session."""

    def call(self, service: str, operation: str, *arguments: object, **options: object) -> Any:
        """One operation; the answer has `data`."""


class Addresses:
    """What is known of the addresses of one region.

    Args:
        session: where to ask.
        note: told of every look-up's operation and error, None where it went well.
    """

    def __init__(self, session: Calls, note: Callable[[str, Exception | None], None]) -> None:
        self._session = session
        self._note = note
        self._hosts: dict[str, tuple[str, str]] = {}
        self._domains: dict[str, str] = {}
        self._looked_for: set[str] = set()

    @property
    def known(self) -> int:
        """How many mount targets were looked up, found or not."""
        return len(self._looked_for)

    def located(self, target: MountTarget) -> MountTarget:
        """A mount target with what is known of its address."""
        address, host = self._hosts.get(target.private_ip_id, ("", ""))
        domain = self._domains.get(target.subnet_id, "")
        fqdn = f"{host}.{domain}" if host and domain else ""
        return replace(target, address=address, fqdn=fqdn, pending=target.id not in self._looked_for)

    def look_up(self, inventory: Inventory) -> Iterator[None]:
        """Ask for what is not known yet, a call at a time. A subnet that refuses once is not asked again in this round."""
        refused: set[str] = set()
        for target in inventory.mount_targets.values():
            subnet = target.subnet_id
            if target.private_ip_id and target.private_ip_id not in self._hosts and subnet not in refused:
                row = self._looked_up("get_private_ip", target.private_ip_id, subnet, refused)
                if isinstance(row.get("ipAddress"), str):
                    self._hosts[target.private_ip_id] = (row["ipAddress"], str(row.get("hostnameLabel") or ""))
                yield
            if subnet and subnet not in self._domains and subnet not in refused:
                row = self._looked_up("get_subnet", subnet, subnet, refused)
                if row:
                    self._domains[subnet] = str(row.get("subnetDomainName") or "")
                yield
            self._looked_for.add(target.id)

    def _looked_up(self, operation: str, ocid: str, subnet: str, refused: set[str]) -> Row:
        """The resource; empty where it could not be read. Where it may not be seen, neither may others of its subnet."""
        try:
            row = self._session.call("virtual_network", operation, ocid).data
        except CloudError as error:
            self._note(operation, error)
            if isinstance(error, NotAuthorized):
                refused.add(subnet)
            return {}
        self._note(operation, None)
        return row if isinstance(row, dict) else {}
