"""This machine's own kernel: a trigger on a real event where it can count, the precise reason where it cannot, which `doctor`
tells as well."""

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fss_exporter.flag_records import TRACEFS_PLACES
from fss_exporter.nfs.mount_settings import NO_MOUNT_SETTINGS
from fss_exporter.nfs.superblocks import NO_READING
from fss_kernel_counting.durations.request_durations import duration_tables
from fss_kernel_counting.hist_tables import HistParser
from fss_kernel_counting.processes.counting import ProcessCounting
from fss_kernel_counting.sizes.size_triggers import SizeSession
from fss_kernel_counting.tracefs import (
    OF_COMMAND,
    OF_LATENCY,
    OF_SIZES,
    Instance,
    NotYet,
    Sources,
    Tracefs,
    Unavailable,
    find,
)
from fss_toolbox.doctor.kernel_counting import exactness_of

TRACEFS = 0x74726163  # magic number of the file system (include/uapi/linux/magic.h), as `stat -f` prints it

EVENT = "sched/sched_process_fork"

_MAKE = """
import sys
from pathlib import Path
from fss_kernel_counting.tracefs import Instance, Tracefs
print(*(line for line in open("/proc/self/status") if line.startswith("CapEff")))
instance = Instance(Tracefs(Path(sys.argv[1])), "fss-exporter")
(instance.path / "events" / "sched" / "sched_switch" / "trigger").open("a").write("traceoff\\n")
print(instance.path.is_dir())
instance.remove()
"""


def _is_tracefs(path: Path) -> bool:
    told = subprocess.run(["stat", "-f", "-c", "%t", path], capture_output=True, text=True, check=False).stdout.strip()
    return told == f"{TRACEFS:x}"


