"""The text of a `hist` file, malformed first, and what lies between two looks at it."""

import pytest
from hypothesis import given, strategies as st
from tests.fss_kernel_counting.kernel import Trigger

from fss_kernel_counting.hist_tables import HistParser, HistRow, Lost, Table, grown

HEAD = (
    "# event histogram\n#\n"
    "# trigger info: hist:keys=dev,arg_count.buckets=32768:vals=hitcount,res_count:sort=hitcount:size=2048"
    " if arg_count & 32767 [active]\n#\n\n"
)
ROW = "{ dev:         42, arg_count: ~ 65536-98303 } hitcount:         18  res_count:    1376256\n"
FOOT = "\nTotals:\n    Hits: 18\n    Entries: 1\n    Dropped: 0\n"
LARGEST = (1 << 64) - 1


def parsed(text: str) -> tuple[Table, ...]:
    return HistParser().parse(text.encode())


def test_a_table_is_its_condition_its_rows_and_what_it_dropped() -> None:
    (table,) = parsed(HEAD + ROW + FOOT)

    assert (table.condition, table.running, table.dropped) == ("arg_count & 32767", True, 0)
    assert table.rows == {("42", "65536"): HistRow(18, 1376256)}


def test_strings_lose_their_padding() -> None:
    line = "{ client_id:          5, procname: UNLOCK                          } hitcount:        100\n"
    (table,) = parsed(HEAD.replace("dev,arg_count.buckets=32768", "client_id,procname") + line + FOOT)

    assert table.rows == {("5", "UNLOCK"): HistRow(100, 0)}


def test_a_file_holds_as_many_tables_as_the_event_has_triggers() -> None:
    other = HEAD.replace("arg_count & 32767", "!(arg_count & 32767)")
    tables = parsed(f"{HEAD}{ROW}{FOOT}\n\n{other}{FOOT}")

    assert [table.condition for table in tables] == ["arg_count & 32767", "!(arg_count & 32767)"]


def test_a_file_without_triggers_holds_no_table() -> None:
    assert parsed("") == ()


@pytest.mark.parametrize("modifier", ["hex", "sym", "usecs"])
def test_a_table_of_another_program_with_another_modifier_leaves_ours_readable(modifier: str) -> None:
    keys = HEAD.replace("dev,arg_count.buckets=32768", f"dev.{modifier}").replace("arg_count & 32767", "dev > 7")
    tables = parsed(f"{keys}{{ dev: 2a }} hitcount:          3\n{FOOT}\n\n{HEAD}{ROW}{FOOT}")

    assert tables[1].rows == {("42", "65536"): HistRow(18, 1376256)}


def test_a_paused_trigger_does_not_count() -> None:
    (table,) = parsed(HEAD.replace("[active]", "[paused]") + FOOT)

    assert not table.running


@pytest.mark.parametrize(
    "row",
    [
        "{ dev: 42, arg_count: ~ 0-32767 }\n",
        "{ dev: 42, arg_count: ~ 0-32767 } hitcount: many\n",
        "{ dev: 42, arg_count: ~ 0-32767 } hitcount: 18 res_count:\n",
        "{ dev: 42, arg_count: ~ 0-32767 } res_count: 18\n",
        "{ dev: 42, arg_count: ~ 0-32767 } hitcount: 123456789012345678901\n",
        "{ dev: 42, arg_count: ~ 0-327\n",
        "{\n",
    ],
)
def test_a_row_of_another_layout_makes_the_file_unreadable(row: str) -> None:
    with pytest.raises(Lost, match="malformed_row"):
        parsed(HEAD + row + FOOT)


@given(st.integers(1, len(HEAD + ROW + FOOT) - 1))
def test_a_text_cut_anywhere_is_unreadable_and_never_a_smaller_table(end: int) -> None:
    text = f"{HEAD}{ROW}{FOOT}"
    with pytest.raises(Lost):
        parsed(text[:end])


keys: st.SearchStrategy[tuple[str, ...]] = st.tuples(
    st.integers(0, 1 << 31).map(str), st.integers(0, 32).map(lambda block: str(block * 32768))
)
counts = st.builds(HistRow, st.integers(0, LARGEST), st.integers(0, LARGEST))


@st.composite
def texts(draw: st.DrawFn) -> tuple[dict[tuple[str, ...], HistRow], str]:
    """Rows in any order, padded at will, as the kernel's own printing pads and sorts them differently at each look."""
    rows = draw(st.dictionaries(keys, counts, max_size=20))
    lines = []
    for (device, size), row in draw(st.permutations(list(rows.items()))):
        pad = " " * draw(st.integers(0, 12))
        lines.append(
            f"{{ dev: {pad}{device}, arg_count: ~ {size}-0{pad} }} hitcount: {pad}{row.hits}  res_count: {pad}{row.value}\n"
        )
    return rows, HEAD + "".join(lines) + FOOT


@given(texts())
def test_order_and_padding_say_nothing(case: tuple[dict[tuple[str, ...], HistRow], str]) -> None:
    rows, text = case
    (table,) = parsed(text)

    assert table.rows == rows


@given(st.lists(texts(), min_size=2, max_size=4))
def test_a_parser_that_remembers_reads_as_one_that_does_not(
    cases: list[tuple[dict[tuple[str, ...], HistRow], str]],
) -> None:
    parser = HistParser()

    for _, text in cases:
        assert parser.parse(text.encode()) == parsed(text)


@given(
    st.dictionaries(keys, counts, max_size=20), st.dictionaries(keys, st.tuples(st.integers(0, 1 << 62)), max_size=20)
)
def test_what_is_added_comes_out_again(
    before: dict[tuple[str, ...], HistRow], growth: dict[tuple[str, ...], tuple[int]]
) -> None:
    now = dict(before)
    for key, (more,) in growth.items():
        old = before.get(key, HistRow(0, 0))
        now[key] = HistRow(old.hits + more, old.value + more // 2)

    rows = dict(grown(before, now, "event"))
    expected = {key: HistRow(more, more // 2) for key, (more,) in growth.items() if more or key not in before}
    assert rows == expected


@given(
    st.dictionaries(keys, st.builds(HistRow, st.integers(1, 1 << 62), st.just(0)), min_size=1, max_size=20), st.data()
)
def test_a_row_that_went_back_or_is_gone_is_a_table_made_anew(
    before: dict[tuple[str, ...], HistRow], data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(sorted(before)))
    now = dict(before)
    if data.draw(st.booleans()):
        del now[key]
    else:
        now[key] = HistRow(data.draw(st.integers(0, before[key].hits - 1)), 0)

    with pytest.raises(Lost):
        list(grown(before, now, "event"))


def test_rows_that_did_not_move_are_passed_over() -> None:
    rows: dict[tuple[str, ...], HistRow] = {("42", "0"): HistRow(5, 50)}

    assert list(grown(rows, dict(rows), "event")) == []


def test_the_fake_kernel_prints_as_the_real_one() -> None:
    """Otherwise the tests that use it would prove nothing."""
    trigger = Trigger(("dev", "arg_count.buckets=32768"), "res_count", 2048, "arg_count & 32767")
    for _ in range(18):
        trigger.see({"dev": 42, "arg_count": 76459, "res_count": 76458 + 18 * 0})
    text = trigger.text

    assert text.startswith(HEAD)
    assert text.endswith("} hitcount:         18  res_count:    1376244\n" + FOOT)
