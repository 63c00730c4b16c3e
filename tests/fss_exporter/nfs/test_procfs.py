"""Reading the kernel's files: which ones, and what is said when they cannot be read."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.fss_exporter.nfs.records import Names, mountinfo, mountstats, write_procfs
from tests.processes import wait_for

from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.errors import SourceError
from fss_exporter.nfs.mountinfo import MountFilter, parse_mountinfo
from fss_exporter.nfs.procfs import Procfs, boot_hash_of, is_own_container
from fss_exporter.nfs.records import Mountinfo


def tree(root: Path, pid: str, *, device: str = "10.0.0.3:/a") -> Path:
    (root / pid).mkdir(parents=True)
    (root / pid / "mountstats").write_text(mountstats({"READ": 1}, device=device))
    (root / pid / "mountinfo").write_text(mountinfo(device=device))
    return root


def test_the_mounts_of_the_hosts_first_process_are_read(tmp_path: Path) -> None:
    tree(tmp_path, "self", device="10.0.0.4:/own")
    reading = Procfs(tree(tmp_path, "1")).read()

    assert [superblock.key.export for superblock in reading.superblocks] == ["/a"]
    assert reading.is_of_host


@pytest.mark.parametrize(
    ("own_pid_namespace", "own_number", "own_mount", "is_own"),
    [
        ("4026531836", "70", 46, False),
        ("4026532180", "70", 90, False),
        ("4026532180", "900", 46, False),
        ("4026532180", "70", 46, True),
    ],
    ids=["host", "system container whose first process is init", "host's proc", "pod without the host's proc"],
)
def test_the_first_process_of_the_agents_own_container_is_not_the_host(
    tmp_path: Path, own_pid_namespace: str, own_number: str, own_mount: int, is_own: bool
) -> None:
    """The agent asks nothing that needs a right to look into process 1."""
    root = tree(tmp_path / "root", "1")
    (root / "self").symlink_to("70")
    own = tmp_path / "own" / "self"
    (tmp_path / "own" / own_number / "ns").mkdir(parents=True)
    own.symlink_to(own_number)
    (own / "ns/pid").symlink_to(f"pid:[{own_pid_namespace}]")
    (own / "mountinfo").write_text(mountinfo(mount_id=own_mount))

    assert is_own_container(root, own) is is_own


def test_without_it_the_exporters_own_mounts_are_read_with_one_warning_that_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    procfs = Procfs(tree(tmp_path, "self"))
    readings = [procfs.read(), procfs.read()]

    assert [(len(reading.superblocks), reading.is_of_host) for reading in readings] == [(1, False), (1, False)]
    assert len(caplog.records) == 1
    assert f"cannot read {tmp_path}/1/mountinfo" in caplog.text
    assert "--path.procfs" in caplog.text


@pytest.mark.parametrize(
    ("pid", "flags", "missing"),
    [
        ("self", {}, "the mounts of the host, because it reads its own"),
        ("self", {"pid": "self"}, ""),
        ("1", {}, ""),
    ],
    ids=["pod without the host's proc", "its own mounts are asked for", "host"],
)
def test_an_agent_that_should_read_the_host_and_cannot_is_never_ready(
    tmp_path: Path, pid: str, flags: dict[str, Any], missing: str
) -> None:
    agent = NfsAgent(NfsFlags(procfs=tree(tmp_path, pid), metadata_url="", **flags))
    assert agent.waits_for() == "the first reading of nfs"

    agent.ticker.start()
    try:
        wait_for(lambda: agent.ticker.is_ready, "the first reading")
        assert agent.waits_for() == missing
    finally:
        agent.ticker.stop()


def test_an_unprivileged_exporter_parses_its_own_mounts_once_and_not_each_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody may read the mountinfo of process 1, and root alone its mountstats."""
    tree(tmp_path, "self", device="10.0.0.4:/own")
    (tree(tmp_path, "1") / "1" / "mountstats").unlink()
    procfs, parsed = Procfs(tmp_path), []

    def count(text: str, wanted: MountFilter) -> Mountinfo:
        parsed.append(text)
        return parse_mountinfo(text, wanted)

    monkeypatch.setattr("fss_exporter.nfs.procfs.parse_mountinfo", count)
    for _ in range(3):
        assert [superblock.key.export for superblock in procfs.read().superblocks] == ["/own"]
    assert len(parsed) == 1


def test_a_process_the_user_named_is_read_or_nothing(tmp_path: Path) -> None:
    assert Procfs(tree(tmp_path, "self"), "self").read().is_of_host is None
    with pytest.raises(
        SourceError, match=r"cannot read .*/4711/mountinfo: No such file or directory; mount the host's /proc"
    ):
        Procfs(tmp_path, "4711").read()


