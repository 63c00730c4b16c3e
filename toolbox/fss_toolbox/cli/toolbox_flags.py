# SPDX-License-Identifier: Apache-2.0
"""Flags that several commands of the toolbox share, as records."""

import errno
import os
import re
import stat
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from fss_exporter import units
from fss_exporter.cli.flags import EXISTING_FILE, ConfigFlags, check_url
from fss_exporter.cli.terminal import writing
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import FilePath, flag
from fss_exporter.model.limits import SHAPES
from fss_exporter.model.service_table import APSARA_NAS, BLOCK_VOLUME, LUSTRE, SERVICES
from fss_exporter.settings import Settings
from fss_exporter.whole_files import replace_whole
from fss_toolbox import tables
from fss_toolbox.fetch import OPEN, Access
from fss_toolbox.sizing.service_choice import ServiceChoice
from fss_toolbox.sizing.uses import NO_SHAPE

FOLDER: Final = FilePath(path_type=Path, file_okay=False)
OFFERED_SERVICES: Final = (APSARA_NAS.name, LUSTRE.name, BLOCK_VOLUME.name)  # the values of `--service`


def link_base(text: str) -> str:
    """Return a flag's base of links, which files of any format can hold without quotes. A slash at the end is left out."""
    if not re.fullmatch("https?://[^/].*", text) or not text.isprintable() or set(text) & set("\"'\\{}<> "):
        raise click.BadParameter(
            f"{text!r}: give a URL that begins with http:// or https://, without spaces, quotes and braces"
        )
    return text.rstrip("/")


def server_url(flag_name: str, url: str) -> str:
    """Return the URL, or raise UsageError for any text but an http or https URL without user and password."""
    if "@" in urlsplit(check_url(flag_name, url)).netloc:
        raise UsageError(
            f"{flag_name}: every user of this host can read the password of a URL in the list of processes. Write the URL without it,"
            " and give --http-config=FILE with basic_auth: {username: NAME, password_file: FILE}"
        )
    return url


def metrics_url(flag_name: str, url: str) -> str:
    """Return the URL of the metrics of an exporter, also from `http://host:port`, or raise UsageError for any other text."""
    parts = urlsplit(server_url(flag_name, url))
    return parts._replace(path=parts.path if parts.path.strip("/") else "/metrics").geturl()


def note_ceilings(settings: Settings) -> None:
    """Say that a command without a poller knows no observed ceiling, where the settings prefer one."""
    if settings.limits.observed:
        tables.note(
            "limits: observed works in the poller alone, which keeps the load of weeks. This command takes the ceilings of the"
            " shapes, and the figures that limits states. fss-exporter doctor shows the observed ones"
        )


def check_new_file(flag_name: str, path: Path) -> None:
    """Raise UsageError for a file that cannot be written, before a command works for minutes."""
    file = Path(os.path.realpath(path))
    needed = (path,) if _is_device(path) else (file.parent, file) if file.exists() else (file.parent,)
    if path.is_dir() or not all(os.access(place, os.W_OK) for place in needed):
        raise UsageError(f"{flag_name}={path}: cannot be written. Give a file in an existing folder")


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files and their folders, and none of the files where one cannot be written. A link stays, and its file is written.

    Raises:
        UsageError: a folder is not writable, or stands in the place of a file.
        FssError: the disk is full.
    """
    files = {Path(os.path.realpath(path)): content for path, content in files.items()}
    with ExitStack() as undo:
        new: dict[Path, Path] = {}  # by folder
        for path, content in files.items():
            with writing(path):
                if path.parent not in new:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    scratch = TemporaryDirectory(dir=path.parent, prefix=".new-")
                    new[path.parent] = Path(undo.enter_context(scratch))
                if path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                (new[path.parent] / path.name).write_bytes(content)
        for path in files:
            with writing(path):
                (new[path.parent] / path.name).replace(path)


def write_file(flag_name: str, path: Path, text: str) -> None:
    """Replace the file of a flag as a whole, and keep its permissions. A link stays, and its file is written. So is a pipe or a device."""
    with writing(f"{flag_name}={path}"):
        if _is_device(path):
            path.write_text(text, encoding="utf-8")
            return
        file = Path(os.path.realpath(path))
        replace_whole(file, text.encode(), stat.S_IMODE(file.stat().st_mode) if file.exists() else None)


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


@dataclass(frozen=True, kw_only=True)
class ShapeFlags(ConfigFlags):
    """The flags that name the ceilings to compare with."""

    shape: str = flag(
        "--shape",
        "Shape of the mount targets, none for storage without a ceiling.",
        "standard",
        type=click.Choice((*SHAPES, NO_SHAPE)),
    )


@dataclass(frozen=True, kw_only=True)
class HttpFlags:
    """The flag of what a server wants to see before it answers."""

    http_config: Path | None = flag(
        "--http-config", "Password, token, headers and TLS for the URL, in the form of Prometheus.", type=EXISTING_FILE
    )

    def access(self) -> Access:
        """Return what the file has, or nothing without a file. ConfigError for a wrong file."""
        if self.http_config is None:
            return OPEN
        from fss_toolbox.http_config import load_access  # noqa: PLC0415  # a command without the file has no YAML

        return load_access(self.http_config)


@dataclass(frozen=True, kw_only=True)
class OutputFlags:
    """The flag of the output."""

    output: str = flag("--output", "For people or programs.", "table", type=click.Choice(("table", "json")))


@dataclass(frozen=True, kw_only=True)
class ServiceFlags:
    """The flags that name another storage service than OCI File Storage."""

    service: str | None = flag(
        "--service", "Another storage service than OCI File Storage.", type=click.Choice(OFFERED_SERVICES)
    )
    kind: str | None = flag("--type", "Type of the service. docs/services.md lists the types.", metavar="TYPE")
    capacity: int | None = flag("--capacity", "Capacity of the service, e.g. 10TiB.", type=units.size)

    def service_choice(self) -> ServiceChoice | None:
        """Return the service of the flags, or None. UsageError for flags that do not fit together."""
        if self.service is None:
            if self.kind is not None or self.capacity is not None:
                raise UsageError("--type and --capacity go with --service")
            return None
        service, kind = SERVICES[self.service], self.kind
        if kind is not None and kind not in service.kinds:
            raise UsageError(f"--type={kind}: {self.service} has {', '.join(service.kinds)}")
        if self.capacity is not None and not self.capacity:
            raise UsageError("--capacity must be more than nothing")
        return ServiceChoice(service, None if kind is None else service.kinds[kind], self.capacity)


def is_given(flag: str) -> bool:
    """Whether a flag of the running command stands on the command line."""
    return click.get_current_context().get_parameter_source(flag) is ParameterSource.COMMANDLINE
