"""Write docs/dependencies.md: what the agent, the poller and `fss-exporter top` install, and under which licence.

Names and versions come from the lock files, licences from the metadata of the installed distributions.
"""

import json
import re
from dataclasses import dataclass
from email.message import Message
from importlib import import_module
from importlib.metadata import files, metadata
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import cast

import oci._vendor

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/dependencies.md"
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_WEAK_COPYLEFT = re.compile(r"GPL|Lesser|MPL|Mozilla")
_LONGEST = 60  # a longer License field is the text of the licence

_HEAD = """# Dependencies and licences

For security reviewers who approve software for hosts. `make dependencies` writes this page from the lock files in `requirements/` and from the metadata of
the installed distributions.

The licence of fss-exporter is Apache-2.0. The agent installs {agent} distributions, and the poller {poller}. The container images
hold nothing else from PyPI. Packages and wheelhouses also hold the {top} distributions that only `fss-exporter top` needs.

{copyleft}

`make advisories` looks up each locked version in the advisory database of PyPI with pip-audit, over the network. It says COULD NOT
ASK, and fails, if the database has no answer for a version.

{tables}

## Copies inside the OCI SDK

The distribution `oci` of the poller holds copies of other projects, which its metadata do not name. The bills of materials of a release do. A scanner
that looks for distributions does not find them, and an advisory for one of them is fixed by a release of the SDK.

| project | version | licence |
|---|---|---|
{copies}

## Libraries inside wheels

Every poller has these, whichever package or image it came with. The exporter signs its requests to OCI with them. A fix of such a library is a new release of
fss-exporter. The metadata of the wheel and the bills of materials name it.

| distribution | library | version |
|---|---|---|
{linked}
"""

# SPDX expression by project of which `oci._vendor` holds a copy.
OF_SDK = {
    "chardet": "LGPL-2.1-or-later",
    "httpsig_cffi": "MIT",
    "idna": "BSD-3-Clause",
    "requests": "Apache-2.0",
    "six": "MIT",
    "sseclient": "MIT",
}

UNKNOWN = "unknown"  # in place of the version of a copy that states none

# Heading of a table by the first lock file that has its distributions.
_TABLES = {
    "agent": "Agent, poller and `fss-exporter top`",
    "poller": "Poller only",
    "top": "`fss-exporter top` only",
}

_TABLE_HEAD = "| distribution | version | licence |\n|---|---|---|"

_COPYLEFT = """The poller image holds distributions under copyleft licences. The agent image holds none.

{rows}

The OCI SDK requires them. Images carry the files from PyPI without a change."""


def licence_of(about: Message) -> str:
    """The licence: the SPDX expression, else a short License field, else the classifiers."""
    expression, text = about.get("License-Expression"), about.get("License") or ""
    if expression:
        return str(expression)
    names = [line.rpartition("::")[2].strip() for line in about.get_all("Classifier", []) if "License ::" in line]
    if text and "\n" not in text and len(text) <= _LONGEST and text != "Dual License":
        return str(text)
    return ", ".join(names) or "not stated"


def locked(name: str) -> dict[str, str]:
    """Version by distribution of one lock file."""
    return dict(_LOCKED.findall((ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")))


def copies() -> dict[str, str]:
    """Version by project of each copy inside the OCI SDK. Some have it in a module `version`."""
    vendored = oci._vendor.__path__  # noqa: SLF001  # its metadata do not name the copies
    return {
        name: _version_of(f"oci._vendor.{name}") for name in sorted(module.name for module in iter_modules(vendored))
    }


@dataclass(frozen=True)
class Linked:
    """A library of C that is linked into a wheel, as the bill of materials inside the wheel names it."""

    name: str
    version: str
    url: str  # package URL


def linked(distribution: str) -> list[Linked]:
    """The libraries of C inside an installed wheel. Its libraries of Rust stand in its lock file, and are fixed with the wheel."""
    bills = [path for path in files(distribution) or () if "sboms" in path.parts and path.suffix == ".json"]
    parts = [part for path in bills for part in json.loads(path.read_text()).get("components", ())]
    return [
        Linked(part["name"], part["version"], part["purl"]) for part in parts if part["purl"].startswith("pkg:generic/")
    ]


def _version_of(copy: str) -> str:
    module = import_module(copy)
    if stated := getattr(module, "__version__", ""):
        return str(stated)
    return str(import_module(f"{copy}.version").version) if find_spec(f"{copy}.version") else UNKNOWN


def render() -> str:
    """The page."""
    editions = {name: locked(name) for name in ("agent", "poller", "top")}
    versions = {name: version for lock in editions.values() for name, version in lock.items()}
    licences = {name: licence_of(cast("Message", metadata(name))) for name in versions}
    first = {name: edition for edition, lock in reversed(editions.items()) for name in lock}
    rows: dict[str, list[str]] = {edition: [] for edition in _TABLES}
    for name, licence in sorted(licences.items()):
        rows[first[name]].append(f"| {name} | {versions[name]} | {licence} |")
    tables = ["\n".join([f"## {heading}", "", _TABLE_HEAD, *rows[edition]]) for edition, heading in _TABLES.items()]
    copied = {f"{name} inside oci": OF_SDK[name] for name in copies()}
    copyleft = [
        f"- {name} ({text})" for name, text in sorted((licences | copied).items()) if _WEAK_COPYLEFT.search(text)
    ]
    return _HEAD.format(
        agent=len(editions["agent"]),
        poller=len(editions["poller"]),
        top=len(editions["top"].keys() - editions["agent"].keys()),
        copyleft=_COPYLEFT.format(rows="\n".join(copyleft)),
        tables="\n\n".join(tables),
        copies="\n".join(f"| {name} | {version} | {OF_SDK[name]} |" for name, version in copies().items()),
        linked="\n".join(
            f"| {name} | {part.name} | {part.version} |" for name in sorted(versions) for part in linked(name)
        ),
    )


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
