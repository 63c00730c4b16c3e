"""`fss-exporter demo` as a process, as an operator runs it."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.processes import PATIENCE_S, require, wait_for


@dataclass
class Demo:
    """A running demo. `said()` is its standard output so far."""

    process: subprocess.Popen[str]
    out: Path
    err: Path
    temporary: Path

    def said(self) -> str:
        return self.out.read_text()

    def printed(self, pattern: str) -> str:
        """What the first group of a pattern matches in the output, once it is there."""

        def look() -> str:
            assert self.process.poll() is None, self.err.read_text()
            match = re.search(pattern, self.said())
            return match[1] if match else ""

        return wait_for(look, f"{pattern} in {self.out}")

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


@contextmanager
def running(
    tmp_path: Path, *flags: str, program: str = "", hangup: signal.Handlers = signal.SIG_DFL, **more: str
) -> Iterator[Demo]:
    """A demo that inherits how SIGHUP is handled: the tests themselves may run under nohup."""
    out, err, temporary = tmp_path / "out", tmp_path / "err", tmp_path / "temporary"
    temporary.mkdir()
    with out.open("w") as to_out, err.open("w") as to_err:
        command = [program or require("fss-exporter", "this project"), "demo", *flags]
        environment = os.environ | {"TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"} | more
        before = signal.signal(signal.SIGHUP, hangup)
        try:
            process = subprocess.Popen(command, stdout=to_out, stderr=to_err, text=True, env=environment)
        finally:
            signal.signal(signal.SIGHUP, before)
        with process:
            try:
                yield Demo(process, out, err, temporary)
            finally:
                process.kill()
