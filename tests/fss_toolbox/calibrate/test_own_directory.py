"""The directory of a calibration: removed at the end however it ends, recognised after kill -9, never another's."""

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fss_exporter.errors import SourceError, UsageError
from fss_toolbox.calibrate.own_directory import MARK, PREFIX, KeptDirectory, Leftovers, own_directory, remove_leftovers

WORK = """
import sys
import time
from pathlib import Path
from fss_toolbox.calibrate.own_directory import own_directory
with own_directory(Path(sys.argv[1])) as own:
    (own / "file").write_text("x")
    print(own, flush=True)
    time.sleep(3600)
"""


@contextmanager
def working(parent: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that works in a directory of its own."""
    arguments = [sys.executable, "-c", WORK, str(parent)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_it_is_gone_at_the_end_and_after_an_exception_and_what_a_link_inside_names_stays(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    with own_directory(tmp_path) as own:
        (own / "folder").mkdir()
        (own / "link").symlink_to(precious)
    assert list(tmp_path.iterdir()) == [precious]
    with pytest.raises(KeyboardInterrupt), own_directory(tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [precious]
    assert (precious / "file").exists()


@pytest.mark.parametrize(
    ("failure", "told"),
    [(OSError(errno.EDQUOT, "Disk quota exceeded"), UsageError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_it_is_gone_if_its_mark_cannot_be_written(
    failure: BaseException, told: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise failure

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(told), own_directory(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_kill_9_leaves_is_removed_by_the_next_run(tmp_path: Path) -> None:
    with working(tmp_path) as (process, own):
        process.kill()
        process.wait(120)
    assert (own / "file").exists()
    assert remove_leftovers(tmp_path) == Leftovers(removed=(own,), kept=())
    assert list(tmp_path.iterdir()) == []


def test_a_calibration_that_still_runs_is_refused_and_left_alone(tmp_path: Path) -> None:
    with working(tmp_path) as (process, own):
        with pytest.raises(UsageError, match=f"process {process.pid}"):
            remove_leftovers(tmp_path)
        assert (own / "file").exists()


def test_a_directory_of_that_name_without_our_mark_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / f"{PREFIX}00000000"
    other.mkdir()
    (other / "thesis").write_text("x")
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    (tmp_path / f"{PREFIX}file").write_text("x")
    assert remove_leftovers(tmp_path) == Leftovers(removed=(), kept=())
    assert (other / "thesis").exists()


def left(parent: Path, mark: str) -> Path:
    """A directory of a calibration with a mark."""
    directory = parent / f"{PREFIX}0badcafe"
    directory.mkdir()
    (directory / MARK).write_text(mark)
    return directory


def test_a_directory_of_another_host_is_kept_because_no_process_table_shows_its_calibration(tmp_path: Path) -> None:
    directory = left(tmp_path, '{"host": "another", "pid": 1}')
    assert remove_leftovers(tmp_path) == Leftovers(removed=(), kept=(KeptDirectory(directory, "another"),))
    assert (directory / MARK).exists()


@pytest.mark.parametrize(
    "mark",
    [
        "",
        "[]",
        "[" * 100_000,
        "{}",
        '{"host": "h", "pid": "x"}',
        '{"host": null, "pid": -1}',
        '{"host": ["h"], "pid": 1}',
        '{"host": "", "pid": 1}',
        json.dumps({"host": socket.gethostname(), "pid": 0}),
        json.dumps({"host": socket.gethostname(), "pid": True}),
        json.dumps({"host": socket.gethostname(), "pid": 10**30}),
    ],
)
def test_a_directory_with_a_damaged_mark_is_kept_because_another_host_may_be_writing_it(
    mark: str, tmp_path: Path
) -> None:
    directory = left(tmp_path, mark)
    assert remove_leftovers(tmp_path) == Leftovers(removed=(), kept=(KeptDirectory(directory, ""),))
    assert (directory / MARK).exists()


def test_a_file_that_stays_leaves_the_mark_for_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS keeps a file that another process has open under a new name."""
    unlink = os.unlink

    def kept(name: str, *, dir_fd: int) -> None:
        if name == "file":
            os.rename(name, ".nfs0001", src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        else:
            unlink(name, dir_fd=dir_fd)

    with monkeypatch.context() as open_file:
        open_file.setattr("os.unlink", kept)
        with pytest.raises(SourceError, match="The next run tries again"), own_directory(tmp_path) as own:
            (own / "file").write_text("x")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    (own / MARK).write_text(json.dumps({"host": socket.gethostname(), "pid": ended.pid}))
    assert remove_leftovers(tmp_path).removed == (own,)


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot make a directory"), own_directory(tmp_path / "nowhere"):
        pass


def test_a_directory_that_cannot_be_removed_is_one_line_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "rmdir", gone)
    with (
        pytest.raises(SourceError, match=f"{PREFIX}.*: cannot be removed: Input/output error"),
        own_directory(tmp_path),
    ):
        pass


@pytest.mark.parametrize("is_link", [True, False])
def test_a_directory_that_another_user_puts_in_its_place_keeps_its_files(*, is_link: bool, tmp_path: Path) -> None:
    """Root calibrates below a directory of another user, and this user can rename everything in the directory."""
    victim, parent = tmp_path / "victim", tmp_path / "parent"
    for folder in (victim / "folder", parent):
        folder.mkdir(parents=True)
    (victim / "precious").write_text("kept")

    with pytest.raises(SourceError, match="not the directory that the calibration made"), own_directory(parent) as own:  # noqa: PT012
        own.rename(parent / "away")
        own.symlink_to(victim) if is_link else victim.rename(own)
    there = victim if victim.exists() else own
    assert (there / "precious").read_text() == "kept"
    assert (there / "folder").is_dir()
