"""What the probes found on this client, before anybody judges it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fss_exporter.instance_metadata import InstanceMetadata
from fss_exporter.nfs.superblocks import Reading


@dataclass(frozen=True, slots=True)
class Connect:
    """A TCP connection to a mount target.

    Attributes:
        seconds: how long the handshake took: one round trip; None if there was none.
        error: why not; empty if there was one.
    """

    seconds: float | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory that was counted.

    Attributes:
        path: as the operator named it.
        entries: how many there are, counted up to `limit`; None if it could not be counted.
        error: why not; empty if it could be.
    """

    path: str
    entries: int | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Exactness:
    """Whether the kernel could count READs and WRITEs by size.

    Attributes:
        reason: why not, with a remedy; empty if it could.
        waits: it could as soon as something is mounted.
        root: where tracefs is; empty if it was not found.
        in_use: an instance of the exporter is there.
        lockdown: mode of kernel lockdown, e.g. `integrity`; empty if there is none.
        selinux: SELinux enforces.
    """

    reason: str = ""
    waits: bool = False
    root: str = ""
    in_use: bool = False
    lockdown: str = ""
    selinux: bool = False


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """This client.

    Attributes:
        reading: the NFS mounts; None if they cannot be read.
        reading_error: why not.
        kernel: release of the running kernel, e.g. `5.15.0-204.el8uek.x86_64`; empty if not known.
        fstab: text of /etc/fstab; empty if it cannot be read.
        sysctls: whole numbers of `/proc/sys` by name, the last of several; those that are not there are left out.
        connects: by address and port.
        directories: those named on the command line.
        instance: None where there are no metadata: not an OCI instance, or not asked.
        availability_domains: of mount targets, by address, as far as the account tells.
        exactness: of exact mode; None where it was not looked at.
    """

    reading: Reading | None
    reading_error: str = ""
    kernel: str = ""
    fstab: str = ""
    sysctls: Mapping[str, int] = field(default_factory=dict)
    connects: Mapping[tuple[str, int], Connect] = field(default_factory=dict)
    directories: tuple[Directory, ...] = ()
    instance: InstanceMetadata | None = None
    availability_domains: Mapping[str, str] = field(default_factory=dict)
    exactness: Exactness | None = None
