"""The flags of exact mode, the same for `serve` and `iostat`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def exact_options(command: Command) -> Command:
    """`--nfs.exact` and where it finds the kernel's files: parameters `exact`, `tracefs`, `sysfs`."""
    options = (
        click.option(
            "--nfs.exact",
            "exact",
            type=click.Choice(("off", "auto", "on")),
            default="off",
            show_default=True,
            help="Have the kernel count READ and WRITE by size (tracefs, as root) in place of estimating them. "
            "auto: where it can.",
        ),
        click.option(
            "--path.tracefs",
            "tracefs",
            type=click.Path(path_type=Path),
            help="Where tracefs is mounted.  [default: /sys/kernel/tracing, else /sys/kernel/debug/tracing]",
        ),
        click.option(
            "--path.sysfs",
            "sysfs",
            type=click.Path(path_type=Path),
            default=Path("/sys"),
            show_default=True,
            help="Where sysfs is mounted.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
