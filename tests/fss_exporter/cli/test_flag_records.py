"""Flags as the fields of a record: what the type of a field says about the flag."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from fss_exporter.errors import UsageError
from fss_exporter.flag_records import FiniteRange, argument, flag, refuse, switch, takes


@dataclass(frozen=True, kw_only=True)
class HostFlags:
    folder: Path = flag("--folder", "A folder.", Path("/mnt"))


@dataclass(frozen=True, kw_only=True)
class CopyFlags(HostFlags):
    names: tuple[str, ...] = argument(nargs=-1)
    fast: bool = switch("--fast", "Faster.")
    pair: tuple[Path, Path] | None = flag("--pair", "Two files.")
    labels: tuple[str, ...] = flag("--label --tag", "Repeatable.", ())
    share: float | None = flag("--share", "A share.", type=FiniteRange(0, 1))
    inside: int = 3


@click.command()
@takes(CopyFlags)
def copy(flags: CopyFlags) -> None:
    """Copy."""
    click.get_current_context().obj["flags"] = flags


def filled(*arguments: str) -> Any:
    records: dict[str, CopyFlags] = {}
    result = CliRunner().invoke(copy, arguments, obj=records, standalone_mode=False)
    if result.exception:
        raise result.exception
    return records["flags"]


def test_without_flags_the_record_has_its_defaults() -> None:
    assert filled() == CopyFlags(names=())


def test_each_field_has_the_type_of_its_flag() -> None:
    flags = filled("a", "b", "--fast", "--pair", "x", "y", "--label=1", "--tag=2", "--share=0.5", "--folder=/srv")

    assert flags == CopyFlags(
        names=("a", "b"), fast=True, pair=(Path("x"), Path("y")), labels=("1", "2"), share=0.5, folder=Path("/srv")
    )


@pytest.mark.parametrize("share", ["nan", "inf", "2"])
def test_a_number_outside_of_the_range_is_refused(share: str) -> None:
    with pytest.raises(click.BadParameter):
        filled(f"--share={share}")


def test_the_help_lists_the_flags_of_the_class_before_the_flags_of_its_bases() -> None:
    text = CliRunner().invoke(copy, ["--help"]).output

    assert [word for word in text.split() if word.startswith("--")][:5] == [
        "--fast",
        "--pair",
        "--label,",
        "--tag",
        "--share",
    ]
    assert text.index("--share") < text.index("--folder")
    assert "[default: /mnt]" in text


def test_the_first_wrong_combination_is_refused() -> None:
    refuse({"never": False})
    with pytest.raises(UsageError, match="second"):
        refuse({"first": False, "second": True, "third": True})
