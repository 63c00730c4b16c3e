"""What `top` says of mount targets: a verdict needs knowledge, a narrow terminal loses the least, and colour adds nothing."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.state import ERRORS, IOPS, NOT_KNOWN, Evidence, State, StateNow
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage
from fss_toolbox.top.meanings import help_text
from fss_toolbox.top.picture import LoadPart, Parts, Picture, ShownTarget, is_silent, shown_target
from fss_toolbox.top.refresher import Latest
from fss_toolbox.top.top_table import (
    GREY,
    STYLES,
    TopTable,
    bar,
    ceiling_of_parts,
    headline,
    parts_table,
    subtitle,
    targets_table,
)
from fss_toolbox.top.top_view import View


def target(name: str, *usages: Usage, state: StateNow = NOT_KNOWN, silent_seconds: float = 0.0) -> ShownTarget:
    row = MountTargetRow(name, "eu-frankfurt-1", "10.0.0.2", "standard", "ACTIVE", usages, state)
    return shown_target(row, silent_seconds)


def iops(
    value: float,
    source: FigureSource = FigureSource.MEASURED,
    age: float = 70.0,
    limit: float | None = 50_000.0,
    coverage: float | None = None,
) -> Usage:
    return Usage(Quantity.IOPS, KnownFigure(value, source, age, coverage), limit)


def lines(table: TopTable) -> list[str]:
    return ["  ".join(cell.text for cell in cells) for _, cells in table.rows]


def styles(table: TopTable) -> set[str]:
    return {cell.style for _, cells in table.rows for cell in cells}


def drawn(*targets: ShownTarget, width: int = 200) -> TopTable:
    return targets_table(targets, View(), width)


def test_a_fresh_figure_of_the_whole_load_has_bar_share_source_and_age() -> None:
    (line,) = lines(drawn(target("mt-home", iops(45_500))))
    assert "91 % of IOPS" in line
    assert "45,500 / 50,000" in line
    assert "measured, 70 s" in line
    assert "██████████████████░░" in line


def test_a_share_below_a_threshold_is_not_rounded_up_to_it() -> None:
    (line,) = lines(drawn(target("mt-home", iops(39_990))))
    assert "79 % of IOPS" in line


def test_a_share_of_clients_alone_is_about_and_in_grey() -> None:
    table = drawn(target("mt-home", iops(4_500, FigureSource.CLIENTS, 0.0)))
    assert "about 9.0 % of IOPS" in lines(table)[0]
    assert STYLES[State.FINE] not in styles(table)


def test_a_likely_value_above_a_threshold_warns() -> None:
    table = drawn(target("mt-home", iops(48_000, FigureSource.CLIENTS, 0.0)))
    assert "about 96 % of IOPS" in lines(table)[0]
    assert "yellow" in styles(table)


def test_one_mount_target_has_the_range_of_its_estimate() -> None:
    figure = KnownFigure.of(Bounds(35_500, 42_000, 48_500), FigureSource.CLIENTS)
    shown = subtitle(target("mt-home", Usage(Quantity.IOPS, figure, 50_000.0)), View(target="mt-home"), PARTS)
    assert "about 84 % (71 to 97 %) of IOPS" in shown[2].text


def test_an_old_figure_says_last_and_its_age_in_grey() -> None:
    table = drawn(target("mt-home", iops(45_500, age=1860.0)))
    assert "last 91 % of IOPS" in lines(table)[0]
    assert "measured, 31 min" in lines(table)[0]
    assert styles(table) <= {GREY, ""}


@pytest.mark.parametrize(
    "usages",
    [(), (iops(100.0, limit=None),), (iops(100.0, age=7200.0),), (iops(100.0, FigureSource.HOST, 0.0),)],
    ids=["no figure", "no ceiling", "too old", "one host"],
)
def test_what_is_not_known_is_never_green(usages: tuple[Usage, ...]) -> None:
    assert STYLES[State.FINE] not in styles(drawn(target("mt-home", *usages)))


def test_one_known_ceiling_does_not_make_a_bar_green_while_the_state_is_not_known() -> None:
    read = Usage(Quantity.READ, KnownFigure(50e6, FigureSource.MEASURED, 70.0), 1e9)
    table = drawn(target("mt-home", read))
    ceiling = table.rows[0][1][2]
    assert "5.0 % of read" in ceiling.text
    assert ceiling.style == GREY


def test_a_source_that_is_silent_has_no_verdict() -> None:
    old = target("mt-home", iops(45_500), silent_seconds=41.0)
    table = targets_table((old,), View(), 200, is_silent=True)
    assert styles(table) == {GREY}
    assert "measured, 111 s" in lines(table)[0]
    failed = Latest(Picture((old.row,)), failure="HTTP 503")
    said = [line.text for line in headline("a page", failed, (old,), View(), 41.0, is_silent=True)]
    assert said == ["a page", "1 mount target, nothing is known of now", "no figures for 41 s: HTTP 503"]
    above_parts = subtitle(old, View(target="x"), PARTS, is_silent=True)
    assert {line.style for line in above_parts} <= {GREY, "bold", ""}


@pytest.mark.parametrize(
    ("seconds", "interval", "silent"), [(40.0, 2.0, False), (41.0, 2.0, True), (90.0, 60.0, False), (121.0, 60.0, True)]
)
def test_a_source_is_silent_after_40_seconds_and_not_before_its_second_picture_is_late(
    seconds: float, interval: float, silent: bool
) -> None:
    assert is_silent(seconds, interval) is silent


FAILING = StateNow(
    State.FAILING, 180.0, (Evidence(ERRORS, KnownFigure(0.025, FigureSource.MEASURED), who="web-1:10949"),)
)


def test_the_first_lines_say_why_a_mount_target_is_not_fine_and_the_next_counts_them_by_state() -> None:
    targets = (target("a", state=StateNow(State.NEAR)), target("b", state=FAILING), target("c"))
    _, reason, unknown, verdict = headline("a page", Latest(Picture(())), targets, View())
    assert verdict.text == "3 mount targets: 1 failing, 1 near, 1 not known"
    assert reason.text == (
        "b is failing for 3 min: 2.5 % of requests fail, web-1:10949 (docs/runbook.md#fssmounttargetfailing)"
    )
    assert unknown.text == "why not known: docs/runbook.md#fsscoverageincomplete"


def test_a_line_that_names_the_cause_stands_in_place_of_the_section_about_what_is_not_known() -> None:
    gap = "no poller of eu-frankfurt-1 is scraped now"
    _, reason, verdict = headline("a page", Latest(Picture((), gaps=(gap,))), (target("c"),), View())
    assert (reason.text, verdict.text) == (gap, "1 mount target: 1 not known")


@pytest.mark.parametrize(("count", "others"), [(4, "and 1 more that"), (5, "and 2 more that are not fine")])
def test_of_many_that_are_not_fine_the_worst_are_told_and_the_others_counted(count: int, others: str) -> None:
    targets = [target(f"mt-{number}", state=FAILING) for number in range(count)]
    said = headline("a page", Latest(Picture(())), targets, View())
    assert [line.text.partition(" is ")[0] for line in said[1:-1]] == [
        "mt-0",
        "mt-1",
        "mt-2",
        others,
    ]


def test_a_client_that_hangs_stands_in_red_above_mount_targets_that_are_fine_and_less_than_failing_below_it() -> None:
    near = StateNow(State.NEAR, reasons=(Evidence(IOPS, KnownFigure(0.9, FigureSource.MEASURED)),))
    picture = Picture((), of_clients=((State.HANGING, "web-1 at b: hanging"),), gaps=("OCI refuses",))
    for states, order in (
        ((StateNow(State.FINE),), ["web-1 at b: hanging", "OCI refuses", "1 mount target: 1 fine"]),
        ((near, FAILING), ["web-1 at b: hanging", "mt-1 is failing", "mt-0 is near", "OCI refuses", "2 mount targets"]),
    ):
        targets = [target(f"mt-{at}", state=state) for at, state in enumerate(states)]
        said = headline("a fleet", Latest(picture), targets, View())[1:]
        assert [line.text.startswith(words) for line, words in zip(said, order, strict=True)] == [True] * len(order)
        assert said[0].style == STYLES[State.HANGING]


@pytest.mark.parametrize("state", State)
def test_a_line_has_the_word_of_the_state_and_its_length(state: State) -> None:
    (line,) = lines(drawn(target("mt-home", iops(10), state=StateNow(state, 57.0))))
    assert f"mt-home  {state.word}  " in line
    assert "57 s" in line


def test_the_worst_state_comes_first_and_then_the_fullest() -> None:
    table = drawn(target("full", iops(49_000)), target("sick", iops(10), state=FAILING), target("calm", iops(10)))
    assert [cells[0].text for _, cells in table.rows] == ["sick", "full", "calm"]


def test_coverage_tells_which_part_of_the_load_clients_are() -> None:
    seen = iops(18_500, FigureSource.CLIENTS, 0.0, coverage=0.41)
    assert "41 %" in lines(drawn(target("mt-home", iops(45_500), seen)))[0]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_table_fits_its_terminal_and_keeps_name_bar_and_share(width: int) -> None:
    long = "mt-" + "of-a-team-with-a-long-name-" * 4
    table = drawn(target(long, iops(45_500)), target("b"), width=width)
    assert [column.title for column in table.columns][:3] == ["mount target", "state", "fullest ceiling"]
    if width >= 80:
        for line in lines(table):
            assert cell_len(line) <= width
        assert ("45,500 / 50,000" if width >= 100 else "45,500") in lines(table)[0]
    assert "…" in lines(table)[0]


@pytest.mark.parametrize(
    ("quantity", "said"),
    [(Quantity.LATENCY, "94 % of latency"), (Quantity.BOTH, "≥ 114 % of read+write ")],
)
def test_iops_stay_beside_the_longest_words_at_80_columns(quantity: Quantity, said: str) -> None:
    measured, counted = KnownFigure(94.0, FigureSource.MEASURED, 70.0), KnownFigure.counted(114.0, FigureSource.HOST)
    full = target("mt-scratch", iops(4_500), Usage(quantity, counted if quantity is Quantity.BOTH else measured, 100.0))
    table = drawn(full, target("mt-home", iops(45_500)), width=77)
    assert said in lines(table)[0]
    assert {"IOPS", "known by"} <= {column.title for column in table.columns}


def test_a_wider_terminal_has_more_columns() -> None:
    of_width = [len(drawn(target("mt-home", iops(45_500)), width=width).columns) for width in (80, 120, 200)]
    assert of_width == sorted(set(of_width))


def test_the_order_and_the_filter_choose_rows() -> None:
    targets = (target("b", iops(1_000)), target("a", iops(45_000)), target("c"))
    by_share = targets_table(targets, View(), 80)
    assert [cells[0].text for _, cells in by_share.rows] == ["a", "b", "c"]
    by_name = targets_table(targets, View(sorts=(4, 0)), 80)
    assert [cells[0].text for _, cells in by_name.rows] == ["a", "b", "c"]
    assert [cells[0].text for _, cells in targets_table(targets, View(search="B"), 80).rows] == ["b"]


def test_units_change_bytes_alone() -> None:
    read = Usage(Quantity.READ, KnownFigure(500e6, FigureSource.MEASURED, 70.0), 1e9)
    state = View()
    shown = []
    for _ in range(3):
        table = targets_table((target("a", read),), state, 200)
        shown.append(next(cells[4].text for _, cells in table.rows))
        state = state.next_unit()
    assert shown == ["500 / 1,000", "477 / 954", "4.0 / 8.0"]
    assert state == View()


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.0, "░░░░"), (0.001, "█░░░"), (0.99, "███░"), (1.0, "████"), (3.0, "████")]
)
def test_a_bar_is_empty_only_at_zero_and_full_only_at_the_ceiling(ratio: float, text: str) -> None:
    assert bar(ratio, 4) == text


PARTS = Parts(
    (
        LoadPart("/export/a", Bounds(400.0, 500.0, 600.0), 100.0, 1e6, 2e6, 0.002, "/mnt/a"),
        LoadPart("/export/b", Bounds.exact(4_500.0), 900.0, 0.0, None, None),
    )
)


def test_parts_have_their_share_of_the_ceiling_and_of_the_load() -> None:
    first, second = lines(parts_table(PARTS, View(target="x"), 200, iops(45_000)))
    assert "9.0 %" in first
    assert "90 %" in first
    assert "400 to 600" in second


def test_parts_without_a_ceiling_have_figures() -> None:
    assert "4,500" in lines(parts_table(PARTS, View(target="x"), 200))[0]


@pytest.mark.parametrize(
    ("quantity", "first", "share"),
    [
        (Quantity.READ, "/export/a", "10 %"),
        (Quantity.WRITE, "/export/a", "20 %"),
        (Quantity.BOTH, "/export/a", "30 %"),
        (Quantity.IOPS, "/export/b", ""),
    ],
)
def test_parts_are_compared_with_the_ceiling_that_is_fullest(quantity: Quantity, first: str, share: str) -> None:
    fullest = Usage(quantity, KnownFigure(9e6, FigureSource.MEASURED, 70.0), 1e7)
    table = parts_table(PARTS, View(target="x"), 200, fullest)
    assert table.rows[0][1][0].text == first
    assert share in lines(table)[0]
    assert table.columns[
        1
    ].title == f"of the {quantity.value.lower() if quantity is not Quantity.IOPS else 'IOPS'} ceiling".replace(
        "read and write", "read+write"
    )


@pytest.mark.parametrize("quantity", [Quantity.READ, Quantity.WRITE, Quantity.BOTH])
def test_an_operation_without_payload_has_no_share_of_a_bandwidth(quantity: Quantity) -> None:
    fullest = Usage(quantity, KnownFigure(9e6, FigureSource.MEASURED, 70.0), 1e7)
    rename = Parts((LoadPart("RENAME", Bounds.exact(80.0), 10.0),))
    ((_, cells),) = parts_table(rename, View(target="x", kind="operations"), 200, fullest).rows
    assert not any("%" in cell.text and "░" in cell.text for cell in cells)


def test_parts_of_a_mount_target_that_is_slow_are_compared_with_its_iops() -> None:
    slow = target("mt", iops(45_000), Usage(Quantity.LATENCY, KnownFigure(9.0, FigureSource.MEASURED, 70.0), 1.0))
    table = parts_table(PARTS, View(target="x"), 200, ceiling_of_parts(slow))
    assert table.columns[1].title == "of the IOPS ceiling"
    assert "9.0 %" in lines(table)[0]


def test_a_column_that_nothing_fills_takes_no_room() -> None:
    exact = Parts((LoadPart("web-1", Bounds.exact(1.0), 1.0),))
    titles = [column.title for column in parts_table(exact, View(target="x"), 200, iops(45_000)).columns]
    assert "IOPS bounds" not in titles
    assert "" not in titles


def test_parts_follow_order_and_filter() -> None:
    state = replace(View(target="x"), search="MNT")
    assert [cells[0].text for _, cells in parts_table(PARTS, state, 120).rows] == ["/export/a"]
    by_name = View(target="x", sorts=(0, 6))
    assert [cells[0].text for _, cells in parts_table(PARTS, by_name, 120).rows] == ["/export/a", "/export/b"]


def test_the_lines_above_parts_name_the_mount_target_and_what_is_missing() -> None:
    known = target("mt-home", iops(45_500))
    said = [line.text for line in subtitle(known, View(target="x", kind="clients"), Parts(remark="no client"))]
    assert said[0] == "mt-home 10.0.0.2 standard"
    assert said[1] == "not known (docs/runbook.md#fsscoverageincomplete)"
    assert "91 % of IOPS" in said[2]
    assert said[3:] == ["[1] mounts  [2] CLIENTS  [3] operations  [4] processes", "no client"]


def test_the_lines_above_parts_say_which_part_of_the_load_they_are() -> None:
    seen = iops(450, FigureSource.CLIENTS, 0.0, coverage=0.009)
    said = [line.text for line in subtitle(target("mt", iops(45_500), seen), View(target="x"), PARTS)]
    assert said[4] == "coverage: the load below is 0.9 % of its IOPS"


def test_clients_of_a_mount_target_that_hangs_come_by_state_with_their_wait_and_their_errors() -> None:
    idle = Bounds.exact(0.0)
    clients = Parts(
        (
            LoadPart("busy", Bounds.exact(900.0), 900.0, state=State.FINE, failed=0.0),
            LoadPart("failing", idle, 10.0, state=State.FAILING, failed=2.0),
            LoadPart("waits", idle, 0.0, state=State.HANGING, waiting_seconds=60.0),
            LoadPart("waits longer", idle, 0.0, state=State.HANGING, waiting_seconds=1260.0),
        )
    )
    table = parts_table(clients, View(target="x", kind="clients"), 200, iops(45_000))
    assert [column.title for column in table.columns][:3] == ["client", "state", "no reply for"]
    at = [column.title for column in table.columns].index("failed/s")
    assert [(*(cell.text for cell in cells[:3]), cells[at].text) for _, cells in table.rows] == [
        ("waits longer", "hanging", "21 min", ""),
        ("waits", "hanging", "60 s", ""),
        ("failing", "failing", "", "2.0"),
        ("busy", "fine", "", "0"),
    ]
    assert table.rows[0][1][0].style == STYLES[State.HANGING]


@pytest.mark.parametrize("width", [110, 140, 200])
def test_bars_take_the_room_that_the_columns_leave(width: int) -> None:
    assert drawn(target("mt-home", iops(45_500)), width=width).width == width
    assert parts_table(PARTS, View(target="x"), width, iops(45_000)).width == width


def test_the_help_explains_each_column() -> None:
    told = help_text()
    titles = {column.title for column in drawn(target("mt", iops(1.0))).columns}
    titles |= {column.title for column in parts_table(PARTS, View(target="x"), 300, iops(45_000)).columns}
    words = {title.removesuffix(" MB/s") for title in titles} - {"mount target", "mount", "", "of the IOPS ceiling"}
    assert {word for word in words if word not in told} == set()
    assert "%" not in told, "the share that is near is configured"


def test_names_from_outside_cannot_control_the_terminal() -> None:
    assert "\x1b" not in lines(drawn(target("mt\x1b[31m", iops(1))))[0]