@pytest.fixture
def alone() -> Iterator[None]:
    """No other test on this machine uses the tracefs meanwhile, because a kernel has only one."""
    with (Path(tempfile.gettempdir()) / "fss-exporter-tests-tracefs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def tracefs(alone: None) -> Iterator[Path | None]:  # noqa: ARG001
    """Where this machine's tracefs is, mounted for the test if need be; None where nobody lets us."""
    place = Path("/sys/kernel/tracing")
    if os.geteuid() != 0:
        yield None
    elif _is_tracefs(place):
        yield place
    else:
        with tempfile.TemporaryDirectory() as directory:
            mounted = subprocess.run(
                ["mount", "-t", "tracefs", "tracefs", directory], capture_output=True, check=False
            ).returncode
            if mounted:
                yield None
                return
            try:
                yield Path(directory)
            finally:
                subprocess.run(["umount", directory], check=True)


def _counts(root: Path) -> bool:
    """What the kernel itself says, asked in another way than the code asks."""
    return (root / "events" / EVENT / "hist").exists()


def test_a_real_kernel_counts_or_the_precise_reason_is_reported(tracefs: Path | None) -> None:
    if tracefs is None:
        # Not root, or a container without mounts: then the set-up must say so, and it does before anything is made.
        with pytest.raises(Unavailable, match=r"no tracefs at|only root may trace|lockdown|read-only"):
            SizeSession(find(Sources()), 2048)
        return
    if not _counts(tracefs):
        with pytest.raises(Unavailable, match="CONFIG_HIST_TRIGGERS"):
            SizeSession(Tracefs(tracefs), 2048)
        assert "CONFIG_HIST_TRIGGERS" in exactness_of((tracefs,), Path("/sys")).reason
        assert not (tracefs / "instances" / OF_SIZES).exists()
        return
    Tracefs(tracefs).check_client("sched", "scheduler")
    instance = Instance(Tracefs(tracefs), OF_SIZES)
    try:
        instance.add_trigger(EVENT, "hist:keys=parent_pid:size=2048")
        for _ in range(3):
            subprocess.run(["true"], check=True)
        (table,) = HistParser().parse(instance.read(EVENT))
    finally:
        instance.remove()
    assert table.rows["%d" % os.getpid(),].hits >= 3  # noqa: UP031  # as the kernel prints it
    assert not (tracefs / "instances" / OF_SIZES).exists()


def test_a_real_instance_is_made_shrunk_busy_while_open_and_removed(tracefs: Path | None) -> None:
    if tracefs is None:
        with pytest.raises(Unavailable):
            Instance(Tracefs(Path("/sys/kernel/tracing")), OF_SIZES)
        return
    instance = Instance(Tracefs(tracefs), OF_SIZES)
    try:
        assert instance.path.is_dir()
        assert (instance.path / "tracing_on").read_text().strip() == "0"
        # A page and its head for each CPU, in place of a megabyte.
        assert int((instance.path / "buffer_size_kb").read_text().split()[0]) < 16
        with (
            (instance.path / "trace_pipe").open(),
            pytest.raises(Unavailable, match="another fss-exporter counts on this host already"),
        ):
            Instance(Tracefs(tracefs), OF_SIZES)
    finally:
        instance.remove()
    assert not instance.path.exists()


_WITHOUT_PRIVILEGES = (
    "unshare --user --map-root-user setpriv --bounding-set=-all --inh-caps=-all --no-new-privs".split()
)


def test_uid_0_without_a_capability_in_a_user_namespace_is_enough(tracefs: Path | None) -> None:
    """As under the shipped unit: CapabilityBoundingSet= and PrivateUsers=yes."""
    if tracefs is None:
        with pytest.raises(Unavailable):
            Instance(Tracefs(Path("/sys/kernel/tracing")), OF_SIZES)
        return
    done = subprocess.run(
        [*_WITHOUT_PRIVILEGES, sys.executable, "-c", _MAKE, tracefs], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["CapEff:", "0" * 16, "True"], "")
    assert not (tracefs / "instances" / OF_SIZES).exists()


_AS_IN_THE_POD = """
mount --bind "$1" "$2"
mount -o remount,bind,ro "$2"
mount --bind "$1/instances" "$2/instances"
shift 2
exec "$@"
"""


def test_the_folder_of_the_instances_is_all_that_must_be_writable(tracefs: Path | None, tmp_path: Path) -> None:
    """As the chart mounts it, and as ReadWritePaths= of the unit's drop-in does."""
    if tracefs is None:
        with pytest.raises(Unavailable):
            Instance(Tracefs(Path("/sys/kernel/tracing")), OF_SIZES)
        return
    program = f"{_MAKE}\nopen(sys.argv[1] + '/trace_marker', 'w')"
    mounts = ["unshare", "--mount", "sh", "-euc", _AS_IN_THE_POD, "sh", str(tracefs), str(tmp_path)]
    agent = [*_WITHOUT_PRIVILEGES, sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run([*mounts, *agent], capture_output=True, text=True, check=False)

    assert done.stdout.split() == ["CapEff:", "0" * 16, "True"]
    assert "Read-only file system" in done.stderr.splitlines()[-1]
    assert not (tracefs / "instances" / OF_SIZES).exists()


def test_a_real_instance_left_behind_is_taken_over(tracefs: Path | None) -> None:
    if tracefs is None:
        with pytest.raises(Unavailable):
            Instance(Tracefs(Path("/sys/kernel/tracing")), OF_SIZES)
        return
    (tracefs / "instances" / OF_SIZES).mkdir()
    Instance(Tracefs(tracefs), OF_SIZES).remove()

    assert not (tracefs / "instances" / OF_SIZES).exists()


def test_the_load_by_process_is_counted_here_or_the_precise_reason_is_said(
    tracefs: Path | None, tmp_path: Path
) -> None:
    """Sets the triggers by thread and the join where this kernel has the events, and leaves nothing behind in any case."""
    places = TRACEFS_PLACES if tracefs is None else (tracefs,)
    sources = Sources(tracefs=places, sysfs=tmp_path)
    counting = ProcessCounting(OF_COMMAND, writers=True, sources=sources, mounts=NO_MOUNT_SETTINGS)
    if tracefs is not None and _counts(tracefs) and (tracefs / "events" / "nfs").exists():
        counting.open()
        counting.read(NO_READING)  # reads every table
        assert {"reads", "writes", "calls"} <= counting.active
        counting.close()
    else:
        with pytest.raises(
            Unavailable, match=r"no tracefs at|only root|lockdown|read-only|CONFIG_HIST_TRIGGERS|first NFS mount"
        ):
            counting.open()
    if tracefs is not None:
        assert not (tracefs / "instances" / OF_COMMAND.looks).exists()
        assert not (tracefs / "instances" / OF_COMMAND.writers).exists()


def test_the_nfs_client_of_this_machine_is_found_or_waited_for(tracefs: Path | None) -> None:
    """Whatever this machine is, setting up ends in one of four ways and leaves nothing behind."""
    if tracefs is None:
        with pytest.raises(Unavailable):
            SizeSession(find(Sources()), 2048)
        return
    if not _counts(tracefs):
        with pytest.raises(Unavailable, match="CONFIG_HIST_TRIGGERS"):
            SizeSession(Tracefs(tracefs), 2048)
    elif not (tracefs / "events" / "nfs").exists():
        with pytest.raises(NotYet, match="Counting begins with the first NFS mount"):
            SizeSession(Tracefs(tracefs), 2048)
    else:
        session = SizeSession(Tracefs(tracefs), 2048)
        session.tables.added()
        session.end()
    assert not (tracefs / "instances" / OF_SIZES).exists()


def test_durations_of_requests_are_counted_or_waited_for_or_the_reason_is_reported(tracefs: Path | None) -> None:
    if tracefs is None:
        with pytest.raises(Unavailable):
            duration_tables(find(Sources()), 2048)
        return
    if not _counts(tracefs):
        with pytest.raises(Unavailable, match="CONFIG_HIST_TRIGGERS"):
            duration_tables(Tracefs(tracefs), 2048)
    elif not (tracefs / "events" / "sunrpc").exists():
        with pytest.raises(NotYet, match="ounting begins with the first NFS mount"):
            duration_tables(Tracefs(tracefs), 2048)
    else:
        tables = duration_tables(Tracefs(tracefs), 2048, rtt=True)
        assert len(tables.names) == 4
        tables.added()
        tables.end()
    assert not (tracefs / "instances" / OF_LATENCY).exists()
