"""Whose thread it is: one look at /proc, and what stays when the thread is gone."""

import shutil
from pathlib import Path

import pytest
from tests.fss_kernel_counting.processes.procfs import kthreadd, process

from fss_kernel_counting.processes.attribution import KERNEL, UNKNOWN_WRITER, Thread
from fss_kernel_counting.processes.births import FamilyTree
from fss_kernel_counting.processes.identities import Identities, Identity, Pods

UID = "0f6e2b1c-9d3a-4c5b-8e7f-112233445566"
POD = f"/kubepods/burstable/pod{UID}/{'3a' * 32}"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    kthreadd(tmp_path / "proc")
    return tmp_path / "proc"


@pytest.fixture
def identities(proc: Path, tmp_path: Path) -> Identities:
    return Identities(proc, Pods(tmp_path / "pods"), FamilyTree(proc))


def _look(identities: Identities, thread: Thread) -> Identity:
    return identities.find([thread])[thread].identity


def test_a_thread_is_counted_under_its_process_and_unit(identities: Identities, proc: Path) -> None:
    process(proc, 7, b"java")
    process(proc, 8, b"pool-1-thread-2", leader=7)

    seen = identities.find([Thread(8, "pool-1-thread-2")])[Thread(8, "pool-1-thread-2")]

    assert (seen.identity, seen.user) == (Identity("java", unit="backup.service"), 1000)


def test_a_thread_that_is_gone_keeps_what_was_seen_of_it(identities: Identities, proc: Path) -> None:
    process(proc, 7, b"dd")
    before = _look(identities, Thread(7, "dd"))
    shutil.rmtree(proc / "7")

    assert _look(identities, Thread(7, "dd")) == before == Identity("dd", unit="backup.service")


def test_a_thread_that_was_gone_before_the_first_look_keeps_its_name(identities: Identities) -> None:
    assert _look(identities, Thread(7, "cat")) == Identity("cat")
    assert _look(identities, Thread(9, "kworker/u4:0")) == Identity("kernel")


def test_a_number_that_was_used_again_is_looked_at_again(identities: Identities, proc: Path) -> None:
    """The row keeps the name of the first thread, and the load of now is that of the second."""
    process(proc, 7, b"dd", started=100)
    _look(identities, Thread(7, "dd"))
    process(proc, 7, b"tar", started=900, cgroup="/system.slice/other.service")

    assert _look(identities, Thread(7, "dd")) == Identity("tar", unit="other.service")


def test_a_shell_that_becomes_another_program_is_counted_under_the_name_of_the_program(
    identities: Identities, proc: Path
) -> None:
    """An entry point of a container reads files and ends with `exec java`. Number and start time stay."""
    process(proc, 7, b"sh")
    assert _look(identities, Thread(7, "sh")).process == "sh"
    process(proc, 7, b"java")

    assert _look(identities, Thread(7, "sh")).process == "java"


def test_the_kernels_threads_are_the_kernel_and_others_of_that_name_are_not(identities: Identities, proc: Path) -> None:
    process(proc, 9, b"kworker/u4:0-nfsiod", flags=0x4208060, cgroup="/")
    process(proc, 10, b"kworker/u4:1", cgroup="/user.slice/user-1000.slice/session-3.scope")

    assert _look(identities, Thread(9, "kworker/u4:0")) == Identity("kernel")
    assert _look(identities, Thread(10, "kworker/u4:1")) == Identity("kworker/u4:1", unit="user-1000.slice")


@pytest.mark.parametrize("name", ["other", "kernel", "unknown writer"])
def test_a_process_that_takes_the_name_of_a_row_of_ours_is_marked(
    identities: Identities, proc: Path, name: str
) -> None:
    process(proc, 7, name.encode())

    assert _look(identities, Thread(7, name)).process == f"{name} (process)"
    assert _look(identities, Thread(99, name)).process == f"{name} (process)"


def test_rows_of_ours_need_no_look(identities: Identities) -> None:
    assert _look(identities, KERNEL) == Identity("kernel")
    assert _look(identities, UNKNOWN_WRITER) == Identity("unknown writer")


@pytest.mark.parametrize("name", [b") R 1 1 1", b"a\nb", b"\xff\xfe", b"", b"((("])
def test_a_hostile_name_does_not_shift_the_fields(identities: Identities, proc: Path, name: bytes) -> None:
    process(proc, 7, name, started=5)

    shown = name.decode("utf-8", "replace")

    assert _look(identities, Thread(7, "x")) == Identity(shown, unit="backup.service")
    process(proc, 7, name, started=6, cgroup="/system.slice/other.service")
    assert _look(identities, Thread(7, "x")) == Identity(shown, unit="other.service")


def test_a_pod_has_its_name_from_the_folder_of_the_logs(identities: Identities, proc: Path, tmp_path: Path) -> None:
    (tmp_path / "pods" / f"batch_etl-5d9c_{UID}").mkdir(parents=True)
    process(proc, 7, b"spark", cgroup=POD)

    assert _look(identities, Thread(7, "spark")) == Identity("spark", "batch", "etl-5d9c")


def test_a_pod_whose_name_is_not_known_has_its_uid(proc: Path, tmp_path: Path) -> None:
    pods = Pods(tmp_path / "pods")
    process(proc, 7, b"spark", cgroup=POD)

    assert _look(Identities(proc, pods, FamilyTree(proc)), Thread(7, "spark")) == Identity("spark", "", UID)
    assert not pods.is_readable


def test_a_folder_with_another_form_of_name_is_no_pod(identities: Identities, proc: Path, tmp_path: Path) -> None:
    (tmp_path / "pods" / f"a_b_c_{UID}").mkdir(parents=True)
    (tmp_path / "pods" / UID).mkdir(parents=True)
    process(proc, 7, b"spark", cgroup=POD)

    assert _look(identities, Thread(7, "spark")) == Identity("spark", "", UID)


def test_the_processes_of_a_container_are_not_taken_for_those_of_the_host(tmp_path: Path) -> None:
    """The kernel counts by the numbers of the host. The `/proc` of a container has other processes under the same numbers."""
    proc = tmp_path / "proc"
    process(proc, 1, b"fss-exporter")
    process(proc, 2, b"sh")
    process(proc, 7, b"nginx", cgroup="/system.slice/nginx.service")
    identities = Identities(proc, Pods(tmp_path / "pods"), FamilyTree(proc))

    assert _look(identities, Thread(7, "dd")) == Identity("dd")
    assert _look(identities, Thread(9, "kworker/u4:0")) == Identity("kernel")
    assert not identities.is_readable


def test_without_the_hosts_proc_the_names_stay_and_the_lack_is_known(tmp_path: Path) -> None:
    identities = Identities(tmp_path / "none", Pods(tmp_path), FamilyTree(tmp_path / "none"))

    assert _look(identities, Thread(7, "dd")) == Identity("dd")
    assert not identities.is_readable
