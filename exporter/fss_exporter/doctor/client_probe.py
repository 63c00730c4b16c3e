"""Read the NFS mounts and settings of this client, connect to the mount targets, and count directories."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fss_exporter.doctor import kernel_counting, probes
from fss_exporter.doctor.client_facts import ClientFacts
from fss_exporter.doctor.network import LARGE_DIRECTORY
from fss_exporter.errors import SourceError
from fss_exporter.flag_records import PROCFS, KernelFlags, ProcfsFlags, argument, flag
from fss_exporter.instance_metadata import METADATA_URL, read_instance_metadata
from fss_exporter.model.limits import NFS_PORT
from fss_exporter.nfs.exact.tracefs import PLACES
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.superblocks import Reading, is_forwarder
from fss_exporter.units import latency


@dataclass(frozen=True, kw_only=True)
class ClientFlags(ProcfsFlags, KernelFlags):
    """The flags of `doctor` about this client; times in seconds."""

    directories: tuple[str, ...] = argument(nargs=-1, metavar="[DIRECTORY]...")
    connect: bool = flag("--connect/--no-connect", "Open a TCP connection to each mount target.", default=True)
    deadline: float = flag("--deadline", "Longest time of each probe of this client.", 2.0, written="2s", type=latency)
    metadata_url: str = flag("--metadata-url", "URL of the instance metadata. Empty: do not ask.", METADATA_URL)
    fstab: Path = flag("--path.fstab", "", Path("/etc/fstab"))

    @property
    def places(self) -> tuple[Path, ...]:
        """Folders to look for tracefs in. Empty with another host's procfs, because the kernel is another kernel."""
        if self.tracefs is not None:
            return (self.tracefs,)
        return PLACES if self.procfs == PROCFS else ()


def read_client(flags: ClientFlags, source: Procfs, availability_domains: Mapping[str, str]) -> ClientFacts:
    """Read the facts about this client. An unreadable fact is left out or carries the error.

    The account knows the availability domains by address of a mount target.
    """
    reading, error = None, ""
    try:
        reading = source.read()
    except SourceError as failed:
        error = str(failed)
    servers = _servers(reading) if flags.connect and reading else ()
    counted = (probes.count_entries(path, LARGE_DIRECTORY, flags.deadline) for path in flags.directories)
    return ClientFacts(
        reading=reading,
        reading_error=error,
        kernel=probes.read_text(flags.procfs / "sys/kernel/osrelease").strip(),
        fstab=probes.read_text(flags.fstab),
        sysctls=probes.read_sysctls(flags.procfs),
        connects={server: probes.connect(*server, flags.deadline) for server in servers},
        directories=tuple(counted),
        exactness=kernel_counting.look(flags.places, flags.sysfs) if flags.places else None,
        instance=read_instance_metadata(flags.metadata_url, flags.deadline) if flags.metadata_url else None,
        availability_domains=availability_domains,
    )


def _servers(reading: Reading) -> tuple[tuple[str, int], ...]:
    """Return address and port of each server. TLS forwarders are left out, because a forwarder runs on this host."""
    found = {
        (mount.address, int(port) if (port := mount.options.get("port", "")).isdigit() else NFS_PORT)
        for superblock in reading.superblocks
        for mount in superblock.mounts
        if mount.address and not is_forwarder(mount.address)
    }
    return tuple(sorted(found))
