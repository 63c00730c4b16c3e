"""A file that is replaced as a whole: by a reader's view, on a full disk, and on a file system that syncs no directory."""

import errno
import os
import stat
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
