# SPDX-License-Identifier: Apache-2.0
"""The address of a mount target: who may be behind it, and how clients and mount targets are joined.

Private address ranges repeat: two regions, tenancies or VCNs can each have a mount target at 10.0.0.5. So an address alone says
nothing. A *network* is a name for a part of the world in which an address belongs to a single mount target. The poller and the
agents use the same names: the region by default, and the operator's names where two networks of a region overlap.

All code that compares addresses goes through this module. Rules and dashboards join on the labels `network` and `address`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_network
from typing import Final, NamedTuple

from fss_exporter.samples import Labels, Samples

# Where the in-transit TLS forwarder of oci-fss-utils listens, in place of the mount target.
FORWARDER_NETWORK: Final = ip_network("192.168.255.0/24")

# The network of an agent without instance metadata and without a name from the operator. It joins no mount target.
UNKNOWN_NETWORK: Final = "unknown"


# Metrics with a series of each mount or address of a host. The first is off with --nfs.operations=none.
_OF_HOST: Final = ("fss_client_operations_total", "fss_client_requests_total", "fss_client_peak_estimated_iops")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}")


def network_name(text: str) -> str:
    """Return the name that an operator gives to a network.

    Raises:
        ValueError: the text cannot be such a name.
    """
    if text == UNKNOWN_NETWORK or not _NAME.fullmatch(text):
        raise ValueError(f"must be a name for a network, as in eu-frankfurt-1 or office-vcn, and not {UNKNOWN_NETWORK}")
    return text


def ip_text(text: str) -> str:
    """Return the spelling of an IP address that all parts use, with `10.0.0.9` for `::ffff:10.0.0.9`. ValueError for another text.

    The scope behind `%` is left out: it names a network card of one host.
    """
    address = ip_address(text)
    return str(getattr(address, "ipv4_mapped", None) or address).partition("%")[0]


def one_spelling(address: str) -> str:
    """Return the text of `ip_text`, or a text that is no IP address as it is."""
    try:
        return ip_text(address)
    except ValueError:
        return address


class NetworkAddress(NamedTuple):
    """Where clients reach a mount target. Two mount targets in one place cannot be told apart."""

    network: str
    address: str


class AddressMap:
    """The mount target's address behind each address that clients mount, as the operator states it."""

    def __init__(self, stated: Mapping[str, str] | None = None) -> None:
        self._stated = stated or {}

    def mount_target(self, address: str) -> str:
        """Return the address of the mount target behind a mounted address, which mostly is the address itself."""
        return self._stated.get(address, address)

    def is_unresolved(self, address: str) -> bool:
        """Whether an address belongs to a TLS forwarder whose mount target nobody states."""
        return is_forwarder(address) and address not in self._stated


NO_ADDRESSES: Final = AddressMap()


def is_forwarder(address: str) -> bool:
    """Whether an address belongs to a TLS forwarder on this host."""
    try:
        return ip_address(address) in FORWARDER_NETWORK
    except ValueError:
        return False


def is_loopback(address: str) -> bool:
    """Whether an address is one of this host, where a forwarder such as stunnel can listen."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def mount_targets_of_host(samples: Samples) -> dict[str, Labels]:
    """Return the mount targets that a host can reach, by address, from one page with metrics of the host and of a poller.

    The labels are those of `fss_mount_target_info`. Empty without a known network of the host.
    """
    own = {network for name in _OF_HOST for (network,) in samples.by(name, "network")} - {UNKNOWN_NETWORK, ""}
    infos = {labels["mount_target_id"]: labels for labels, _ in samples.all("fss_mount_target_info")}
    places = {
        (NetworkAddress(labels["network"], labels["address"]), labels["mount_target_id"])
        for labels, _ in (*samples.all("fss_mount_target_info"), *samples.all("fss_mount_target_address_info"))
    }
    joined = used_once(place for place, _ in places)
    return {
        place.address: infos[ocid]
        for place, ocid in places
        if place in joined and place.network in own and ocid in infos
    }


def names_of(places: Iterable[NetworkAddress]) -> dict[NetworkAddress, str]:
    """Return a name for each place: the address, with the network if two networks have the address."""
    distinct = set(places)
    uses = Counter(place.address for place in distinct)
    return {
        place: place.address if uses[place.address] == 1 else f"{place.address} in {place.network}"
        for place in distinct
    }


def used_once(places: Iterable[NetworkAddress]) -> frozenset[NetworkAddress]:
    """Return the places with a known address that a single mount target has."""
    return frozenset(place for place, uses in Counter(places).items() if uses == 1 and place.address)
