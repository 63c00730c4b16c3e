"""The flags that say what is read of this host, and where, the same for every command that reads it."""

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

PROCFS: Final = Path("/proc")

_PROCFS: Final = (
    click.option(
        "--path.procfs",
        "procfs",
        type=click.Path(path_type=Path),
        default=PROCFS,
        show_default=True,
        help="Where procfs is mounted.",
    ),
    click.option(
        "--path.pid", "pid", default="1", show_default=True, help="Process whose mounts are read: a number or self."
    ),
)
_KERNEL: Final = (
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
_EXACT: Final = click.option(
    "--nfs.exact",
    "exact",
    type=click.Choice(("off", "auto", "on")),
    default="off",
    show_default=True,
    help="Have the kernel count READ and WRITE by size (tracefs, as root) in place of estimating them. "
    "auto: where it can.",
)


def procfs_options(command: Command) -> Command:
    """Add the flags that locate this host's counters: parameters `procfs` and `pid`."""
    return reduce(lambda decorated, option: option(decorated), reversed(_PROCFS), command)


def kernel_options(command: Command) -> Command:
    """Add the flags that locate tracefs and sysfs: parameters `tracefs` and `sysfs`."""
    return reduce(lambda decorated, option: option(decorated), reversed(_KERNEL), command)


def exact_options(command: Command) -> Command:
    """Add the flags of exact mode: parameters `exact`, `tracefs` and `sysfs`."""
    return _EXACT(kernel_options(command))
