"""A client with one mount, made from a recording and changed where a test says so."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from fss_exporter.addresses import AddressMap
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_toolbox.doctor.client_checks import check_mounts
from fss_toolbox.doctor.client_facts import ClientFacts
from fss_toolbox.doctor.findings import Finding, Severity

_FOLDER = Path(__file__).parents[2] / "fixtures/recordings/kernel-6.1/k_mixed"
KERNEL = "5.15.0-204.147.6.2.el8uek.x86_64"


def reading(*changes: tuple[str, str], address_map: dict[str, str] | None = None) -> Reading:
    """The mount of the recording, with texts of its two files replaced."""
    stats, info = (_FOLDER / "after.txt").read_text(), (_FOLDER / "mountinfo.txt").read_text()
    for old, new in changes:
        assert old in stats + info, old
        stats, info = stats.replace(old, new), info.replace(old, new)
    return join(parse_mountstats(stats), parse_mountinfo(info), AddressMap(address_map))


def client(*changes: tuple[str, str], **facts: Any) -> ClientFacts:
    """Facts about a client with that mount."""
    return replace(ClientFacts(reading(*changes), kernel=KERNEL), **facts)


def findings_of(facts: ClientFacts, check: str) -> list[Finding]:
    """The findings of one check of mounts."""
    return [finding for finding in check_mounts(facts) if finding.check == check]


def severities(findings: list[Finding]) -> list[Severity]:
    return [finding.severity for finding in findings]