def test_a_file_that_may_not_be_read_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the refusal is the one the kernel gives an ordinary user."""

    procfs = Procfs(tree(tmp_path, "1"))

    def refuse(path: str, *_: object) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SourceError, match="mountinfo: Permission denied; run the exporter as root"):
        procfs.read()


@pytest.mark.parametrize("most", [None, 10])
@pytest.mark.parametrize("name", ["mountinfo", "mountstats"])
def test_a_file_that_fails_while_it_is_read_is_named(tmp_path: Path, name: str, most: int | None) -> None:
    """A read of the memory of a process opens, and then fails at address 0."""
    (tree(tmp_path, "1") / "1" / name).unlink()
    (tmp_path / "1" / name).symlink_to("/proc/self/mem")
    with pytest.raises(SourceError, match=f"cannot read {tmp_path}/1/{name}: Input/output error"):
        Procfs(tmp_path, wanted=MountFilter(most=most)).read()


@pytest.mark.parametrize("text", ["\0" * 100, "READ: 1 2 3\n", "<html>", "x" * 1_000_000])
def test_a_mountstats_without_a_record_is_an_error_and_not_an_idle_host(tmp_path: Path, text: str) -> None:
    (tree(tmp_path, "1") / "1" / "mountstats").write_text(text)
    with pytest.raises(SourceError, match="1/mountstats begins with no record of a mount"):
        Procfs(tmp_path).read()


def test_a_directory_in_place_of_a_file_is_an_error_and_not_an_empty_host(tmp_path: Path) -> None:
    (tree(tmp_path, "1") / "1" / "mountstats").unlink()
    (tmp_path / "1" / "mountstats").mkdir()
    with pytest.raises(SourceError, match="check --path"):
        Procfs(tmp_path).read()


def test_a_mount_made_between_the_two_files_is_found_by_a_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, "1")
    looks = iter(["", mountinfo()])
    honest = Path.read_bytes

    def read(path: Path) -> bytes:
        return next(looks).encode() if path.name == "mountinfo" else honest(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    reading = Procfs(tmp_path).read()

    assert (len(reading.superblocks), reading.skipped) == (1, ())


def test_names_that_are_not_utf8_stay_visible_and_distinct(tmp_path: Path) -> None:
    (tree(tmp_path, "1") / "1" / "mountstats").write_bytes(
        mountstats({"READ": 1}).encode().replace(b"/mnt/a", b"/mnt/\xff")
    )
    (tmp_path / "1" / "mountinfo").write_bytes(mountinfo().encode().replace(b"/mnt/a", b"/mnt/\xff"))
    (superblock,) = Procfs(tmp_path).read().superblocks

    assert superblock.mounts[0].mount_point == "/mnt/\\xff"


def test_of_a_huge_mountstats_only_the_supported_mounts_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text ends in the middle of a record then, which is no fault of the file."""
    monkeypatch.setattr("fss_exporter.nfs.procfs._OTHER_MOUNTS_BYTES", 0)
    monkeypatch.setattr("fss_exporter.nfs.procfs._PIECE_BYTES", 1000)
    names = [Names(device=f"10.0.0.3:/{number}", mount_point=f"/mnt/{number}") for number in range(2000)]
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "mountstats").write_text("".join(mountstats({"READ": 1}, **name) for name in names))
    info = (mountinfo(superblock=f"0:{number}", **options) for number, options in enumerate(names))
    (tmp_path / "1" / "mountinfo").write_text("".join(info))
    procfs = Procfs(tmp_path, wanted=MountFilter(most=3))

    reading = procfs.read()
    assert [superblock.key.export for superblock in reading.superblocks] == ["/0", "/1", "/2"]
    assert (reading.left_out, reading.skipped) == (1997, ())
    assert len(procfs._counters(str(tmp_path / "1" / "mountstats"))) <= 3 * 9000 + 1000


def test_a_young_superblock_has_the_number_that_the_kernel_gives_its_folder_in_sysfs(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/bdi/0:40"
    folder.mkdir(parents=True)
    root = write_procfs(tmp_path / "proc", mountstats({"READ": 1}, age=3), mountinfo())
    young = Procfs(root, sysfs=tmp_path / "sys").read()
    write_procfs(root, mountstats({"READ": 1}, age=1000), mountinfo())
    old = Procfs(root, sysfs=tmp_path / "sys").read()

    assert [superblock.life for superblock in (*young.superblocks, *old.superblocks)] == [folder.stat().st_ino, None]


def test_one_boot_has_one_hash_that_does_not_tell_the_boot_id(tmp_path: Path) -> None:
    def hash_of(boot_id: str) -> str:
        place = tmp_path / boot_id / "sys" / "kernel" / "random"
        place.mkdir(parents=True, exist_ok=True)
        (place / "boot_id").write_text(f"{boot_id}\n")
        return boot_hash_of(tmp_path / boot_id)

    one, other = "5c8a2f0e-54f2-4d3c-9a5e-0d2f7f6f1b11", "0d9b6a1c-93a7-4a55-8d0e-3a1c6f5e7d22"

    assert len(hash_of(one)) == 12
    assert hash_of(one) == hash_of(one) != hash_of(other)
    assert hash_of(one) not in one.replace("-", "")
    assert boot_hash_of(tmp_path / "nowhere") == ""
