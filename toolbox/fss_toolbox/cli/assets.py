# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter assets DIR`: write the rules, dashboards, alarms, units and documents of this version as plain files.

In a checkout `assets/` and `documents` link to the edited folders. A wheel contains the files.
"""

import json
import os
import posixpath
import re
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Final

import click

from fss_exporter import RUNBOOK, RUNBOOK_URL
from fss_exporter.cli.terminal import echo, writing
from fss_exporter.errors import FssError, UsageError
from fss_exporter.setting_types import tag_label, tags_as_labels
from fss_toolbox.alert_labels import with_alert_labels, with_tag_variables
from fss_toolbox.cli.toolbox_flags import FOLDER, link_base, write_together

# Base of links in dashboards: the page of the exporter that a variable chooses.
_OF_AN_EXPORTER = "http://${runbook}/runbook#"

# A link of an alert in a file of rules. In the project it begins in the folder of the project or at the root of Grafana.
_ALERT_LINK = re.compile(rf'(?m)^( +(runbook_url|dashboard_url): "?)(?:{re.escape(RUNBOOK)})?(.*\n)')

_LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)#]*)(#[^)]*)?\)")


@dataclass(frozen=True, slots=True)
class LinkBases:
    """What an operator adds to the files. Without a base an alert has no such link, because no guess leads anywhere."""

    runbook: str = RUNBOOK_URL  # /runbook of an exporter, or a page with its headings
    grafana: str = ""  # root of Grafana, without a slash at the end
    alert_labels: tuple[str, ...] = ()  # labels of tags that alerts get


_AS_RELEASED: Final = LinkBases()


def shipped(bases: LinkBases = _AS_RELEASED) -> dict[PurePosixPath, bytes]:
    """Return every shipped file: path below the target folder (`rules/load.yml`) to content."""
    files = dict(_files(resources.files("fss_toolbox") / "assets"))
    documents = _files(resources.files("fss_toolbox") / "documents")
    files |= {"docs" / path: content for path, content in documents if path.suffix == ".md"}
    return {path: _linked(path, content, files, bases) for path, content in files.items()}


def _linked(path: PurePosixPath, content: bytes, files: Container[PurePosixPath], bases: LinkBases) -> bytes:
    match path.parts[0], path.suffix:
        case _, ".md":
            return _with_links_inside(path, content, files)
        case "rules", ".yml":
            return with_alert_labels(_with_alert_links(content.decode(), bases), bases.alert_labels).encode()
        case "dashboards", ".json":
            text = with_tag_variables(content.decode(), bases.alert_labels)
            return (text.replace(_OF_AN_EXPORTER, f"{bases.runbook}#") if bases.runbook else text).encode()
        case "mql", ".json" if bases.runbook and path.parts[1] != "templates":
            return _with_next_steps(content.decode(), bases.runbook).encode()
    return content


def _with_next_steps(alarm: str, runbook: str) -> str:
    """Return the body of an OCI alarm whose texts end with a link to the section of its Prometheus alert, as `alarms render` writes it."""
    body = json.loads(alarm)
    alerts = body["freeformTags"]["prometheus-alert"].split(", ")  # one of the alarm, or one for each rule
    for rule, alert in zip((body, *body["overrides"]), 2 * alerts, strict=False):
        rule["body"] += f" Next step: {runbook}#{alert.lower()}"
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _with_alert_links(rules: str, bases: LinkBases) -> str:
    base_of = {"runbook_url": bases.runbook, "dashboard_url": bases.grafana}

    def link(found: re.Match[str]) -> str:
        base = base_of[found[2]]
        return f"{found[1]}{base}{found[3]}" if base else ""

    return _ALERT_LINK.sub(link, rules)


def _files(folder: Traversable) -> Iterator[tuple[PurePosixPath, bytes]]:
    root = Path(str(folder))
    if root.is_file():
        raise FssError(
            f"{root}: a file, and not the folder with the shipped files. Clone the project with symbolic links "
            "(git config core.symlinks true), or install a package"
        )
    files = (Path(parent, name) for parent, _, names in os.walk(root, followlinks=True) for name in names)
    return ((PurePosixPath(path.relative_to(root)), path.read_bytes()) for path in sorted(files))


def _with_links_inside(page: PurePosixPath, content: bytes, files: Container[PurePosixPath]) -> bytes:
    """Return a Markdown page in which each link to a file that is not shipped is plain text."""

    def led(link: re.Match[str]) -> str:
        target = PurePosixPath(posixpath.normpath(page.parent / link[2]))
        return link[0] if target in files else link[1]

    return _LINK.sub(led, content.decode()).encode()


def write(target: Path, bases: LinkBases = _AS_RELEASED, *, overwrite: bool = False) -> int:
    """Write the shipped files below `target`.

    A refusal or a full disk leaves the files of the folder unchanged.

    Returns:
        Number of new or changed files. Files with the shipped content stay untouched.

    Raises:
        UsageError: a file was edited and `overwrite` is False, or the folder is not writable.
        FssError: the disk is full.
    """
    files = {target / path: content for path, content in shipped(bases).items()}
    with writing(target):
        blocked = {str(folder) for path in files for folder in path.parents if folder.is_file()}
        if blocked:
            raise UsageError(f"DIR: a file has the name of a needed folder: {', '.join(sorted(blocked))}")
        outdated = {
            path: content for path, content in files.items() if not path.is_file() or path.read_bytes() != content
        }
        edited = sorted(str(path) for path in outdated if path.exists())
    if edited and not overwrite:
        message = "These files differ from the shipped ones; --overwrite replaces them:"
        raise UsageError(message, tuple(f"  {path}" for path in edited))
    write_together(outdated)
    return len(outdated)


def _labels_of(tags: str) -> tuple[str, ...]:
    keys = tuple(key.strip() for key in tags.split(",") if key.strip())
    try:
        return tuple(map(tag_label, tags_as_labels(keys)))
    except ValueError as wrong:
        raise UsageError(f"--alert-labels={tags}: {wrong}") from wrong


@click.command()
@click.argument("directory", metavar="DIR", type=FOLDER)
@click.option("--overwrite", is_flag=True, help="Replace files in DIR that were edited.")
@click.option(
    "--runbook-url",
    type=link_base,
    metavar="URL",
    default=RUNBOOK_URL or None,
    show_default=True,
    help="Base of the links to the runbook: /runbook of an exporter that readers reach, or your own page.",
)
@click.option(
    "--grafana-url",
    type=link_base,
    metavar="URL",
    help="Root of Grafana, the base of the links to dashboards.",
)
@click.option(
    "--alert-labels",
    metavar="TAG,TAG",
    default="",
    help="Tags of oci.tags_as_labels that alerts get as labels and the fleet dashboard as variables.",
)
def assets(
    directory: Path, *, overwrite: bool, runbook_url: str | None, grafana_url: str | None, alert_labels: str
) -> None:
    """Write the rules, dashboards, OCI alarms, systemd units, documents and the example configuration to DIR.

    Alerts link to the runbook and to a dashboard where the flags give a base.
    """
    bases = LinkBases(runbook_url or "", grafana_url or "", _labels_of(alert_labels))
    written = write(directory, bases, overwrite=overwrite)
    for top, count in sorted(Counter(path.parts[0] for path in shipped()).items()):
        echo(f"{directory / top}: {count} file{'s' if count != 1 else ''}")
    echo(f"{written} written, {len(shipped()) - written} already up to date")
    for name, base, flag in (
        ("runbook", bases.runbook, "--runbook-url"),
        ("dashboard", bases.grafana, "--grafana-url"),
    ):
        echo(f"alerts link to {base}" if base else f"alerts have no link to a {name}: give {flag}")
