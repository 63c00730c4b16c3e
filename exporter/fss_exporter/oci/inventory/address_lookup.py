# SPDX-License-Identifier: Apache-2.0
"""Look up address and host name of each mount target, each private IP and subnet once, because both never change."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from fss_exporter.errors import CloudError, NotAuthorized, Unreachable
from fss_exporter.oci.calls import CallsInFlight
from fss_exporter.oci.cloud_client import CloudClient, PrivateIp
from fss_exporter.oci.inventory.oci_inventory import ACTIVE, MountTarget

_LOOK_UPS: Final = ("GetPrivateIp", "GetSubnet")

_WORTH_A_LISTING: Final = 8  # unknown addresses in one subnet from which one listing replaces single look-ups

# Receives the API operation and the error of every call. The error is None after an answer.
Report = Callable[[str, Exception | None], None]

_Answer = TypeVar("_Answer")


def look_ups_of(targets: Iterable[MountTarget]) -> tuple[str, ...]:
    """Return the API operations whose success is reported."""
    targets = tuple(targets)
    return (*_LOOK_UPS, "GetIpv6") if any(target.ipv6_ids for target in targets) else _LOOK_UPS if targets else ()


class AddressLookup:
    """The addresses of the mount targets of one region.

    Args:
        client: calls in the region.
        calls: has subnets under way at once.
        report: called after every look-up.
    """

    def __init__(self, client: CloudClient, calls: CallsInFlight, report: Report) -> None:
        self._client = client
        self._calls = calls
        self._report = report
        self._private_ips: dict[str, PrivateIp] = {}
        self._domains: dict[str, str] = {}
        self._looked_for: set[str] = set()

    def located(self, target: MountTarget) -> MountTarget:
        """Return the mount target with the known address and host name."""
        private_ip = self._private_ips.get(target.private_ip_id)
        domain = self._domains.get(target.subnet_id, "")
        fqdn = f"{private_ip.host_label}.{domain}" if private_ip and private_ip.host_label and domain else ""
        known = (self._private_ips.get(ocid) for ocid in (target.private_ip_id, *target.ipv6_ids))
        address, *further = dict.fromkeys(ip.address for ip in known if ip) or ("",)
        pending = target.id not in self._looked_for
        return replace(target, address=address, further_addresses=tuple(further), fqdn=fqdn, pending=pending)

    def look_up(self, targets: Iterable[MountTarget], progress: Callable[[], None]) -> None:
        """Look up every unknown address. `progress` is called after each subnet or mount target.

        After a refusal, and after a call without an answer, the subnet is skipped for the rest of the round.
        """
        by_subnet: dict[str, list[MountTarget]] = {}
        for target in targets:
            by_subnet.setdefault(target.subnet_id, []).append(target)
        self._calls.each(list(by_subnet.items()), lambda subnet: self._look_up_subnet(*subnet, progress))

    def _look_up_subnet(self, subnet_id: str, targets: list[MountTarget], progress: Callable[[], None]) -> None:
        if subnet_id and subnet_id not in self._domains:
            self._look_up("GetSubnet", self._client.subnet_domain, subnet_id, self._domains)
        wanted = frozenset(target.private_ip_id for target in targets) - self._private_ips.keys() - {""}
        if subnet_id and len(wanted) >= _WORTH_A_LISTING:
            with suppress(CloudError):  # single look-ups follow
                listed = self._calls.called(partial(self._client.private_ips, subnet_id))
                self._private_ips.update(
                    (private_ip.id, private_ip) for private_ip in listed if private_ip.id in wanted
                )
        refused: set[str] = set()
        # Active ones first, so that a refused lookup of another skips none.
        for target in sorted(targets, key=lambda target: target.state != ACTIVE):
            ipv6s = [("GetIpv6", self._client.ipv6, ocid) for ocid in target.ipv6_ids]
            for operation, call, ocid in (("GetPrivateIp", self._client.private_ip, target.private_ip_id), *ipv6s):
                is_wanted = ocid and ocid not in self._private_ips and operation not in refused
                if is_wanted and not self._look_up(operation, call, ocid, self._private_ips):
                    refused.add(operation)
            self._looked_for.add(target.id)
            progress()

    def _look_up(self, operation: str, call: Callable[[str], _Answer], ocid: str, answers: dict[str, _Answer]) -> bool:
        """Look up one OCID. Return whether further lookups in the subnet make sense."""
        try:
            answers[ocid] = self._calls.called(partial(call, ocid))
        except CloudError as error:
            self._report(operation, error)
            return not isinstance(error, NotAuthorized | Unreachable)
        self._report(operation, None)
        return True
