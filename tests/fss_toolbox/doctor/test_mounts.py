"""Checks of mounts."""

import io

import pytest
from rich.console import Console
from tests.fss_toolbox.doctor.clients import KERNEL, client, findings_of, reading, severities

from fss_exporter.model.service_table import NONE
from fss_exporter.nfs.fstab import Fstab, parse_fstab
from fss_exporter.nfs.superblocks import Reading
from fss_toolbox.doctor.client_checks import check_mounts
from fss_toolbox.doctor.client_facts import ClientFacts
from fss_toolbox.doctor.findings import Finding, Severity, exit_code, finding_of, show

SUBJECT = "10.80.1.10:/export/a on /mnt/a"


def test_mounts_that_cannot_be_read_are_a_problem_and_the_only_finding() -> None:
    (only,) = check_mounts(ClientFacts(None, "cannot read /proc/1/mountstats: Permission denied"))
    assert only.severity is Severity.PROBLEM
    assert "Permission denied" in only.message


def test_a_host_without_nfs_is_a_warning() -> None:
    (only,) = check_mounts(ClientFacts(Reading((), frozenset(), (), frozenset())))
    assert only.severity is Severity.WARNING
    assert only.message == "no NFS mounts"


def test_a_mount_without_counters_is_a_warning_and_no_host_without_nfs() -> None:
    (only,) = check_mounts(ClientFacts(Reading((), frozenset(("0:50", "0:51")), (), frozenset())))
    assert only.severity is Severity.WARNING
    assert only.message == "NFS mounts of mountinfo without a readable record in mountstats: 2"


def test_records_that_cannot_be_read_are_counted_by_reason() -> None:
    facts = ClientFacts(Reading((), frozenset(), ("malformed_age", "malformed_age", "truncated"), frozenset()))
    messages = [finding.message for finding in check_mounts(facts)]
    assert "2 records of mountstats cannot be read: malformed_age" in messages


def test_a_mount_as_it_should_be_has_no_warning() -> None:
    findings = list(check_mounts(client()))
    assert exit_code(findings) == 0
    assert findings[0] == Finding("mounts", Severity.OK, "", "1 NFS mounts readable, at 1 mount points")


def test_a_soft_writable_mount_is_a_problem() -> None:
    (only,) = findings_of(client(("hard,", "soft,")), "soft-mount")
    assert only.severity is Severity.PROBLEM
    assert only.subject == SUBJECT


def test_a_soft_readonly_mount_is_fine_unless_it_gives_up_early() -> None:
    read_only = (("rw,vers=3", "ro,vers=3"), ("hard,", "soft,"))
    assert findings_of(client(*read_only), "soft-mount") == []
    assert severities(findings_of(client(*read_only, ("timeo=600", "timeo=100")), "soft-mount")) == [Severity.WARNING]


def test_another_version_than_three_is_pointed_out() -> None:
    facts = client(("fstype nfs ", "fstype nfs4 "), (" - nfs ", " - nfs4 "), ("vers=3,", "vers=4.1,"))
    (only,) = findings_of(facts, "version")
    assert "NFS version 4.1" in only.message
    assert findings_of(facts, "nconnect") == []


@pytest.mark.parametrize(("size", "count"), [("32768", 1), ("1048576", 0), ("0", 0), ("x", 0)])
def test_small_transfers_are_a_warning(size: str, count: int) -> None:
    assert len(findings_of(client(("rsize=1048576", f"rsize={size}")), "transfer-size")) == count


def test_sizes_set_by_hand_are_found_in_fstab_by_line() -> None:
    fstab = (
        "# 10.0.0.1:/a /a nfs rsize=1048576 0 0\n"
        "\n"
        "/dev/sda1 / ext4 defaults 0 1\n"
        "10.0.0.1:/b /b nfs hard,rsize=1048576,wsize=65536 0 0\n"
        "10.0.0.1:/c /c nfs hard 0 0\n"
        "broken line\n"
    )
    (only,) = findings_of(client(fstab=Fstab(parse_fstab(fstab.encode()), ())), "transfer-size")
    assert only.message == "/etc/fstab line 4 sets rsize=1048576, wsize=65536 by hand"
    assert only.subject == "10.0.0.1:/b on /b"


