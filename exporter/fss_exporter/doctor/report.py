"""The findings of `doctor`, as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rich.console import Console

from fss_exporter import tables
from fss_exporter.doctor.findings import Finding, Severity

_WORDS = {Severity.OK: "ok", Severity.ADVICE: "advice", Severity.WARNING: "warning", Severity.PROBLEM: "PROBLEM"}
_COUNTED = {Severity.PROBLEM: "problems", Severity.WARNING: "warnings", Severity.ADVICE: "advice", Severity.OK: "fine"}
_INDENT = 8
_STYLES = {Severity.OK: "green", Severity.ADVICE: "cyan", Severity.WARNING: "yellow", Severity.PROBLEM: "bold red"}


def show(out: Console, findings: Sequence[tuple[str, Finding]]) -> None:
    """Print the findings, the worst of each subject first, and the number of each kind."""
    for about in dict.fromkeys(about for about, _ in findings):
        tables.say(out, f"{about.capitalize()}", "bold")
        own = [finding for where, finding in findings if where == about]
        for finding in sorted(own, key=lambda finding: -finding.severity):
            word = _WORDS[finding.severity]
            tables.say(
                out, f"{word:<8}{finding.check}: {_sentence(finding)}", _STYLES[finding.severity], hanging=_INDENT
            )
            for line in _more(finding):
                tables.say(out, f"{'':{_INDENT}}{line}", hanging=_INDENT + 2)
        tables.say(out, "")
    counts = (f"{word} {sum(finding.severity is kind for _, finding in findings)}" for kind, word in _COUNTED.items())
    tables.say(out, ", ".join(counts), "bold")


def _sentence(finding: Finding) -> str:
    return f"{finding.subject}: {finding.message}" if finding.subject else finding.message


def _more(finding: Finding) -> Iterator[str]:
    if finding.fix:
        yield f"do: {finding.fix}"
    if finding.source and finding.severity is not Severity.OK:
        yield f"source: {finding.source}"


SCHEMA_VERSION: Final = 1
"""Version of the JSON. A removed or changed field increases the version, and an added field does not."""


def document(version: str, code: int, findings: Sequence[tuple[str, Finding]]) -> dict[str, Any]:
    """Return all findings, by subject `client`, `exporter` or `account`, as JSON with the schema docs/schemas/doctor.json."""
    listed = [_document(about, finding) for about, finding in findings]
    return {"schema_version": SCHEMA_VERSION, "fss_exporter": version, "exit_code": code, "findings": listed}


def _document(about: str, finding: Finding) -> dict[str, Any]:
    """Return one finding for programs, with null for an empty text."""
    return {
        "about": about,
        "check": finding.check,
        "severity": finding.severity.name.lower(),
        "subject": finding.subject,
        "message": finding.message,
        "fix": finding.fix or None,
        "source": finding.source or None,
    }
