"""Running our own command as an operator does, in this process for speed or as one of its own."""

import contextlib
import importlib
import io
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fss_exporter.cli import logs
from fss_exporter.cli.main import run
from fss_exporter.oci import calls
from fss_exporter.oci.calls import CallBudget

ROOT = Path(__file__).parents[1]
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
    importlib.import_module("fss_exporter.oci.client")  # its annotations need the class
    monkeypatch.setattr(calls, "CallBudget", lambda *_, **__: CallBudget(1e6, clock=lambda: 0.0, wait=lambda _: False))


@contextlib.contextmanager
def logging_put_back() -> Iterator[None]:
    """Undo what `serve` and `demo` change of the log of their process: else other tests see more lines than they expect."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    levels = {logger: logger.level for logger in (root, *map(logging.getLogger, logs.PACKAGES))}
    try:
        yield
    finally:
        root.handlers[:], logging.raiseExceptions = handlers, True
        for logger, level in levels.items():
            logger.setLevel(level)


@contextlib.contextmanager
def signals_put_back() -> Iterator[None]:
    """Undo how a command in this process ends by signals."""
    before = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ask(*arguments: object) -> Answer:
    """Run `fss-exporter` in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        logging_put_back(),
        signals_put_back(),
    ):
        code = run([str(argument) for argument in arguments])
    return Answer(code, out.getvalue(), err.getvalue())


_EACH = """
import contextlib, io, json, os, sys
from fss_exporter.cli.main import run
answers = []
for arguments, environment in json.load(sys.stdin):
    os.environ.update(environment)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    answers.append((code, out.getvalue(), err.getvalue()))
json.dump(answers, sys.stdout)
"""


def ask_each(*questions: tuple[Sequence[str], Mapping[str, str]]) -> list[Answer]:
    """Run `fss-exporter` once for arguments and environment of each question, all in a single process, because a start takes long."""
    command = [sys.executable, "-c", _EACH]
    done = subprocess.run(
        command, input=json.dumps(questions), capture_output=True, text=True, cwd=ROOT, timeout=500, check=True
    )
    return [Answer(*answer) for answer in json.loads(done.stdout)]


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