def test_a_mount_of_fstab_that_is_gone_is_a_problem() -> None:
    here, gone = parse_fstab(b"10.0.0.1:/a /a nfs x\n10.0.0.1:/b /b nfs x\n")
    (only,) = findings_of(client(fstab=Fstab((here, gone), (gone,))), "fstab")
    assert (only.severity, only.subject) == (Severity.PROBLEM, "10.0.0.1:/b on /b")
    assert severities(findings_of(client(fstab=Fstab((here,), ())), "fstab")) == [Severity.OK]
    assert severities(findings_of(client(fstab_error="not seen"), "fstab")) == [Severity.ADVICE]
    assert findings_of(client(fstab=Fstab((), ())), "fstab") == []


def test_a_line_of_fstab_that_nobody_has_to_mount_is_not_called_mounted() -> None:
    by_hand, at_boot = parse_fstab(b"10.0.0.1:/a /a nfs noauto\n10.0.0.1:/b /b nfs x\n")
    assert findings_of(client(fstab=Fstab((by_hand,), ())), "fstab") == []
    (only,) = findings_of(client(fstab=Fstab((by_hand, at_boot), ())), "fstab")
    assert only.message == "no mount of the 1 NFS line(s) in /etc/fstab that should be mounted is gone"


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (KERNEL, "mount with nconnect=16"),
        ("6.12.1", "mount with nconnect=16"),
        ("4.18.0-553.el8_10.x86_64", "mount with nconnect=16"),
        ("4.14.35-2047.el7uek.x86_64", "use a newer kernel"),
        ("5.2.9", "use a newer kernel"),
    ],
)
def test_one_connection_is_advice_that_depends_on_the_kernel(kernel: str, words: str) -> None:
    (only,) = findings_of(client(kernel=kernel), "nconnect")
    assert only.severity is Severity.ADVICE
    assert words in only.fix


def test_nothing_is_said_about_nconnect_where_the_kernel_is_not_known() -> None:
    assert findings_of(client(kernel=""), "nconnect") == []


@pytest.mark.parametrize(
    ("count", "severity", "words"),
    [
        (2, Severity.ADVICE, "2 connections, where the white paper uses 16"),
        (15, Severity.ADVICE, "15 connections, where the white paper uses 16"),
        (16, Severity.OK, "16 connections"),
    ],
)
def test_fewer_connections_than_the_white_paper_uses_are_advice(count: int, severity: Severity, words: str) -> None:
    (only,) = findings_of(client(("proto=tcp,timeo", f"proto=tcp,nconnect={count},timeo")), "nconnect")
    assert (only.severity, only.message) == (severity, words)


@pytest.mark.parametrize(
    "change",
    [
        ("noacl,", "noac,noacl,"),
        ("acregmin=3,acregmax=60,acdirmin=30,acdirmax=60", "acregmin=0,acregmax=0,acdirmin=0,acdirmax=0"),
    ],
)
def test_attributes_that_are_not_cached_are_a_warning_with_their_share(change: tuple[str, str]) -> None:
    (only,) = findings_of(client(change), "attribute-cache")
    assert only.severity is Severity.WARNING
    assert "% of its operations" in only.message


def test_synchronous_writing_is_a_warning_with_its_share() -> None:
    (only,) = findings_of(client(("rw,vers=3", "rw,sync,vers=3")), "sync")
    assert "WRITE is 17% of its operations" in only.message


def test_a_forwarder_that_is_not_mapped_is_a_warning() -> None:
    behind_tls = ("10.80.1.10", "192.168.255.2")
    (only,) = findings_of(client(behind_tls), "tls-forwarder")
    assert "address_map: {192.168.255.2:" in only.fix
    mapped = ClientFacts(reading(behind_tls, address_map={"192.168.255.2": "10.0.0.9"}))
    assert severities(findings_of(mapped, "tls-forwarder")) == [Severity.OK]


