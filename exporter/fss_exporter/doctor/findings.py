"""The findings of checks: severity, subject, source and fix."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


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


WHITE_PAPER = "OCI File Storage Performance Characteristics, version 2.0, August 2023"
MOUNTING = "OCI documentation, Mounting File Systems From UNIX-Style Instances, read 2026-09-05"
MOUNT_TARGETS = "OCI documentation, Managing Mount Targets, read 2026-09-05"
TLS = "OCI documentation, Using In-transit TLS Encryption, read 2026-09-05"
APSARA = "Apsara File Storage NAS Performance, version 20210922"
KERNEL = "Linux 6.12, Documentation/admin-guide/kernel-parameters.txt and net/sunrpc"
PROJECT = "assumption of fss-exporter, November 2026"


def exit_code(findings: Iterable[Finding]) -> int:
    """Return the exit code: 0 fine, 1 warnings, 2 problems."""
    worst = max((finding.severity for finding in findings), default=Severity.OK)
    return {Severity.PROBLEM: 2, Severity.WARNING: 1}.get(worst, 0)
