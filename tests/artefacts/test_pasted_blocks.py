"""Each console block of README and of the pages for a first day does something when a reader pastes it into a shell.

Programs are stand-ins that write down how they were called: the blocks install software, ask OCI and run until Ctrl-C. What stays
real is the shell that reads the block, and the parser of fss-exporter that reads each command line.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from fss_exporter.cli.main import cli

ROOT = Path(__file__).parents[2]
FIRST_DAY = ("install.md", "upgrade.md", "start/*.md")
PAGES = (ROOT / "README.md", *(page for name in FIRST_DAY for page in sorted((ROOT / "docs").glob(name))))
PREFIXES = ("/opt/fss-exporter/bin", "~/fss/bin", ".venv/bin")
STAND_IN = '#!/bin/bash\n[ "${0##*/}" = sudo ] && exec "$@"\necho "${0##*/} ${*@Q}" >>"$CALLS"\n'
PROGRAMS = (
    *("sudo", "make", "python3", "python3.12", "pip", "curl", "grep", "promtool", "fss-exporter"),
    *("sh", "dnf", "firewall-cmd", "ansible-playbook", "helm", "kubectl"),
    *("cp", "ln", "systemctl", "docker", "buildah", "debootstrap"),
    *("groupadd", "chgrp", "chmod"),
)


def blocks() -> list[str]:
    return [block for page in PAGES for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL)]


def commands(block: str) -> list[str]:
    """The lines that a reader takes for commands, without the lines that continue them and those of a loop."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not re.match("for .*; do$|done$", line)]


def pasted(block: str, folder: Path) -> list[list[str]]:
    """Name and arguments of each program that bash starts for the block."""
    for name in PROGRAMS:
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    calls = folder / "calls"
    calls.write_text("")
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(calls)}
    text = block
    for prefix in PREFIXES:
        text = text.replace(prefix, str(folder))
    subprocess.run(["bash", "-eu"], input=text, text=True, env=environment, cwd=folder, check=True, capture_output=True)
    return [shlex.split(line) for line in calls.read_text().splitlines()]


def parse(arguments: list[str]) -> None:
    """Read a command line as fss-exporter does, and start nothing."""
    command: click.Command = cli
    context = click.Context(cli, **cli.context_settings)  # a command keeps the names of its first help option
    rest = arguments
    while isinstance(command, click.Group):
        _, subcommand, rest = command.resolve_command(context, rest)
        assert subcommand is not None
        command, context = subcommand, click.Context(subcommand, parent=context)
    command.make_parser(context).parse_args(rest)


def test_every_line_of_a_pasted_block_starts_a_program_with_flags_that_ours_takes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    for block in blocks():
        calls = pasted(block, tmp_path_factory.mktemp("pasted"))

        started = [name for name, *_ in calls]
        assert [line for line in commands(block) if not any(name in line for name in started)] == [], block
        assert len(calls) >= len(commands(block)), block
        for name, *arguments in calls:
            if name == "fss-exporter":
                parse(arguments)
