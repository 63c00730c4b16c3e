"""Workloads of every kind, whose sizes, counts and speeds come from chance with a seed, and the programs that run them.

`python3 drawn.py PROGRAM ARGUMENTS_AS_JSON` runs one program. `drawn(seed)` gives the workloads of a seed, always the same.
"""

import json
import mmap
import os
import random
import shutil
import sqlite3
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SEED = 20261129  # the day on which the rule was frozen

A, B = "/mnt/a", "/mnt/b"
_KIB, _MIB = 1 << 10, 1 << 20
_LARGEST_BYTES = 24 * _MIB  # of one program, so that a capture stays small


class Program(NamedTuple):
    """A program of this file with its arguments."""

    name: str
    arguments: dict[str, Any]


class Workload(NamedTuple):
    """Programs that run at the same time, after others that made their files."""

    name: str
    kind: str
    options: str  # of the mounts
    before: tuple[Program, ...]
    during: tuple[Program, ...]


Draw = Callable[[random.Random, str], tuple[list[Program], list[Program]]]


def drawn(seed: int) -> list[Workload]:
    """Return the workloads of a seed: of each kind as many as its line says."""
    chance = random.Random(seed)
    kinds: tuple[tuple[str, int, Draw], ...] = (
        ("metadata only", 4, _metadata),
        ("one size at a time", 8, _one_size),
        ("mixed or odd sizes", 10, _mixed),
        ("trees of files", 8, _trees),
        ("databases", 6, _databases),
        ("several programs at once", 6, _several),
    )
    workloads: list[Workload] = []
    for kind, count, draw in kinds:
        for _ in range(count):
            before, during = draw(chance, A)
            name = f"u{len(workloads) + 1:02}_{'_'.join(dict.fromkeys(program.name for program in during))}"
            workloads.append(Workload(name, kind, _options(chance), tuple(before), tuple(during)))
    return workloads


def _options(chance: random.Random) -> str:
    """Mount options: one mount of four has a smaller rsize and wsize."""
    size = chance.choice((32, 64, 128, 256, 512)) * _KIB
    return f",rsize={size},wsize={size}" if chance.random() < 0.25 else ""


def _log_uniform(chance: random.Random, low: float, high: float) -> float:
    return float(low * (high / low) ** chance.random())


def _size(chance: random.Random) -> int:
    """Bytes of one transfer: a power of two, whole pages or any number."""
    size = _log_uniform(chance, _KIB, _MIB)
    flavour = chance.choice(("power", "pages", "any", "any"))
    if flavour == "power":
        return 1 << round(chance.uniform(10, 20))
    return max(1, round(size / 4096)) * 4096 if flavour == "pages" else round(size)


def _transfers(chance: random.Random, folder: str, sizes: list[int]) -> tuple[list[Program], list[Program]]:
    direction, how = chance.choice(("read", "write")), chance.choice(("direct", "direct", "synchronous", "cached"))
    count = round(min(_log_uniform(chance, 60, 1500), _LARGEST_BYTES / (sum(sizes) / len(sizes))))
    path, seed = f"{folder}/transfers{chance.randrange(1000)}", chance.randrange(1 << 30)
    arguments = {
        "path": path,
        "direction": direction,
        "how": how,
        "sizes": sizes,
        "weights": [round(chance.uniform(0.05, 1), 2) for _ in sizes],
        "count": max(16, count),
        "per_second": round(_log_uniform(chance, 30, 3000)),
        "seed": seed,
    }
    return [Program("fill", {"path": path, "size": _LARGEST_BYTES})], [Program("transfers", arguments)]


def _one_size(chance: random.Random, folder: str) -> tuple[list[Program], list[Program]]:
    if chance.random() < 0.25:
        arguments = {
            "path": f"{folder}/stream{chance.randrange(1000)}",
            "size": round(_log_uniform(chance, 2 * _MIB, _LARGEST_BYTES)),
            "chunk": _size(chance),
        }
        return [], [Program("stream", arguments)]
    return _transfers(chance, folder, [_size(chance)])


