"""The control group of processes that ended before anybody looked, from their births."""

import shutil
from pathlib import Path

import pytest
from tests.fss_kernel_counting.processes.procfs import kthreadd, process

from fss_kernel_counting.processes.attribution import Thread
from fss_kernel_counting.processes.births import FamilyTree
from fss_kernel_counting.processes.identities import Identities, Identity, Pods, SeenThread
from fss_kernel_counting.trace_records import Record

SYSTEMD, SHELL, CRON = 1, 500, 400
BACKUP = "/system.slice/backup.service"
UID = "0f6e2b1c-9d3a-4c5b-8e7f-112233445566"
THREAD, INTO_CGROUP = 0x10F00, 0x200000000


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    kthreadd(tmp_path / "proc")
    for number, name, cgroup in ((SYSTEMD, b"systemd", "/init.scope"), (SHELL, b"sh", BACKUP)):
        process(tmp_path / "proc", number, name, cgroup=cgroup)
    return tmp_path / "proc"


class Host:
    """A host whose short processes are born, work and end between two looks."""

    def __init__(self, proc: Path) -> None:
        self.records: list[Record] = []
        self.tree = FamilyTree(proc)
        self.identities = Identities(proc, Pods(proc.parent / "pods"), self.tree)

    def _record(self, event: str, **values: int | str) -> None:
        self.records.append(Record(len(self.records), event, values))

    def fork(self, parent: int, child: int, name: str = "sh", flags: int = 0) -> None:
        self._record("task/task_newtask", common_pid=parent, pid=child, comm=name, clone_flags=flags)

    def execute(self, number: int, path: str) -> None:
        self._record("sched/sched_process_exec", pid=number, filename=path)

    def move(self, number: int, path: str, hierarchy: int = 0) -> None:
        self._record("cgroup/cgroup_attach_task", common_pid=1, pid=number, dst_root=hierarchy, dst_path=path)

    def fill(self, by: int, path: str, hierarchy: int = 0) -> None:
        self._record("cgroup/cgroup_notify_populated", common_pid=by, root=hierarchy, path=path, val=1)

    def look(self, number: int, name: str) -> SeenThread:
        self.tree.learn(self.records)
        self.records = []
        thread = Thread(number, name)
        return self.identities.find([thread])[thread]


@pytest.fixture
def host(proc: Path) -> Host:
    return Host(proc)


def test_a_short_process_has_the_unit_of_the_ancestor_that_lives(host: Host) -> None:
    host.fork(SHELL, 601)
    host.execute(601, "/usr/bin/make")
    host.fork(601, 602)
    host.execute(602, "/usr/bin/tar")

    assert host.look(602, "tar") == SeenThread(Identity("tar", unit="backup.service"), None, is_placed=True)


def test_a_process_whose_parent_ended_looks_ago_has_the_unit_still(host: Host, proc: Path) -> None:
    host.fork(SHELL, 601)
    host.look(601, "sh")
    for file in (proc / str(SHELL)).iterdir():
        file.unlink()
    host.fork(601, 602)

    assert host.look(602, "dd").identity == Identity("dd", unit="backup.service")


def test_a_move_counts_for_the_process_and_for_children_that_are_born_later(host: Host) -> None:
    host.fork(SYSTEMD, 601)
    host.fork(601, 602)
    host.move(601, "/system.slice/slurmstepd.scope/job_10/step_0/user/task_0")
    host.fork(601, 603)

    assert host.look(601, "solver").job == "10"
    assert host.look(603, "solver").job == "10"
    assert host.look(602, "helper").identity.unit == "init.scope"


def test_a_move_in_one_hierarchy_of_cgroup_v1_keeps_the_others(host: Host, proc: Path) -> None:
    text = "8:memory:/\n1:name=systemd:/system.slice/slurmd.service\n0::/\n"
    (proc / str(SHELL) / "cgroup").write_text(text)
    host.fork(SHELL, 601)
    host.move(601, "/slurm/uid_1000/job_11/step_0", hierarchy=8)

    seen = host.look(601, "solver")

    assert (seen.identity.unit, seen.job) == ("slurmd.service", "11")


def test_a_service_that_begins_in_its_own_group_has_the_group_that_it_filled(host: Host) -> None:
    host.fill(SYSTEMD, "/system.slice/nightly.service")
    host.fill(SYSTEMD, "/system.slice")
    host.fork(SYSTEMD, 601, flags=INTO_CGROUP)

    assert host.look(601, "rsync").identity.unit == "nightly.service"


def test_a_process_that_begins_in_a_group_that_nobody_named_is_of_an_unknown_unit(host: Host) -> None:
    host.fork(SYSTEMD, 601, flags=INTO_CGROUP)
    host.fork(601, 602)

    assert host.look(602, "rsync") == SeenThread(Identity("rsync"), None)


def test_the_group_that_a_move_filled_is_not_of_the_next_child(host: Host) -> None:
    host.fill(SYSTEMD, "/system.slice/other.service")
    host.move(700, "/system.slice/other.service")
    host.fork(SYSTEMD, 601, flags=INTO_CGROUP)

    assert not host.look(601, "rsync").is_placed


def test_a_thread_that_is_gone_counts_under_the_name_and_group_of_its_process(host: Host) -> None:
    host.fork(SHELL, 601)
    host.execute(601, "/opt/etl/loader-with-a-long-name")
    host.fork(601, 602, flags=THREAD)
    host.move(601, f"/kubepods/burstable/pod{UID}/c")

    assert host.look(602, "worker-2").identity == Identity("loader-with-a-l", pod=UID)


def test_a_number_that_is_used_again_belongs_to_the_newest_process(host: Host) -> None:
    host.fork(SHELL, 601)
    host.fork(SHELL, 602, flags=THREAD)
    host.fork(SYSTEMD, 602)

    assert host.look(602, "sh").identity.unit == "init.scope"


def test_an_ancestor_that_ended_before_any_look_leaves_the_unit_unknown(host: Host) -> None:
    host.fork(CRON, 601)

    assert host.look(601, "find") == SeenThread(Identity("find"), None)


def test_a_process_that_is_older_than_the_tree_and_ends_before_any_look_has_its_unit(host: Host, proc: Path) -> None:
    """As the shell that starts `dd` a moment before `iostat --by unit` begins, and the `dd` that it starts afterwards."""
    host.tree.begin()
    shutil.rmtree(proc / str(SHELL))
    host.fork(SHELL, 601)

    assert host.look(SHELL, "sh").identity == Identity("sh", unit="backup.service")
    assert host.look(601, "dd").identity == Identity("dd", unit="backup.service")


def test_after_births_that_nobody_saw_a_number_belongs_to_no_earlier_process(host: Host) -> None:
    """A buffer that overflows loses the birth of the second process with this number."""
    host.fork(SHELL, 601)
    host.execute(601, "/usr/bin/make")
    assert host.look(601, "make").identity == Identity("make", unit="backup.service")

    host.tree.forget()
    host.fork(SHELL, 602)

    assert host.look(601, "cat") == SeenThread(Identity("cat"), None)
    assert host.look(602, "tar").identity == Identity("tar", unit="backup.service")
