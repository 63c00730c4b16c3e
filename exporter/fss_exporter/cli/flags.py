"""Kinds of flag values that click does not know, and the one flag nearly every command has."""

from pathlib import Path

import click

from fss_exporter.durations import parse_duration

CONFIGURATION = click.Path(path_type=Path, exists=True, dir_okay=False)
"""A file that must be there when the command starts; click names the flag when it is not."""

config_option = click.option(
    "--config.file",
    "config_file",
    type=CONFIGURATION,
    help="Settings: credentials, tags, ceilings, addresses, services.",
)


def duration(text: str) -> float:
    """Return a flag's duration in seconds, more than none."""
    try:
        seconds = parse_duration(text)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from wrong
    if not seconds:
        raise click.BadParameter("must be longer than nothing; write it like 500ms, 1s or 1m30s")
    return seconds
