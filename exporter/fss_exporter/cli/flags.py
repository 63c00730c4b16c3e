"""Flags that several commands share, and flags that are declared as fields of a dataclass."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import reduce
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from fss_exporter.durations import parse_duration

Command = TypeVar("Command", bound=Callable[..., Any])
_Flags = TypeVar("_Flags")

CONFIGURATION = click.Path(path_type=Path, exists=True, dir_okay=False)
"""An existing file. click names the flag if the file is missing."""

config_option = click.option(
    "--config.file",
    "config_file",
    type=CONFIGURATION,
    help="Settings: credentials, tags, ceilings, addresses, services.",
)


class FiniteRange(click.FloatRange):
    """A range of numbers without NaN and infinity, which every comparison of click lets through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number in the range {self._describe_range()}", param, ctx)
        return number


class CommandGroup(click.Group):
    """A group of commands whose help shows every summary whole. The help of click cuts summaries at the terminal's width."""

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Return name and summary of each command, in the order of the help."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [(name, command.get_short_help_str(limit=1000)) for name, command in found if command is not None]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(self.summaries(ctx))


def duration(text: str) -> float:
    """Return a flag's duration in seconds, more than none."""
    try:
        seconds = parse_duration(text)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from wrong
    if not seconds:
        raise click.BadParameter("must be longer than 0. Write it like 500ms, 1s or 1m30s")
    return seconds


def with_options(command: Command, options: Sequence[Callable[[Any], Any]]) -> Command:
    """Add options to a command, in the order of the help."""
    return reduce(lambda decorated, option: option(decorated), reversed(options), command)


def flag(name: str, text: str, default: Any = None, **attributes: Any) -> Any:
    """Declare a flag as the field of a dataclass, so that name, type, default and help stand in one place.

    Args:
        name: of the flag.
        text: its help.
        default: of the field. `written` in `attributes` is the default as an operator writes it, e.g. `1h`.
        attributes: of `click.option`.
    """
    return field(default=default, metadata={"name": name, "help": text, **attributes})


def flags_of(record: type, *names: str) -> Callable[[Command], Command]:
    """Return the decorator that adds the flags of some fields of a dataclass, in this order."""
    declared = {one.name: one for one in fields(record)}
    options = []
    for name in names:
        attributes = dict(declared[name].metadata)
        default = attributes.pop("written", declared[name].default)
        # Click is told of None as well: a pair like --account/--no-account is False by default otherwise.
        shown = {} if attributes.get("is_flag") else {"default": default, "show_default": default is not None}
        options.append(click.option(attributes.pop("name"), name, **{**shown, **attributes}))
    return lambda command: with_options(command, options)


def taken_from(record: type[_Flags], values: dict[str, Any]) -> _Flags:
    """Take the fields of a dataclass out of the keywords of a command."""
    names = [one.name for one in fields(record)]  # type: ignore[arg-type]  # a dataclass
    return record(**{name: values.pop(name) for name in names if name in values})


PROCFS: Final = Path("/proc")
_PATH: Final = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFlags:
    """The flags of this host's files and mounts."""

    procfs: Path = flag("--path.procfs", "Where procfs is mounted.", PROCFS, type=_PATH)
    pid: str = flag("--path.pid", "Process whose mounts are read: a number or self.", "1")
    exact: str = flag(
        "--nfs.exact",
        "Have the kernel count READ and WRITE by size (tracefs, as root) in place of estimating them. "
        "auto: where it can.",
        "off",
        type=click.Choice(("off", "auto", "on")),
    )
    tracefs: Path | None = flag(
        "--path.tracefs",
        "Where tracefs is mounted.  [default: /sys/kernel/tracing, else /sys/kernel/debug/tracing]",
        type=_PATH,
    )
    sysfs: Path = flag("--path.sysfs", "Where sysfs is mounted.", Path("/sys"), type=_PATH)


procfs_options = flags_of(HostFlags, "procfs", "pid")
kernel_options = flags_of(HostFlags, "tracefs", "sysfs")
exact_options = flags_of(HostFlags, "exact", "tracefs", "sysfs")
