# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter assets DIR`: write the rules, dashboards, alarms, units and documents of this version as plain files.

In a checkout `assets/` links to the edited folders. A wheel contains the files.
"""

import os
import posixpath
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

import click

from fss_exporter import RUNBOOK, RUNBOOK_URL
from fss_exporter.cli.terminal import echo, writing
from fss_exporter.errors import UsageError
from fss_toolbox.cli.toolbox_flags import FOLDER, link_base

# Base of links in dashboards: the page of the exporter that a variable chooses.
_OF_AN_EXPORTER = b"http://${runbook}/runbook#"

_LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)#]*)(#[^)]*)?\)")


def shipped(runbook_url: str = RUNBOOK_URL) -> dict[PurePosixPath, bytes]:
    """Return every shipped file: path below the target folder (`rules/load.yml`) to content. `runbook_url` is the base of links."""
    files = dict(_files(resources.files("fss_toolbox") / "assets"))
    documents = _files(resources.files("fss_exporter") / "documents")
    files |= {"docs" / path: content for path, content in documents if path.suffix == ".md"}
    links = [f"{RUNBOOK}#".encode()]
    if runbook_url != RUNBOOK_URL:
        links.append(_OF_AN_EXPORTER)
    return {
        path: _with_links_inside(path, content, files) if path.suffix == ".md" else _linked(content, links, runbook_url)
        for path, content in files.items()
    }


def _linked(content: bytes, links: Sequence[bytes], runbook_url: str) -> bytes:
    for link in links:
        content = content.replace(link, f"{runbook_url}#".encode())
    return content


def _files(folder: Traversable) -> Iterator[tuple[PurePosixPath, bytes]]:
    root = Path(str(folder))
    files = (Path(parent, name) for parent, _, names in os.walk(root, followlinks=True) for name in names)
    return ((PurePosixPath(path.relative_to(root)), path.read_bytes()) for path in sorted(files))


def _with_links_inside(page: PurePosixPath, content: bytes, files: Container[PurePosixPath]) -> bytes:
    """Return a Markdown page in which each link to a file that is not shipped is plain text."""

    def led(link: re.Match[str]) -> str:
        target = PurePosixPath(posixpath.normpath(page.parent / link[2]))
        return link[0] if target in files else link[1]

    return _LINK.sub(led, content.decode()).encode()


def write(target: Path, *, overwrite: bool = False, runbook_url: str = RUNBOOK_URL) -> int:
    """Write the shipped files below `target`.

    All checks run before the first write, so a refusal leaves the folder unchanged.

    Returns:
        Number of new or changed files. Files with the shipped content stay untouched.

    Raises:
        UsageError: a file was edited and `overwrite` is False, or the folder is not writable.
        FssError: the disk is full.
    """
    files = {target / path: content for path, content in shipped(runbook_url).items()}
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
    for path, content in outdated.items():
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return len(outdated)


@click.command()
@click.argument("directory", metavar="DIR", type=FOLDER)
@click.option("--overwrite", is_flag=True, help="Replace files in DIR that were edited.")
@click.option(
    "--runbook-url",
    type=link_base,
    metavar="URL",
    default=RUNBOOK_URL,
    show_default=True,
    help="Base of the links to the runbook in alerts and alarms: /runbook of an exporter that readers reach, or your own page.",
)
def assets(directory: Path, *, overwrite: bool, runbook_url: str) -> None:
    """Write the rules, dashboards, OCI alarms, systemd units, documents and the example configuration to DIR."""
    written = write(directory, overwrite=overwrite, runbook_url=runbook_url)
    for top, count in sorted(Counter(path.parts[0] for path in shipped()).items()):
        echo(f"{directory / top}: {count} file{'s' if count != 1 else ''}")
    echo(f"{written} written, {len(shipped()) - written} already up to date")
    echo(f"alerts link to {runbook_url}. --runbook-url sets another base")
