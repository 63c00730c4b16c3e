"""A host with NFS mounts, a kernel in memory that counts by thread, and processes in a `/proc` of the test."""

from pathlib import Path

from tests.fss_exporter.nfs.records import mountinfo, mountstats
from tests.fss_kernel_counting.kernel import BY_PROCESS, ROOT, Kernel
from tests.fss_kernel_counting.processes.procfs import kthreadd, process

from fss_exporter.nfs.mount_settings import NO_MOUNT_SETTINGS
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_kernel_counting.processes.costliest import Amount
from fss_kernel_counting.processes.counting import ProcessCounting, by_address
from fss_kernel_counting.processes.identities import Identity
from fss_kernel_counting.tracefs import OF_AGENT, Files, ProcessNames, Sources

HERE = "10.0.0.3"
CLIENT = 12
WORKER = "kworker/u4:0"
KIB = 1024


class BusyHost:
    """One NFSv3 mount of device 0:40 by default, RPC client 12.

    Args:
        folder: for `/proc`, `/sys` and the folder of pod logs.
        writers: whether delayed write-back is given back to the writer.
        names: in tracefs.
        kernel: to share with another program.
        fstype: of the mount.
        files: of tracefs, in place of the kernel in memory.
        has_job_numbers: whether numbers of Slurm jobs are looked for in environments.
    """

    def __init__(
        self,
        folder: Path,
        *,
        writers: bool = False,
        names: ProcessNames = OF_AGENT,
        kernel: Kernel | None = None,
        fstype: str = "nfs",
        files: Files | None = None,
        has_job_numbers: bool = False,
    ) -> None:
        self.kernel = kernel or Kernel(BY_PROCESS)
        self.folder = folder
        self.now = 0.0
        self.fstype = fstype
        self.sources = Sources(
            tracefs=(ROOT,),
            sysfs=folder / "sys",
            procfs=folder / "proc",
            pod_logs=folder / "pods",
            files=files or self.kernel,
        )
        kthreadd(folder / "proc")
        process(folder / "proc", 1, b"systemd", cgroup="/init.scope")
        (folder / "pods").mkdir(exist_ok=True)
        self.rpc_client(CLIENT)
        self.counting = ProcessCounting(
            names,
            writers=writers,
            sources=self.sources,
            mounts=NO_MOUNT_SETTINGS,
            has_job_numbers=has_job_numbers,
            clock=lambda: self.now,
        )

    def rpc_client(self, number: int, address: str = HERE) -> None:
        """An RPC client as sysfs has it."""
        place = self.folder / f"sys/kernel/sunrpc/rpc-clients/clnt-{number}/switch/xprt-1-tcp"
        place.mkdir(parents=True, exist_ok=True)
        (place / "dstaddr").write_text(f"{address}\n")

    def process(self, number: int, name: str, cgroup: str = "/system.slice/backup.service") -> None:
        process(self.folder / "proc", number, name.encode(), cgroup=cgroup)

    def read(self, number: int, name: str, size: int, device: int = 40) -> None:
        self.kernel.fire("nfs/nfs_initiate_read", dev=device, fileid=5, count=size, common_pid=number, comm=name)

    def write(self, number: int, name: str, size: int, *, file: int = 5, device: int = 40) -> None:
        """A WRITE that the thread itself sends."""
        self.kernel.fire("nfs/nfs_initiate_write", dev=device, fileid=file, count=size, common_pid=number, comm=name)

    def write_later(self, number: int, name: str, size: int, *, file: int = 5, device: int = 40) -> None:
        """A WRITE of a page that the thread dirtied and a worker sends."""
        self.kernel.fire("writeback/writeback_dirty_folio", name=f"0:{device}", ino=file, common_pid=number, comm=name)
        self.write(9, WORKER, size, file=file, device=device)

    def call(self, number: int, name: str, procedure: str, *, client: int = CLIENT, version: int = 3) -> None:
        self.kernel.fire(
            "sunrpc/rpc_stats_latency",
            client_id=client,
            version=version,
            progname="nfs",
            procname=procedure,
            common_pid=number,
            comm=name,
        )

    def rename(self, number: int, name: str) -> None:
        self.kernel.fire("nfs/nfs_rename_enter", dev=40, common_pid=number, comm=name)
        self.call(9, WORKER, "RENAME")

    def reading(self) -> Reading:
        """Mountstats as it is now."""
        return join(
            parse_mountstats(mountstats({}, fstype=self.fstype)), parse_mountinfo(mountinfo(fstype=self.fstype))
        )

    def look(self) -> dict[str, Amount]:
        """Loads of the last ten seconds by name of the process."""
        self.now += 10
        return {who.process: amount for who, amount in self.identities().items()}

    def identities(self) -> dict[Identity, Amount]:
        loads = by_address(self.counting.read(self.reading()), lambda seen: seen.identity).get(HERE, {})
        return {who: amount for who, amount in loads.items() if who is not None}
