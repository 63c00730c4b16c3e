"""The parser of mountstats: what it refuses, what it tolerates, what it reads."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st
from tests.fss_exporter.nfs.records import mountstats
from tests.recordings import load_all

from fss_exporter.nfs.known_records import KnownRecord
from fss_exporter.nfs.mountstats import MountstatsParser, parse_mountstats
from fss_exporter.nfs.records import NfsRecord

GOOD = mountstats({"READ": 3, "WRITE": 2, "GETATTR": 1}, read_bytes=12288, written_bytes=8192, device="10.0.0.9:/good")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (GOOD.replace("\tage:\t1000\n", ""), "malformed_age"),
        (GOOD.replace("age:\t1000", "age:\tyoung"), "malformed_age"),
        (GOOD.replace("age:\t1000", "age:\t1000 1000"), "malformed_age"),
        (GOOD.replace("bytes:\t0 0 0 0 12288 8192 0 0 ", "bytes:\t0 0 0 0 12288"), "malformed_bytes"),
        (GOOD.replace("bytes:\t0 0 0 0 12288 8192", "bytes:\t0 0 0 0 -12288 8192"), "malformed_bytes"),
        (GOOD.replace("\tbytes:", "\tbits:"), "malformed_bytes"),
        (GOOD.replace("events:\t0", "events:\tzero"), "malformed_events"),
        (GOOD.replace("READ: 3 3 0", "READ: three 3 0"), "malformed_operation"),
        (GOOD.replace("READ: 3 3 0", "READ: ٣ 3 0"), "malformed_operation"),
        (GOOD.replace(" 1 1 0 104 112 1 2 4 0\n", " 1 1 0 104 112 1 2\n"), "malformed_operation"),
        (GOOD.partition("\tper-op")[0] + "\n", "truncated"),
        (GOOD.partition("\t       WRITE")[0] + "\n", "truncated"),
        (GOOD.replace(" mounted on /mnt/a", ""), "malformed_device"),
    ],
)
def test_a_record_that_cannot_be_read_costs_only_itself(broken: str, reason: str) -> None:
    stats = parse_mountstats(broken + GOOD)

    assert stats.skipped == (reason,)
    assert [record.device for record in stats.records] == ["10.0.0.9:/good"]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_file_cut_off_in_the_middle_of_a_line_costs_its_last_record(cut: int) -> None:
    stats = parse_mountstats(GOOD + GOOD[: -(cut + 2)].rstrip("\n"))

    assert stats.skipped == ("truncated",)
    assert len(stats.records) == 1


def test_an_empty_file_has_no_records() -> None:
    assert parse_mountstats("") == parse_mountstats("no device mounted on /sys with fstype sysfs\n")


@pytest.mark.parametrize(
    "other",
    [
        "no device mounted on /a:b with fstype autofs\n",
        "device systemd-1 mounted on /auto with fstype autofs\n",
        "device nfsd mounted on /proc/fs/nfsd with fstype nfsd\n",
        "device x mounted on /mnt/with fstype nfs with fstype ext4\n",
    ],
)
def test_other_file_systems_before_and_after_are_passed_over(other: str) -> None:
    stats = parse_mountstats(other + GOOD + other)

    assert (len(stats.records), stats.skipped) == (1, ())


@pytest.mark.parametrize(
    "odd",
    [
        GOOD.replace("statvers=1.1", "statvers=1.2"),
        GOOD.replace(" statvers=1.1", ""),
        GOOD.replace("\tsec:", "\tnext-year:\tx=1 y\n\tsec:"),
        GOOD.replace("\tbytes:", "\tfsc:\t0 0 0 0 0\n\tbytes:"),
        GOOD.replace("\tage:", "\timpl_id:\tname='a b',domain=''\n\tage:"),
        GOOD.replace("\tevents:\t0 0", "\tevents:\t7 0"),
        GOOD.replace("COMMIT:", "FROBNICATE: 1 1 0 0 0 0 0 0 0\n\t      COMMIT:"),
        GOOD.replace("COMMIT: 0 0", "23: 0 0"),
        GOOD.replace("READ: 3 3 0 312 12672 3 6 12 0", "READ: 3 3 0 312 12672 3 6 12 0 99 98"),
    ],
)
def test_what_a_kernel_adds_or_changes_elsewhere_does_not_matter(odd: str) -> None:
    stats = parse_mountstats(odd)

    assert stats.skipped == ()
    assert stats.records[0].operations["READ"].operations == 3
    assert stats.records[0].read_bytes == 12288


def test_a_kernel_before_5_3_counts_no_errors_which_is_not_zero_errors() -> None:
    (record,) = parse_mountstats(mountstats({"READ": 1}, columns=8)).records

    assert record.operations["READ"].errors is None


def test_a_shorter_events_line_has_no_locks_and_no_delays_which_is_not_zero() -> None:
    (record,) = parse_mountstats(GOOD.replace("\tevents:\t" + "0 " * 27, "\tevents:\t0 0 0 ")).records

    assert (record.vfs_locks, record.delays) == (None, None)


def test_a_negative_sum_of_time_printed_as_a_huge_number_is_negative() -> None:
    (record,) = parse_mountstats(GOOD.replace("READ: 3 3 0 312 12672 3", f"READ: 3 3 0 312 12672 {2**64 - 5}")).records

    assert record.operations["READ"].queue_ms == -5


@pytest.mark.parametrize(
    ("line", "connects", "sends", "receives"),
    [
        ("tcp 800 1 5 0 3 17 16 0 0 0 2 0 0", 5, 17, 16),
        ("udp 800 1 17 16 0 0 0 2 0 0", None, 17, 16),
        ("udp 800 1 17 16 0 0 0", None, 17, 16),
        ("local 1 5 0 3 17 16 0 0 0 2 0 0", 5, 17, 16),
        ("rdma 0 1 5 0 3 17 16 0 0 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", 5, 17, 16),
        ("quic 1 2 3 4 5 6 7 8", None, None, None),
        ("tcp 800 1", None, None, None),
        ("tcp a b c d e f g", None, None, None),
    ],
)
def test_transports_of_all_kinds_are_read_and_unknown_ones_have_no_numbers(
    line: str, connects: int | None, sends: int | None, receives: int | None
) -> None:
    (record,) = parse_mountstats(mountstats({"READ": 1}, xprt=(line,))).records

    assert [(transport.connects, transport.sends, transport.receives) for transport in record.transports] == [
        (connects, sends, receives)
    ]


def test_every_connection_of_nconnect_is_read() -> None:
    lines = tuple(f"tcp {port} 1 1 0 3 {port} {port} 0 0 0 2 0 0" for port in (801, 802, 803, 804))
    (record,) = parse_mountstats(mountstats({"READ": 1}, xprt=lines)).records

    assert [transport.sends for transport in record.transports] == [801, 802, 803, 804]


def test_names_with_escapes_are_read_as_the_user_knows_them() -> None:
    text = mountstats({"READ": 1}, device="10.0.0.3:/a\\040b", mount_point="/mnt/tab\\011back\\134slash\\012#x")
    (record,) = parse_mountstats(text).records

    assert (record.device, record.mount_point) == ("10.0.0.3:/a b", "/mnt/tab\tback\\slash\n#x")


def test_all_columns_of_a_record_are_where_the_kernel_puts_them() -> None:
    (record,) = parse_mountstats(GOOD).records

    assert record.operations["READ"] == (3, 3, 0, 312, 12672, 3, 6, 12, 0)
    assert (record.read_bytes, record.written_bytes, record.age_s, record.fstype) == (12288, 8192, 1000, "nfs")
    assert record.options["rsize"] == "1048576"
    assert record.options["hard"] == ""


@given(st.text())
def test_no_text_crashes_the_parser(text: str) -> None:
    parse_mountstats(text)


@given(st.lists(st.sampled_from(GOOD.splitlines(keepends=True)), max_size=60), st.integers(0, 200))
def test_no_shuffling_of_a_records_lines_crashes_the_parser(lines: list[str], cut: int) -> None:
    parse_mountstats("".join(lines)[cut:])


def test_every_recorded_file_of_a_real_kernel_is_read_without_a_skip() -> None:
    for recording in load_all():
        for _, text in recording.looks:
            stats = parse_mountstats(text)
            assert stats.skipped == (), recording.name
            assert stats.records, recording.name


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tcp 800 1 1 0 3 70 70 0 0 0 2 0 0", "tcp 800 1 1 0 4 70 70 0 0 0 2 0 0"),
        ("rdma 0 1 1 0 3 70 70 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "rdma 0 1 1 0 4 70 70 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
        ("local 1 1 0 3 70 70 0 0 0", "local 1 1 0 4 70 70 0 0 0"),
        ("udp 800 1 70 70 0 0 0 2 0 0", "udp 800 1 70 70 0 0 1 2 0 0"),
    ],
)
def test_a_mount_whose_connection_is_idle_for_a_second_more_is_not_parsed_again(before: str, after: str) -> None:
    parser = MountstatsParser()
    records = [parser.parse(mountstats({"READ": 1}, xprt=(line, line)).encode()).records[0] for line in (before, after)]
    assert records[0].operations is records[1].operations


def test_a_connection_with_one_more_reply_is_parsed_again() -> None:
    parser = MountstatsParser()
    lines = ("tcp 800 1 1 0 3 70 69 0 0 0 2 0 0", "tcp 800 1 1 0 3 70 70 0 0 0 2 0 0")
    first, second = (parser.parse(mountstats({"READ": 1}, xprt=(line,)).encode()).records[0] for line in lines)
    assert (first.transports[0].receives, second.transports[0].receives) == (69, 70)


@pytest.mark.parametrize("xprt", ["tcp 800 1 1 0 3 {0} {0} 0 0 0 2 0 0", "udp 800 1 {0} {0} 0 0 0 2 0 0"])
def test_a_text_that_looks_like_the_last_one_needs_no_whole_reading(xprt: str) -> None:
    def behind_age(count: int) -> tuple[NfsRecord, bytes]:
        text = mountstats({"READ": count}, sends=count, xprt=(xprt.format(count),))
        return parse_mountstats(text).records[0], text.partition("\n\tage:\t")[2].encode()

    (first, one), (second, two), (third, three) = map(behind_age, (9, 10, 11))
    known = KnownRecord(second, two, KnownRecord(first, one, None))

    assert known.read(three)
    assert known.record == third


@pytest.mark.parametrize(
    "damaged",
    [
        lambda text: re.sub("( READ: .*) 0\n", r"\1\n", text),  # as of a kernel that counts no errors, in one line
        lambda text: re.sub("(?m)^\t( *[A-Z]+: )", r"        \1", text),  # spaces for the tabs of the table
    ],
)
def test_a_layout_of_no_kernel_that_comes_again_is_read_whole(damaged: Callable[[str], str]) -> None:
    parser = MountstatsParser()
    for count in (1, 2, 3):
        text = damaged(mountstats({"READ": count}))

        assert parser.parse(text.encode()) == parse_mountstats(text)


def test_a_number_of_more_than_64_bits_is_refused_also_after_the_layout_is_known() -> None:
    parser = MountstatsParser()
    text = mountstats({})
    for number in (1, 2, 3):
        parser.parse(text.replace("bytes:\t0 0 0 0 0", f"bytes:\t0 0 0 0 {number}").encode())

    large = text.replace("bytes:\t0 0 0 0 0", f"bytes:\t0 0 0 0 {2**64}")
    assert parser.parse(large.encode()).skipped == ("malformed_bytes",)
