"""Programs that work on NFS mounts, as people run them: `python3 workloads.py NAME ARGUMENTS`."""

import mmap
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MIB = 1 << 20


def tree(folder: str, files: int) -> None:
    """Make a tree of files with sizes as in source code."""
    sizes, data = random.Random(11), os.urandom(120_000)
    for number in range(files):
        place = Path(folder, f"d{number % 12:02}")
        place.mkdir(parents=True, exist_ok=True)
        size = min(int(sizes.lognormvariate(8.6, 1.3)), len(data))
        (place / f"f{number:04}.c").write_bytes(data[:size])


def pool(folder: str, workers: int, rounds: int) -> None:
    """Read files with short-lived workers, as a data loader or `make -j` does."""
    paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    for turn in range(rounds):
        children = []
        for worker in range(workers):
            child = os.fork()
            if not child:
                for path in paths[worker + turn :: workers * rounds]:
                    path.read_bytes()
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)


def dd(folder: str, count: int) -> None:
    """Write and read with many short `dd` of odd sizes."""
    for number in range(count):
        size = (511, 4096, 33_000, 40_000, 150_000, 1_048_576)[number % 6]
        path = f"{folder}/dd{number}"
        for ends in (("if=/dev/zero", f"of={path}", "conv=fsync"), (f"if={path}", "of=/dev/null", "iflag=direct")):
            subprocess.run(["dd", f"bs={size}", "count=4", "status=none", *ends], check=True)


def database(path: str, rows: int) -> None:
    """Insert and update with SQLite, which locks in each transaction."""
    sizes = random.Random(3)
    with sqlite3.connect(path, timeout=60) as database:
        database.execute("create table t(id integer primary key, v blob)")
        for number in range(rows):
            database.execute("insert into t(v) values(?)", (os.urandom(sizes.randint(10, 9000)),))
            database.execute(
                "update t set v=? where id=?", (b"x" * sizes.randint(1, 4000), sizes.randint(1, number + 1))
            )
            database.commit()


def log(path: str, lines: int) -> None:
    """Append to a log with O_DSYNC, in whole records of 8 KiB."""
    descriptor, sizes = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DSYNC), random.Random(5)
    for _ in range(lines):
        os.write(descriptor, bytes(8192 * sizes.choice((1, 1, 1, 2, 3, 8))))


def mapped(path: str, mebibytes: int, writes: int) -> None:
    """Write to random places of a mapped file."""
    places = random.Random(4)
    with Path(path).open("w+b") as file:
        file.truncate(mebibytes * _MIB)
        with mmap.mmap(file.fileno(), 0) as memory:
            for _ in range(writes):
                place = places.randrange(mebibytes * _MIB - 8)
                memory[place : place + 8] = b"changed!"
            memory.flush()


def stream(path: str, mebibytes: int) -> None:
    """Write a large file, and read it again from the server."""
    with Path(path).open("wb") as file:
        file.writelines(os.urandom(_MIB) for _ in range(mebibytes))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with Path(path).open("rb") as file:
        while file.read(100_000):
            pass


if __name__ == "__main__":
    name, *words = sys.argv[1:]
    arguments: list[Any] = [int(word) if word.isdecimal() else word for word in words]
    workloads: dict[str, Callable[..., None]] = {
        work.__name__: work for work in (tree, pool, dd, database, log, mapped, stream)
    }
    workloads[name](*arguments)
