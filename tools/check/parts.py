"""Run the parts of .ci/parts.toml, each with `make`, and print a line with seconds for each. Exit code 1 if one fails.

parts.py run SECTION...            `check` and `ci`, several at a time. The output of each part goes to build/parts/
parts.py verify [PART...]          `verify` or some parts of it, one by one, with their results in build/verified.json
parts.py names SECTION             the names of the parts as a JSON list, for a workflow
parts.py judge FILE COMMIT [PART...]
                                   exit code 1 if FILE does not show every part of `verify` as ok at this commit, without the named ones
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[2]
LIST = ROOT / ".ci/parts.toml"
LOGS = ROOT / "build/parts"
TABLE = ROOT / "build/verified.json"
IS_CLONE = (ROOT / ".git").exists()
AT_A_TIME = 2
LIMIT_S = 3 * 3600
LAST_LINES = 40


@dataclass(frozen=True)
class Result:
    """What became of a part.

    Attributes:
        part: its name in the list.
        commit: of the checkout, with `+changes` if files differ from it.
        result: `ok` or `failed`.
        seconds: how long it took.
        date: when it ended, in UTC.
    """

    part: str
    commit: str
    result: str
    seconds: int
    date: str


class Running:
    """The processes that run now, so that none outlives this one."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()

    def make(self, arguments: str, log: Path) -> bool:
        """Run `make` with its output in a file. Return whether it went well."""
        with log.open("wb") as output:
            command = ["make", "--no-print-directory", *shlex.split(arguments)]
            process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
            self._processes.add(process)
            try:
                return process.wait(LIMIT_S) == 0
            except subprocess.TimeoutExpired:
                output.write(f"\nended after {LIMIT_S} s\n".encode())
                return False
            finally:
                self._end(process)

    def end(self, *_: object) -> NoReturn:
        """End all at a signal, and this process too."""
        for process in list(self._processes):
            self._end(process)
        os._exit(1)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):  # all of its group have ended
            os.killpg(process.pid, signal.SIGKILL)
        self._processes.discard(process)


RUNNING = Running()


def parts(sections: Sequence[str]) -> dict[str, str]:
    """The arguments of `make` by the name of the part."""
    listed = tomllib.loads(LIST.read_text())
    if unknown := sorted(set(sections) - set(listed)):
        refuse(f"no section is called {', '.join(unknown)}. There are: {', '.join(listed)}")
    return {name: arguments for section in sections for name, arguments in listed[section].items()}


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.rstrip()


def commit() -> str:
    return git("rev-parse", "HEAD") + ("+changes" if changes() else "") if IS_CLONE else "unknown"


def changes() -> str:
    """The files that differ from the commit, a line each. Empty outside a clone."""
    return git("status", "--porcelain", "--untracked-files=no") if IS_CLONE else ""


def run_part(name: str, arguments: str, at: str) -> Result:
    """Run a part and print its line, with the last lines of its output if it failed."""
    log = log_of(name)
    begun = time.monotonic()
    went_well = RUNNING.make(arguments, log)
    seconds = round(time.monotonic() - begun)
    lines = lines_of(log)
    result = Result(name, at, "ok" if went_well else "failed", seconds, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    text = f"{result.result:6}  {name:22}  {seconds:5} s  {closing(lines)}".rstrip()
    if not went_well:
        text = "\n".join([text, f"        make {arguments}, see {log.relative_to(ROOT)}", *lines[-LAST_LINES:]])
    print(f"{text}\n", end="", flush=True)  # in one piece, because other parts print too
    return result


def closing(lines: Sequence[str]) -> str:
    """The last line in which pytest counts its tests, or nothing."""
    counts = [line for line in lines if " in " in line and (" passed" in line or " failed" in line or " error" in line)]
    return counts[-1].strip("= ") if counts else ""


def log_of(name: str) -> Path:
    return LOGS / f"{name}.log"


def lines_of(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines()


def run_all(sections: Sequence[str]) -> bool:
    """Run the first part, then all others, several at a time."""
    first, *others = parts(sections).items()
    at = commit()
    log_of("test").unlink(missing_ok=True)
    results = [run_part(first[0], first[1], at)]
    if results[0].result == "ok":
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            results += pool.map(lambda part: run_part(part[0], part[1], at), others)
    red = [result.part for result in results if result.result != "ok"]
    left = f", {len(others) + 1 - len(results)} not run" if len(results) <= len(others) else ""
    print(f"{len(results) - len(red)} parts ok, {len(red)} failed{left} at {at}")
    if (tests := log_of("test")).exists():
        print(closing(lines_of(tests)))  # as the run of the tests itself ends
    return not red


def verify(names: Sequence[str]) -> bool:
    """Run parts one by one, because some measure times. The table keeps the other parts of the same commit."""
    every = parts(["verify"])
    refuse_unknown(names, every)
    rows_of(TABLE)  # now, and not after the first hour
    at = commit()
    went_well = True
    before = changes()
    for name in names or every:
        result = run_part(name, every[name], at)
        if changes() != before:  # the table would name a commit that later parts did not run on
            print(f"{name} changed files of the checkout:\n{changes()}", flush=True)
            result = replace(result, result="failed")
            before = changes()
        went_well &= result.result == "ok"
        write(result)
    for name, why in parts(["not-run"]).items():
        print(f"not run {name}: {why}")
    return went_well


def write(result: Result) -> None:
    kept = [row for row in rows_of(TABLE) if row.commit == result.commit and row.part != result.part]
    new = TABLE.with_suffix(".new")
    new.write_text(json.dumps([asdict(row) for row in (*kept, result)], indent=1) + "\n")
    new.replace(TABLE)


def rows_of(table: Path) -> list[Result]:
    """The rows of a table. None where no part was run yet."""
    try:
        return [Result(**row) for row in json.loads(table.read_text())] if table.exists() else []
    except (ValueError, TypeError):
        refuse(f"{table} is no table of parts. Remove it, and run the parts again")


def judge(rows: Iterable[Result], at: str, without: Sequence[str]) -> list[str]:
    """Say which parts of `verify` are red or not run at a commit."""
    every = parts(["verify"])
    refuse_unknown(without, every)
    results = {row.part: row.result for row in rows if row.commit == at}
    return [
        f"{name}: {results.get(name, 'not run')}" for name in every if name not in without and results.get(name) != "ok"
    ]


def refuse_unknown(names: Iterable[str], present: Iterable[str]) -> None:
    if unknown := sorted(set(names) - set(present)):
        refuse(f"no part of `verify` is called {', '.join(unknown)}. There are: {', '.join(present)}")


def refuse(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(2)


def main(arguments: Sequence[str]) -> bool:
    match arguments:
        case ["run", *sections] if sections:
            return run_all(sections)
        case ["verify", *names]:
            return verify(names)
        case ["names", section]:
            print(json.dumps(list(parts([section]))))
            return True
        case ["judge", file, at, *without]:
            missing = judge(rows_of(Path(file)), at, without)
            print("\n".join(missing) or f"every {'other part' if without else 'part'} is ok at {at}")
            return not missing
    refuse(__doc__ or "")


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, RUNNING.end)
    LOGS.mkdir(parents=True, exist_ok=True)
    sys.exit(not main(sys.argv[1:]))
