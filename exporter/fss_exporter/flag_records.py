# SPDX-License-Identifier: Apache-2.0
"""The flags of a command as the fields of a dataclass, so that name, type, default and help stand in one place.

The last records are the flags of a host, which `doctor` and the commands share.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

import click

from fss_exporter.errors import UsageError

_Record = TypeVar("_Record")
_Result = TypeVar("_Result")
PROCFS: Final = Path("/proc")
SYSFS: Final = Path("/sys")


class FilePath(click.Path):
    """A path that is not empty. click takes an empty path for the current directory."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return the path."""
        if not os.fspath(value):
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


_TYPES: Final = {Path: FilePath(path_type=Path)}


class FiniteRange(click.FloatRange):
    """A range of numbers without NaN and infinity, which every comparison of click lets through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number in the range {self._describe_range()}", param, ctx)
        return number


def flag(name: str, text: str, default: Any = None, **attributes: Any) -> Any:
    """Declare a flag (names with spaces in between) with a help as the field of a dataclass.

    The type of the field says the rest. A `bool` is a switch, and a tuple of any length is a repeatable flag.
    `attributes` are of `click.option`, and `written` is the default as an operator writes it, e.g. `1h`.
    """
    return field(
        default=default, metadata={"declared": click.option, "names": name.split(), "help": text, **attributes}
    )


def switch(name: str, text: str) -> Any:
    """Declare a flag without a value, off by default."""
    return flag(name, text, default=False, is_flag=True, show_default=False)


def argument(**attributes: Any) -> Any:
    """Declare an argument of the command line as the field of a dataclass, with the attributes of `click.argument`."""
    return field(metadata={"declared": click.argument, "names": [], **attributes})


def refuse(conflicts: Mapping[str, bool]) -> None:
    """Raise UsageError with the message of the first wrong combination of flags."""
    for message, is_there in conflicts.items():
        if is_there:
            raise UsageError(message)


def takes(record: type[_Record]) -> Callable[[Callable[[_Record], _Result]], Callable[..., _Result]]:
    """Return the decorator that adds the flags of a record to a command, and calls the command with the filled record.

    The help lists the flags of the class itself first, then the flags of the base classes.
    """

    def added(command: Callable[[_Record], _Result]) -> Callable[..., _Result]:
        @wraps(command)
        def filled(**values: Any) -> _Result:
            return command(record(**values))

        hints = get_type_hints(record)
        for declared in reversed(list(_flags_of(record))):
            filled = _declared(declared, hints[declared.name])(filled)
        return filled

    return added


def _flags_of(record: type) -> Iterator[Field[Any]]:
    flags = {flag_field.name: flag_field for flag_field in fields(record) if flag_field.metadata}
    for owner in record.__mro__:
        for name in vars(owner).get("__annotations__", {}):
            if name in flags:
                yield flags.pop(name)


def _declared(flag_field: Field[Any], hint: Any) -> Callable[[Any], Any]:
    attributes = dict(flag_field.metadata)
    declared, names = attributes.pop("declared"), attributes.pop("names")
    if declared is click.option:
        # click gets None as well. The default of a pair like --account/--no-account is otherwise False.
        default = attributes.pop("written", flag_field.default)
        attributes = {"default": default, "show_default": default is not None and default != ()} | attributes
    attributes = _of_type(hint, is_repeatable=declared is click.option) | attributes
    decorator: Callable[[Any], Any] = declared(*names, flag_field.name, **attributes)
    return decorator


def _of_type(hint: Any, *, is_repeatable: bool) -> dict[str, Any]:
    """Return what click must be told of a type. A pair takes two values, and an option of any number may be repeated."""
    if isinstance(hint, UnionType):  # with None
        hint = next(member for member in get_args(hint) if member is not NoneType)
    if get_origin(hint) is not tuple:
        return {"type": _TYPES.get(hint, hint)}
    element, second = get_args(hint)
    told = {"type": _TYPES.get(element, element)}
    if second is not Ellipsis:
        return told | {"nargs": 2}
    return told | {"multiple": True} if is_repeatable else told


def _process(text: str) -> str:
    """Return the name of a folder of procfs.

    Raises:
        UsageError: the text is another name.
    """
    if text != "self" and not (text.isascii() and text.isdigit()):
        raise UsageError(f"--path.pid={text}: give a process number or self")
    return text


@dataclass(frozen=True, kw_only=True)
class ProcfsFlags:
    """The flags of a host's procfs."""

    procfs: Path = flag("--path.procfs", "Where procfs is mounted.", PROCFS)
    pid: str = flag("--path.pid", "Process whose mounts are read: a number or self.", "1", type=_process, metavar="PID")


# Where tracefs is, today and on older distributions.
TRACEFS_PLACES: Final = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))


@dataclass(frozen=True, kw_only=True)
class KernelFlags:
    """The flags of the places where the kernel counts."""

    tracefs: Path | None = flag(
        "--path.tracefs", "Where tracefs is mounted.  [default: /sys/kernel/tracing, else /sys/kernel/debug/tracing]"
    )
    sysfs: Path = flag("--path.sysfs", "Where sysfs is mounted.", SYSFS)

    @property
    def tracefs_places(self) -> tuple[Path, ...]:
        """The possible mount points of tracefs."""
        return TRACEFS_PLACES if self.tracefs is None else (self.tracefs,)