def _mixed(chance: random.Random, folder: str) -> tuple[list[Program], list[Program]]:
    which = chance.choice(("transfers", "transfers", "append", "mapped"))
    if which == "append":
        low = _log_uniform(chance, 20, 8000)
        arguments = {
            "path": f"{folder}/log{chance.randrange(1000)}",
            "low": round(low),
            "high": round(low * _log_uniform(chance, 1.5, 60)),
            "count": round(_log_uniform(chance, 40, 800)),
            "sync_each": chance.choice((1, 1, 2, 7, 30)),
            "per_second": round(_log_uniform(chance, 20, 800)),
            "seed": chance.randrange(1 << 30),
        }
        return [], [Program("append", arguments)]
    if which == "mapped":
        path, size = f"{folder}/mapped{chance.randrange(1000)}", round(_log_uniform(chance, _MIB, _LARGEST_BYTES))
        arguments = {
            "path": path,
            "reads": round(_log_uniform(chance, 50, 600)),
            "writes": round(_log_uniform(chance, 50, 600)),
            "longest": round(_log_uniform(chance, 8, 60_000)),
            "seed": chance.randrange(1 << 30),
        }
        return [Program("fill", {"path": path, "size": size})], [Program("mapped", arguments)]
    return _transfers(chance, folder, [_size(chance) for _ in range(chance.randint(2, 5))])


def _trees(chance: random.Random, folder: str) -> tuple[list[Program], list[Program]]:
    number = chance.randrange(1000)
    files, median = round(_log_uniform(chance, 60, 500)), round(_log_uniform(chance, 800, 200_000))
    arguments = {
        "folder": f"{folder}/tree{number}",
        "files": min(files, round(_LARGEST_BYTES / median / 2)),
        "median": median,
        "sigma": round(chance.uniform(0.4, 1.8), 2),
        "sync": chance.random() < 0.3,
        "seed": chance.randrange(1 << 30),
    }
    tree = Program("tree", arguments)
    folders = {"folder": arguments["folder"], "to": f"{folder}/copy{number}"}
    does = chance.choice(("write", "read", "read", "copy", "tar", "workers"))
    if does == "write":
        return [], [tree]
    if does == "read":
        return [tree], [Program("read_tree", {"folder": folders["folder"], "chunk": chance.choice((0, _size(chance)))})]
    if does == "workers":
        parts = chance.randint(2, 6)
        return [tree], [
            Program("read_tree", {"folder": folders["folder"], "chunk": 0, "part": part, "parts": parts})
            for part in range(parts)
        ]
    return [tree], [Program(does, folders)]


def _databases(chance: random.Random, folder: str) -> tuple[list[Program], list[Program]]:
    if chance.random() < 0.5:
        low = _log_uniform(chance, 10, 2000)
        arguments = {
            "path": f"{folder}/sqlite{chance.randrange(1000)}",
            "rows": round(_log_uniform(chance, 30, 250)),
            "low": round(low),
            "high": round(low * _log_uniform(chance, 2, 40)),
            "commit_each": chance.choice((1, 1, 3, 20)),
            "seed": chance.randrange(1 << 30),
        }
        return [], [Program("sqlite", arguments)]
    page, path = chance.choice((4, 8, 16, 32)) * _KIB, f"{folder}/table{chance.randrange(1000)}"
    arguments = {
        "path": path,
        "page": page,
        "rounds": round(_log_uniform(chance, 40, 500)),
        "reads": chance.randint(1, 6),
        "writes": chance.randint(0, 3),
        "log": round(_log_uniform(chance, 200, 60_000)),
        "scan_each": chance.choice((0, 25, 100)),
        "scan": _size(chance),
        "per_second": round(_log_uniform(chance, 20, 800)),
        "seed": chance.randrange(1 << 30),
    }
    return [Program("fill", {"path": path, "size": _LARGEST_BYTES})], [Program("pages", arguments)]


