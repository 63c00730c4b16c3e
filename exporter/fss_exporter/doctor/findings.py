"""The findings of checks: severity, subject, text, fix and source. `findings.toml` has the texts."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.resources import files


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
    severity: Severity  # how bad it is
    subject: str  # what it is about: a mount, an address, a region; empty for the host or the account
    message: str  # what was found, with figures
    fix: str = ""  # what to do; empty where nothing is wrong
    source: str = ""  # who says that it matters


@cache
def texts() -> dict[str, dict[str, dict[str, str]]]:
    """Return the texts of all findings by check and case, and the names of documents below `sources`."""
    return tomllib.loads(files(__package__).joinpath("findings.toml").read_text(encoding="utf-8"))


def found(kind: str, subject: str = "", **values: object) -> Finding:
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