def test_few_slots_matter_where_requests_wait_and_the_table_does_not_grow() -> None:
    few = {"sunrpc.tcp_slot_table_entries": 2, "sunrpc.tcp_max_slot_table_entries": 16}
    (only,) = findings_of(client(sysctls=few), "slot-table")
    assert "the slot table of a connection has 2 entries and grows to 16" in only.message
    assert len(findings_of(client(sysctls={"sunrpc.tcp_slot_table_entries": 2}), "slot-table")) == 1
    grows = {"sunrpc.tcp_slot_table_entries": 2, "sunrpc.tcp_max_slot_table_entries": 65536}
    assert findings_of(client(sysctls=grows), "slot-table") == []
    assert findings_of(client(sysctls={"sunrpc.tcp_slot_table_entries": 128}), "slot-table") == []
    assert findings_of(client(), "slot-table") == []
    assert findings_of(client((" 320871 724161 ", " 871 724161 "), sysctls=few), "slot-table") == []


NAS_SERVER = ("10.80.1.10:/export/a", "0a1b.cn-hangzhou.nas.aliyuncs.com:/share")


def test_a_mount_of_another_service_is_named_without_the_advice_of_version_three() -> None:
    facts = client(NAS_SERVER, ("fstype nfs ", "fstype nfs4 "), (" - nfs ", " - nfs4 "), ("vers=3,", "vers=4.0,"))

    assert findings_of(facts, "version") == []
    assert [finding.message for finding in findings_of(facts, "service")] == ["a mount of Apsara File Storage NAS"]


@pytest.mark.parametrize(("entries", "count"), [(2, 1), (127, 1), (128, 0), (None, 0)])
def test_few_requests_in_flight_to_apsara_nas_are_reported_with_their_rate(entries: int | None, count: int) -> None:
    sysctls = {} if entries is None else {"sunrpc.tcp_slot_table_entries": entries}

    told = findings_of(client(NAS_SERVER, sysctls=sysctls), "slot-table")
    assert len(told) == count
    if entries == 2:
        assert "that is 200 a second, with 128 it is 12,800" in told[0].message


def test_a_slot_table_of_apsara_nas_that_grows_by_itself_is_fine() -> None:
    grows = {"sunrpc.tcp_slot_table_entries": 2, "sunrpc.tcp_max_slot_table_entries": 65536}
    assert findings_of(client(NAS_SERVER, sysctls=grows), "slot-table") == []


def test_a_mount_of_apsara_nas_gets_no_advice_of_oracle_about_connections() -> None:
    (only,) = findings_of(client(NAS_SERVER), "nconnect")
    assert (only.severity, only.message) == (Severity.OK, "1 connection")


def test_listing_large_directories_of_apsara_nas_has_advice_unless_it_is_taken() -> None:
    # The recording has listed directories.
    assert severities(findings_of(client(NAS_SERVER), "listing")) == [Severity.ADVICE]
    assert findings_of(client(NAS_SERVER, ("hard,", "hard,nordirplus,")), "listing") == []
    assert findings_of(client(), "listing") == []


@pytest.mark.parametrize("transport", ["udp", "rdma", "rdma6"])
def test_a_mount_over_another_transport_is_no_oci_file_storage_and_that_is_said(transport: str) -> None:
    facts = client(("proto=tcp", f"proto={transport}"))
    assert facts.reading is not None
    (superblock,) = facts.reading.superblocks
    assert superblock.storage.service is NONE
    (only,) = findings_of(facts, "transport")
    assert only.severity is Severity.WARNING
    assert only.message == f"proto={transport}: OCI File Storage speaks TCP only, nothing is estimated"


def _shown(findings: list[Finding]) -> str:
    out = io.StringIO()
    show(Console(file=out, width=400), [("client", finding) for finding in findings])
    return out.getvalue()


def test_like_findings_of_many_mounts_are_one_with_a_count_and_the_first_names() -> None:
    findings = [
        finding_of("sync.on", f"server:/export/{number} on /mnt/{number}", share=f"{number}%") for number in range(187)
    ]
    text = _shown(findings)

    assert text.count("sync: ") == 2, "the name of the check, and the message"
    assert "/mnt/0, server:/export/1 on /mnt/1, server:/export/2 on /mnt/2 and 184 more: sync" in text
    assert "WRITE is 0% of its operations (figures of the first)" in text
    assert "warnings 1," in text


def test_findings_about_the_host_stay_apart_even_if_they_differ_in_figures_only() -> None:
    text = _shown([finding_of("mounts.unread", count=count) for count in (1, 2)])

    assert text.count("mountstats: 1") == text.count("mountstats: 2") == 1
