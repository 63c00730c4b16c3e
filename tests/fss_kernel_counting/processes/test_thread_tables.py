"""Tables with names that processes chose: every row is found, whatever the name holds."""

import pytest
from hypothesis import given, strategies as st
from tests.fss_kernel_counting.processes.texts import table, thread
from tests.who_recordings import RECORDINGS

from fss_kernel_counting.hist_tables import HistParser, HistRow, Lost

NAMES = st.binary(max_size=15).map(lambda name: name.replace(b"\0", b""))
KEYS = "dev,common_pid.execname"


def test_all_hostile_names_of_a_real_kernel_are_read() -> None:
    (table,) = HistParser().parse((RECORDINGS / "hostile.txt").read_bytes())

    assert {key[:2]: row.value for key, row in table.rows.items()} == {
        ("} hitcount: 7", "302"): 14628,
        ("[     1]", "303"): 11405,
        (", client_id: 9", "304"): 54916,
        ("\ufffd\ufffd\ufffd", "305"): 10725,
        ("", "306"): 6524,
        ('"q\\u"', "307"): 11296,
        ("x\r\ty", "308"): 7188,
        ("a\nb", "301"): 15457,
    }
    assert {key[2:] for key in table.rows} == {("6", "LOOKUP")}


@pytest.mark.parametrize(
    "name",
    [
        b"\nTotals:\n",
        b"\n\nTotals:\n    ",
        b"# event histogr",
        b"}",
        b"\n{ dev: 1 } hit",
        b"\n\n\n# event",
        b"%s",
        b"{",
    ],
)
def test_a_name_that_looks_like_a_part_of_the_table_stays_a_name(name: bytes) -> None:
    raw = table(
        KEYS, {(b"dev:         40", thread(name, 7)): (3, 4096), (b"dev:         41", thread(b"dd", 8)): (1, 5)}
    )

    (table_read,) = HistParser().parse(raw + b"\n\n")

    assert [(key[0], key[2], row) for key, row in table_read.rows.items()] == [
        ("40", "7", HistRow(3, 4096)),
        ("41", "8", HistRow(1, 5)),
    ]


@given(st.lists(NAMES, max_size=6))
def test_any_names_give_as_many_rows_with_their_own_counts(names: list[bytes]) -> None:
    rows = {(b"dev: %10d" % at, thread(name, at)): (at + 1, 2 * at) for at, name in enumerate(names)}
    raw = table(KEYS, rows, "a & 1") + b"\n\n" + table(KEYS, rows, "!(a & 1)")

    first, second = HistParser().parse(raw)

    assert [(key[0], key[2], *row) for key, row in first.rows.items()] == [
        (str(at), str(at), at + 1, 2 * at) for at in range(len(names))
    ]
    assert first.rows == second.rows
    assert (first.condition, second.condition) == ("a & 1", "!(a & 1)")


def test_a_table_says_what_it_is_and_what_found_no_room() -> None:
    (table_read,) = HistParser().parse(
        table("dev,common_pid.execname,count.buckets=32768", {}, "count & 32767", dropped=12)
    )

    assert table_read.condition == "count & 32767"
    assert (table_read.running, table_read.dropped, table_read.size) == (True, 12, 2048)


def test_a_trigger_with_an_action_is_read_like_another() -> None:
    tables = HistParser().parse((RECORDINGS / "cost" / "nfs_initiate_write.txt").read_bytes())

    assert [(table.condition, len(table.rows)) for table in tables] == [
        ('comm ~ "kworker*"', 3),
        ("count & 32767", 13),
        ("!(count & 32767)", 2),
    ]


@pytest.mark.parametrize("cut", range(1, 400, 7))
def test_a_text_that_was_cut_off_is_refused(cut: int) -> None:
    raw = table(KEYS, {(b"dev:         40", thread(b"dd", 7)): (3, 4096)})

    with pytest.raises(Lost):
        HistParser().parse(raw[: -min(cut, len(raw) - 1)])
