"""Running our own command as an operator does, in this process for speed or as one of its own."""

import contextlib
import io
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fss_exporter.cli.main import run
from fss_exporter.oci import calls
from fss_exporter.oci.calls import CallBudget

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "tests/fixtures/recordings/kernel-6.1"


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


def call_without_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands in this process call OCI without a pause, because other tests specify the budget of calls."""
    monkeypatch.setattr(calls, "CallBudget", lambda *_, **__: CallBudget(1e6, clock=lambda: 0.0, wait=lambda _: False))


def ask(*arguments: object) -> Answer:
    """Run `fss-exporter` in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return Answer(code, out.getvalue(), err.getvalue())


def ask_process(*arguments: object, **environment: str) -> Answer:
    """Run `fss-exporter` as a process of its own, in the root of the project."""
    done = subprocess.run(
        ["fss-exporter", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
        timeout=120,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)
