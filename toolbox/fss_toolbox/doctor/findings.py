# SPDX-License-Identifier: Apache-2.0
"""The findings of checks: severity, subject, text, fix and source, and how they are printed. `findings.toml` has the texts."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

from rich.console import Console

from fss_exporter.terminal_text import first_names
from fss_toolbox import tables


class Severity(IntEnum):
    """Severity of a finding. Advice names a possible improvement and no defect."""

    OK = 0
    ADVICE = 1
    WARNING = 2
    PROBLEM = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check."""

    check: str  # name of the check, stable, e.g. `soft-mount`
    severity: Severity
    subject: str  # a mount, an address or a region. Empty for the host or the account
    message: str  # observation with figures
    fix: str = ""  # advice. Empty without a defect
    source: str = ""  # document behind the advice


@cache
def texts() -> dict[str, dict[str, dict[str, str]]]:
    """Return the texts of all findings by check and case, and the names of documents below `sources`."""
    return tomllib.loads(files(__package__).joinpath("findings.toml").read_text(encoding="utf-8"))


def finding_of(kind: str, subject: str = "", /, **values: object) -> Finding:
    """Return a finding with a text of `findings.toml`, e.g. `soft-mount.writable`, and figures and names for its braces.

    The subject is a mount, an address or a region. Empty for the host or the account.
    """
    check, case = kind.split(".")
    text = texts()[check][case]
    values = texts()["sources"] | values
    message, fix, source = (text.get(part, "").format_map(values) for part in ("message", "fix", "source"))
    return Finding(check, Severity[text["severity"].upper()], subject, message, fix, source)


def exit_code(findings: Iterable[Finding]) -> int:
    """Return the exit code: 0 fine, 1 warnings, 2 problems."""
    worst = max((finding.severity for finding in findings), default=Severity.OK)
    return {Severity.PROBLEM: 2, Severity.WARNING: 1}.get(worst, 0)


_WORDS = {Severity.OK: "ok", Severity.ADVICE: "advice", Severity.WARNING: "warning", Severity.PROBLEM: "PROBLEM"}
_COUNTED = {Severity.PROBLEM: "problems", Severity.WARNING: "warnings", Severity.ADVICE: "advice", Severity.OK: "fine"}
_INDENT = 8
_FIGURE = re.compile(r"\d[\d.,]*")
_MOST_SUBJECTS = 3
_STYLES = {Severity.OK: "green", Severity.ADVICE: "cyan", Severity.WARNING: "yellow", Severity.PROBLEM: "bold red"}


def show(out: Console, findings: Sequence[tuple[str, Finding]]) -> None:
    """Print the findings, the worst of each subject first, and the number of each kind. Like findings are one."""
    findings = _grouped(findings)
    for about in dict.fromkeys(about for about, _ in findings):
        tables.say(out, f"{about.capitalize()}", "bold")
        own = [finding for where, finding in findings if where == about]
        for finding in sorted(own, key=lambda finding: -finding.severity):
            word, subject = _WORDS[finding.severity], f"{finding.subject}: " if finding.subject else ""
            line = f"{word:<8}{finding.check}: {subject}{finding.message}"
            tables.say(out, line, _STYLES[finding.severity], hanging=_INDENT)
            for line in _more(finding):
                tables.say(out, f"{'':{_INDENT}}{line}", hanging=_INDENT + 2)
        tables.say(out, "")
    counts = (f"{word} {sum(finding.severity is kind for _, finding in findings)}" for kind, word in _COUNTED.items())
    tables.say(out, ", ".join(counts), "bold")


def _grouped(findings: Sequence[tuple[str, Finding]]) -> list[tuple[str, Finding]]:
    """Return the findings with one for all that differ in subject and figures only: with a count and the first subjects."""
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for about, finding in findings:
        text = _FIGURE.sub("", finding.message) if finding.subject else finding.message
        same = (about, finding.check, finding.severity, finding.fix, text, finding.source, bool(finding.subject))
        alike.setdefault(same, []).append(finding)
    return [(str(same[0]), _one(group)) for same, group in alike.items()]


def _one(findings: Sequence[Finding]) -> Finding:
    first = findings[0]
    if len(findings) == 1 or not first.subject:
        return first
    subject = first_names([finding.subject for finding in findings], _MOST_SUBJECTS)
    figures = " (figures of the first)" if any(finding.message != first.message for finding in findings) else ""
    return replace(first, subject=subject, message=f"{first.message}{figures}")


def _more(finding: Finding) -> Iterator[str]:
    if finding.fix:
        yield f"do: {finding.fix}"
    if finding.source and finding.severity is not Severity.OK:
        yield f"source: {finding.source}"


# Version of the JSON. A removed or changed field increases the version, and an added field does not.
SCHEMA_VERSION: Final = 1


def document(version: str, code: int, findings: Sequence[tuple[str, Finding]]) -> dict[str, Any]:
    """Return all findings, by subject `client`, `exporter` or `account`, as JSON with the schema docs/schemas/doctor.json."""
    listed = [
        {"about": about}
        | asdict(finding)
        | {"severity": finding.severity.name.lower(), "fix": finding.fix or None, "source": finding.source or None}
        for about, finding in findings
    ]
    return {"schema_version": SCHEMA_VERSION, "fss_exporter": version, "exit_code": code, "findings": listed}
