# SPDX-License-Identifier: Apache-2.0
"""The facts of this client, as input of the checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fss_exporter.instance_metadata import InstanceMetadata
from fss_exporter.nfs.fstab import Fstab
from fss_exporter.nfs.superblocks import Reading

# A directory with fewer entries lists well over NFS (white paper, version 2.0, August 2023).
LARGE_DIRECTORY: Final = 10_000


@dataclass(frozen=True, slots=True)
class Connect:
    """A TCP connection to a mount target."""

    seconds: float | None  # duration of the handshake, one round trip. None without a connection
    error: str = ""  # reason of a failed connection, else empty


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory with its number of entries."""

    path: str  # path on the command line
    entries: int | None  # number of entries, counted up to a limit. None if the count failed
    error: str = ""  # reason of a failed count, else empty


@dataclass(frozen=True, slots=True)
class Exactness:
    """Whether the kernel could count READs and WRITEs by size, and the load of each process."""

    reason: str = ""  # why the kernel cannot count, with a remedy. Empty if the kernel can
    waits: bool = False  # whether the kernel can count from the first mount on
    root: str = ""  # folder of tracefs. Empty without tracefs
    instances: tuple[str, ...] = ()  # existing instances of the exporter, by name
    latency_reason: str = ""  # why the kernel cannot count durations. Empty if the kernel can
    # parts of the load by process that the kernel cannot count, with the reason
    missing_parts: Mapping[str, str] = field(default_factory=dict)
    selinux: bool = False  # SELinux enforces


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """This client."""

    reading: Reading | None  # the NFS mounts; None if they cannot be read
    reading_error: str = ""  # why not
    kernel: str = ""  # release of the running kernel, e.g. `5.15.0-204.el8uek.x86_64`; empty if not known
    fstab: Fstab | None = None  # None if it cannot be read
    fstab_error: str = ""  # why not
    # whole numbers of `/proc/sys` by name, the last of several. A missing file has no entry
    sysctls: Mapping[str, int] = field(default_factory=dict)
    connects: Mapping[tuple[str, int], Connect] = field(default_factory=dict)  # by address and port
    directories: tuple[Directory, ...] = ()  # directories that the command line names
    instance: InstanceMetadata | None = None  # None where there are no metadata: not an OCI instance, or not asked
    # availability domain by address of a mount target, from the account
    availability_domains: Mapping[str, str] = field(default_factory=dict)
    forwarded: Mapping[str, str] = field(
        default_factory=dict
    )  # mount target by address of a TLS forwarder on this host
    exactness: Exactness | None = None  # requirements of exact mode. None if not checked
