"""A file that is replaced as a whole: by a reader's view, on a full disk, and on a file system that syncs no directory."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fss_exporter.whole_files import replace_whole


def test_the_file_has_the_new_content_and_the_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    replace_whole(path, b"new", 0o600)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_on_a_full_disk_the_old_file_stays_and_no_other_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_whole(path, b"new")
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == {"a": b"old"}


def test_a_killed_writer_leaves_nothing_for_good(tmp_path: Path) -> None:
    script = "import os, signal; from pathlib import Path; from fss_exporter.whole_files import replace_whole\n"
    script += f"os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\nreplace_whole(Path({str(tmp_path / 'a')!r}), b'new')"
    subprocess.run([sys.executable, "-c", script], check=False)
    (left,) = tmp_path.iterdir()
    replace_whole(tmp_path / "a", b"new")
    assert left.exists(), "another writer may be at work there"
    os.utime(left, (0, 0))
    replace_whole(tmp_path / "a", b"newer")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_of_the_operator_stays_however_it_is_called(tmp_path: Path) -> None:
    for name in (".a.old", ".b.new-x", "a.new-x"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    replace_whole(tmp_path / "a", b"new")
    assert {path.name for path in tmp_path.iterdir()} == {"a", ".a.old", ".b.new-x", "a.new-x"}


def test_a_file_system_that_syncs_no_directory_has_the_new_file_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def files_only(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(descriptor)

    monkeypatch.setattr("os.fsync", files_only)
    replace_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
