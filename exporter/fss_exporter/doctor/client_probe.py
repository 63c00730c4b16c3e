"""Read the NFS mounts and settings of this client, connect to the mount targets, and count directories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fss_exporter.doctor import kernel_counting, probes
from fss_exporter.doctor.client_facts import ClientFacts
from fss_exporter.doctor.network import LARGE_DIRECTORY
from fss_exporter.errors import SourceError
from fss_exporter.instance_metadata import read_instance_metadata
from fss_exporter.model.limits import NFS_PORT
from fss_exporter.nfs.exact.tracefs import PLACES
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.superblocks import Reading, is_forwarder


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProbe:
    """The places to read, and the deadline of each probe."""

    source: Procfs  # reads the NFS mounts
    procfs: Path  # the root of that host's procfs
    sysfs: Path  # the root of its sysfs
    tracefs: Sequence[Path]  # folders to look for tracefs in; empty for not at all
    fstab: Path  # its /etc/fstab
    directories: Sequence[str]  # are counted, each in a process of its own
    connect: bool  # whether to open a TCP connection to each mount target
    metadata_url: str  # instance metadata; empty not to ask
    deadline_s: float  # for each probe, seconds

    def ask(self, availability_domains: Mapping[str, str]) -> ClientFacts:
        """Read the facts. An unreadable fact is left out or carries the error.

        The account knows the availability domains by address of a mount target.
        """
        reading, error = None, ""
        try:
            reading = self.source.read()
        except SourceError as failed:
            error = str(failed)
        servers = _servers(reading) if self.connect and reading else ()
        counted = (probes.count_entries(path, LARGE_DIRECTORY, self.deadline_s) for path in self.directories)
        return ClientFacts(
            reading=reading,
            reading_error=error,
            kernel=probes.read_text(self.procfs / "sys/kernel/osrelease").strip(),
            fstab=probes.read_text(self.fstab),
            sysctls=probes.read_sysctls(self.procfs),
            connects={server: probes.connect(*server, self.deadline_s) for server in servers},
            directories=tuple(counted),
            exactness=kernel_counting.look(tuple(self.tracefs), self.sysfs) if self.tracefs else None,
            instance=read_instance_metadata(self.metadata_url, self.deadline_s) if self.metadata_url else None,
            availability_domains=availability_domains,
        )


def tracefs_of(stated: Path | None, *, own_host: bool) -> tuple[Path, ...]:
    """Return the folders to look for tracefs in. Empty with another host's procfs, because the kernel is another
    kernel.
    """
    if stated is not None:
        return (stated,)
    return PLACES if own_host else ()


def _servers(reading: Reading) -> tuple[tuple[str, int], ...]:
    """Return address and port of each server. TLS forwarders are left out, because a forwarder runs on this host."""
    found = {
        (mount.address, int(port) if (port := mount.options.get("port", "")).isdigit() else NFS_PORT)
        for superblock in reading.superblocks
        for mount in superblock.mounts
        if mount.address and not is_forwarder(mount.address)
    }
    return tuple(sorted(found))