def _metadata(chance: random.Random, folder: str) -> tuple[list[Program], list[Program]]:
    where = f"{folder}/names{chance.randrange(1000)}"
    made = {"folder": where, "count": round(_log_uniform(chance, 40, 400)), "seed": chance.randrange(1 << 30)}
    if chance.random() < 0.5:
        return [], [Program("names", made)]
    return [Program("names", made)], [Program("walk", {"folder": where, "rounds": chance.randint(1, 4)})]


def _several(chance: random.Random, _folder: str) -> tuple[list[Program], list[Program]]:
    before: list[Program] = []
    during: list[Program] = []
    for place in range(chance.randint(2, 4)):
        draws: tuple[Draw, ...] = (_one_size, _mixed, _trees, _databases, _metadata)
        draw = chance.choice(draws)
        earlier, now = draw(chance, f"{(A, B)[chance.randrange(2)]}/p{place}")
        before, during = before + earlier, during + now
    return before, during


# The programs.


def _paced(count: int, per_second: float) -> Iterator[int]:
    """Count, no faster than so many a second."""
    began = time.monotonic()
    for number in range(count):
        yield number
        if (ahead := began + (number + 1) / per_second - time.monotonic()) > 0.002:
            time.sleep(ahead)


def _bytes(size: int) -> bytes:
    return os.urandom(4096) * (size // 4096 + 1)


def _parent(path: str) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return path


def fill(path: str, size: int) -> None:
    Path(_parent(path)).write_bytes(_bytes(size)[:size])


def transfers(
    path: str,
    direction: str,
    how: str,
    sizes: list[int],
    weights: list[float],
    count: int,
    per_second: float,
    seed: int,
) -> None:
    """Read or write at random places of a file, each time one of the sizes. A cached write is synced at the end alone."""
    chance, end = random.Random(seed), Path(path).stat().st_size
    extra = {"direct": os.O_DIRECT, "synchronous": os.O_SYNC, "cached": 0}[how]
    file = os.open(path, (os.O_RDONLY if direction == "read" else os.O_RDWR) | extra)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    memory = memoryview(mmap.mmap(-1, 2 * _MIB))
    for _ in _paced(count, per_second):
        (size,) = chance.choices(sizes, weights)
        place = chance.randrange((end - size) // 4096 + 1) * 4096
        if direction == "read":
            os.preadv(file, [memory[:size]], place)
        else:
            os.pwrite(file, memory[:size], place)
    os.fsync(file)
    os.close(file)


def stream(path: str, size: int, chunk: int) -> None:
    """Write a file from its begin to its end in chunks, and read it again from the server."""
    data = _bytes(chunk)[:chunk]
    with Path(_parent(path)).open("wb", buffering=0) as file:
        file.writelines(data[: size - at] for at in range(0, size, chunk))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with Path(path).open("rb", buffering=0) as file:
        while file.read(chunk):
            pass


def append(path: str, low: int, high: int, count: int, sync_each: int, per_second: float, seed: int) -> None:
    """Append records of unlike size to a log, and sync it now and then."""
    chance, data = random.Random(seed), _bytes(high)
    with Path(_parent(path)).open("ab", buffering=0) as file:
        for number in _paced(count, per_second):
            file.write(data[: chance.randint(low, high)])
            if number % sync_each == sync_each - 1:
                os.fsync(file.fileno())


def mapped(path: str, reads: int, writes: int, longest: int, seed: int) -> None:
    """Read and write at random places of a mapped file."""
    chance = random.Random(seed)
    with Path(path).open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        for number in range(reads + writes):
            length = min(chance.randint(1, longest), len(memory) - 1)
            place = chance.randrange(len(memory) - length)
            if number < reads:
                bytes(memory[place : place + length])
            else:
                memory[place : place + length] = b"w" * length
        memory.flush()


def tree(folder: str, files: int, median: int, sigma: float, sync: bool, seed: int) -> None:
    """Make a tree of files, whose sizes are log-normal."""
    chance, data = random.Random(seed), _bytes(4 * _MIB)
    for number in range(files):
        path = Path(folder, f"d{number % 9}", f"f{number:04}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(data[: max(1, min(len(data), int(median * chance.lognormvariate(0, sigma))))])
            if sync:
                file.flush()
                os.fsync(file.fileno())


def read_tree(folder: str, chunk: int, part: int = 0, parts: int = 1) -> None:
    """Read every file of a tree, or a part of them, at once or in chunks."""
    for path in sorted(path for path in Path(folder).rglob("f*") if path.is_file())[part::parts]:
        with path.open("rb", buffering=0) as file:
            while file.read(chunk or -1):
                pass


def copy(folder: str, to: str) -> None:
    shutil.copytree(folder, to)


def tar(folder: str, to: str) -> None:
    with tarfile.open(f"{to}.tar", "w") as archive:
        archive.add(folder)


def sqlite(path: str, rows: int, low: int, high: int, commit_each: int, seed: int) -> None:
    """Insert rows, change some and read some."""
    chance = random.Random(seed)
    with sqlite3.connect(_parent(path), timeout=60) as database:
        database.execute("create table t(id integer primary key, v blob)")
        for number in range(rows):
            database.execute("insert into t(v) values(?)", (os.urandom(chance.randint(low, high)),))
            other = chance.randint(1, number + 1)
            database.execute("update t set v=? where id=?", (b"x" * chance.randint(low, high), other))
            if number % commit_each == commit_each - 1:
                database.commit()
        database.execute("select sum(length(v)) from t").fetchone()


def pages(
    path: str,
    page: int,
    rounds: int,
    reads: int,
    writes: int,
    log: int,
    scan_each: int,
    scan: int,
    per_second: float,
    seed: int,
) -> None:
    """A server with pages in O_DIRECT, a log with O_DSYNC, and a scan now and then."""
    chance, last = random.Random(seed), Path(path).stat().st_size // page - 1
    table = os.open(path, os.O_RDWR | os.O_DIRECT)
    journal = os.open(f"{path}.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_DSYNC)
    memory, data = memoryview(mmap.mmap(-1, 2 * _MIB)), _bytes(log)
    for number in _paced(rounds, per_second):
        for _ in range(reads):
            os.preadv(table, [memory[:page]], chance.randint(0, last) * page)
        for _ in range(writes):
            os.pwrite(table, memory[:page], chance.randint(0, last) * page)
        if writes:
            os.write(journal, data[: chance.randint(1, log)])
        if scan_each and number % scan_each == 0:
            os.preadv(table, [memory[:scan]], chance.randrange(16) * _MIB)
    os.close(table)
    os.close(journal)


def names(folder: str, count: int, seed: int) -> None:
    """Make, rename, link and remove names."""
    chance = random.Random(seed)
    Path(folder).mkdir(parents=True)
    for number in range(count):
        path = Path(folder, f"n{number:04}")
        path.touch()
        for act in chance.sample(("rename", "link", "symlink", "mkdir", "chmod", "miss"), 3):
            if act == "rename":
                path = path.rename(f"{path}r")
            elif act == "link":
                Path(f"{path}l").hardlink_to(path)
            elif act == "symlink":
                Path(f"{path}s").symlink_to(path)
            elif act == "mkdir":
                Path(f"{path}d").mkdir()
            elif act == "chmod":
                path.chmod(0o600)
            else:
                Path(f"{path}nope").exists()
        if chance.random() < 0.3:
            path.unlink()


def walk(folder: str, rounds: int) -> None:
    """List a folder and look at every name."""
    for _ in range(rounds):
        for entry in os.scandir(folder):
            entry.stat(follow_symlinks=False)
            if entry.is_symlink():
                Path(entry.path).readlink()
        os.statvfs(folder)


PROGRAMS: dict[str, Callable[..., None]] = {
    program.__name__: program
    for program in (fill, transfers, stream, append, mapped, tree, read_tree, copy, tar, sqlite, pages, names, walk)
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](**json.loads(sys.argv[2]))
