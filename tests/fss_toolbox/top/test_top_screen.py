"""The screen of `top` under keys: drill, back, sort, filter, pause, units and quit."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from fss_exporter.errors import SourceError
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.state import State, StateNow
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage
from fss_toolbox.top.line_table import LineTable
from fss_toolbox.top.picture import LoadPart, Parts, Picture
from fss_toolbox.top.refresher import Latest, Refresher
from fss_toolbox.top.top_screen import TopScreen

PROMPT_S = 20.0


def target(name: str, iops: float) -> MountTargetRow:
    usage = Usage(Quantity.IOPS, KnownFigure(iops, FigureSource.MEASURED, 70.0), 50_000.0)
    return MountTargetRow(name, "r", "10.0.0.2", "standard", "ACTIVE", (usage,), StateNow(State.FINE), ocid=name)


class Recorded:
    """A source that counts its looks."""

    title = "a source"
    opens = "mounts"
    period_seconds = 0.2
    interval = 0.2
    targets: tuple[MountTargetRow, ...] = (target("home", 45_500.0), target("scratch", 100.0))

    def __init__(self) -> None:
        self.looked = 0
        self.closed = 0
        self.failure: Exception | None = None

    def read(self) -> Picture:
        self.looked += 1
        if self.failure:
            raise self.failure
        return Picture(self.targets, 2.0)

    def parts(self, row: MountTargetRow, kind: str) -> Parts:
        return Parts((LoadPart(f"{kind} of {row.name}", Bounds.exact(10.0)),))

    def close(self) -> None:
        self.closed += 1


Steps = Callable[[TopScreen, Pilot[None]], Awaitable[None]]


def play(source: Recorded, steps: Steps, **options: str) -> None:
    async def run() -> None:
        screen = TopScreen(source, **options)
        async with screen.run_test(size=(120, 20)) as pilot:
            await until(pilot, lambda: bool(names(screen)))
            await steps(screen, pilot)

    asyncio.run(run())


async def until(pilot: Pilot[Any], condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PROMPT_S
    while not condition():
        assert time.monotonic() < end, head(pilot.app)
        await pilot.pause(0.02)


def names(screen: Any) -> list[str]:
    return [cells[0].text for _, cells in screen.query_one(LineTable).content.rows]


def drawn(screen: Any) -> list[str]:
    """The lines of the table on the screen, the titles first."""
    table = screen.query_one(LineTable)
    return [table.render_line(y).text.strip() for y in range(table.size.height)]


def under_cursor(screen: Any) -> str:
    return str(screen.query_one(LineTable).key)


def head(screen: Any) -> str:
    return str(screen.query_one("#head", Static).content)


def test_enter_opens_a_mount_target_keys_choose_the_kind_and_escape_goes_back() -> None:
    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        await pilot.press("down", "enter")
        await until(pilot, lambda: names(screen) == ["mounts of scratch"])
        for key, kind in (("2", "clients"), ("3", "operations"), ("4", "processes"), ("1", "mounts")):
            await pilot.press(key)
            await until(pilot, lambda kind=kind: names(screen) == [f"{kind} of scratch"])  # type: ignore[misc]
        await pilot.press("escape")
        await until(pilot, lambda: names(screen) == ["home", "scratch"])

    play(Recorded(), steps)


def test_keys_sort_filter_and_switch_units() -> None:
    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        await pilot.press("s", "s", "s", "s")
        await until(pilot, lambda: "sorted by name" in head(screen))
        await pilot.press("u")
        assert "MiB/s" in drawn(screen)[0]
        await pilot.press("slash", *"scra", "enter")
        await until(pilot, lambda: names(screen) == ["scratch"])
        assert "filter: scra" in head(screen)
        await pilot.press("escape")
        await until(pilot, lambda: names(screen) == ["home", "scratch"])

    play(Recorded(), steps)


@pytest.mark.parametrize("back", ["question_mark", "escape"])
def test_a_question_mark_explains_columns_and_keys_in_place_of_the_table(back: str) -> None:
    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        told, table = screen.query_one("#help"), screen.query_one(LineTable)
        await pilot.press("question_mark")
        assert (told.display, table.display, table.has_focus) == (True, False, False)
        await pilot.press(back)
        assert (told.display, table.display, table.has_focus) == (False, True, True)

    play(Recorded(), steps)


class Fleet(Recorded):
    """A source of 120 mount targets, whose loads change with each look."""

    def read(self) -> Picture:
        super().read()
        loads = {f"mt-{number:03}": 40_000.0 - 10 * number + 500 * (self.looked % 2) for number in range(120)}
        return Picture(tuple(target(name, load) for name, load in loads.items()), 2.0)


def test_a_view_of_many_mount_targets_stays_where_the_reader_is() -> None:
    source = Fleet()

    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        table = screen.query_one(LineTable)
        await until(pilot, lambda: table.show_vertical_scrollbar)
        await pilot.press("pagedown", "pagedown", "down")
        here, place = under_cursor(screen), table.scroll_offset.y
        assert any(here in line for line in drawn(screen))
        seen, looked = set(), source.looked
        while source.looked < looked + 5:
            seen.add((under_cursor(screen), table.scroll_offset.y))
            await pilot.pause(0.02)
        assert seen == {(here, place)}
        await pilot.press("end")
        assert drawn(screen)[-1].startswith("mt-119")
        assert drawn(screen)[0].startswith("mount target")
        await pilot.press("home")
        assert drawn(screen)[1].startswith("mt-000")

    play(source, steps)


def test_a_look_that_comes_while_the_screen_is_taken_down_is_not_drawn() -> None:
    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: screen._shown.picture is not None)
        await screen.query_one("#head").remove()
        screen.post_message(screen.Refreshed(screen._shown))
        await pilot.pause()

    play(Fleet(), steps)


def test_of_looks_that_wait_the_last_is_drawn_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that draws slower than it looks would show older and older pictures."""

    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        draws: list[None] = []
        monkeypatch.setattr(screen, "_draw", lambda: draws.append(None))
        for number in range(100):
            screen.post_message(screen.Refreshed(Latest(failure=str(number))))
        await until(pilot, lambda: screen._shown.failure == "99")
        assert len(draws) < 50

    play(Patient(), steps)


class Patient(Recorded):
    """A source with a single look."""

    period_seconds = PROMPT_S


def test_a_wheel_leaves_the_cursor_behind_until_a_key_moves_it() -> None:
    source = Fleet()

    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        table = screen.query_one(LineTable)
        await until(pilot, lambda: table.show_vertical_scrollbar)
        table.scroll_to(y=100, animate=False, immediate=True)
        looked = source.looked
        await until(pilot, lambda: source.looked > looked + 2)
        assert table.scroll_offset.y == 100
        await pilot.press("down")
        assert table.scroll_offset.y <= 1

    play(source, steps)


def test_back_leads_to_the_mount_target_that_was_open() -> None:
    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: screen.query_one(LineTable).show_vertical_scrollbar)
        await pilot.press("pagedown", "pagedown", "down")
        here = under_cursor(screen)
        await pilot.press("enter")
        await until(pilot, lambda: names(screen) == [f"mounts of {here}"])
        await pilot.press("escape")
        await until(pilot, lambda: len(names(screen)) == 120)
        assert under_cursor(screen) == here
        assert any(here in line for line in drawn(screen))

    play(Fleet(), steps)


def test_a_cursor_at_the_first_row_stays_at_the_fullest_mount_target() -> None:
    source = Recorded()

    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        assert under_cursor(screen) == "home"
        source.targets = (target("home", 100.0), target("scratch", 49_000.0))
        await until(pilot, lambda: names(screen) == ["scratch", "home"])
        assert under_cursor(screen) == "scratch"
        await pilot.press("down")
        source.targets = (target("home", 49_500.0), target("scratch", 49_000.0))
        await until(pilot, lambda: names(screen) == ["home", "scratch"])
        assert under_cursor(screen) == "home"

    play(source, steps)


def test_mount_targets_of_one_name_without_an_address_are_both_shown() -> None:
    """OCI lets display names repeat, and an address can be unknown."""
    source = Recorded()
    source.targets = tuple(replace(target("twin", iops), address="") for iops in (45_500.0, 100.0))

    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: names(screen) == ["twin", "twin"])
        await pilot.press("down")
        assert "0.2 %" in drawn(screen)[2]

    play(source, steps)


def test_a_click_moves_the_cursor_and_a_second_one_opens_the_row() -> None:
    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        await pilot.click(LineTable, offset=(2, 2))
        assert under_cursor(screen) == "scratch"
        await pilot.click(LineTable, offset=(2, 2))
        await until(pilot, lambda: names(screen) == ["mounts of scratch"])

    play(Recorded(), steps)


def test_a_pause_holds_the_picture_and_stops_the_looks() -> None:
    source = Recorded()

    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await until(pilot, lambda: "PAUSED" in head(screen))
        looked = source.looked
        await until(pilot, lambda: source.looked <= looked + 1)  # a look can be under way
        await pilot.press("p")
        await until(pilot, lambda: source.looked > looked + 2)

    play(source, steps)


def test_a_source_that_stops_to_answer_is_told_above_its_last_picture() -> None:
    source = Recorded()

    async def steps(screen: TopScreen, pilot: Pilot[None]) -> None:
        source.failure = SourceError("http://host: HTTP 503")
        await until(pilot, lambda: "HTTP 503" in head(screen))
        assert names(screen) == ["home", "scratch"]

    play(source, steps)


def test_a_section_of_the_runbook_is_a_link_to_the_exporter_or_has_the_command_that_writes_the_file() -> None:
    at, file = "http://host:10949/runbook", "docs/runbook.md"
    source, writes = Recorded(), f"fss-exporter assets DIR writes {file}"
    unknown = replace(target("home", 45_500.0), state=StateNow(State.NOT_KNOWN))

    async def linked(screen: TopScreen, _: Pilot[None]) -> None:
        assert f"{at}#fsscoverageincomplete" in head(screen)
        assert "assets" not in head(screen)

    async def written(screen: TopScreen, _: Pilot[None]) -> None:
        assert f"{file}#fsscoverageincomplete" in head(screen)
        assert writes in head(screen)

    async def without(screen: TopScreen, _: Pilot[None]) -> None:
        assert "assets" not in head(screen)

    play(source, without)
    source.targets = (unknown,)
    play(source, linked, runbook=at)
    play(source, written)


def test_q_ends_and_closes_the_source() -> None:
    source = Recorded()

    async def steps(_: TopScreen, pilot: Pilot[None]) -> None:
        await pilot.press("q")

    play(source, steps)
    assert source.closed == 1


@pytest.mark.parametrize(
    ("failure", "told"), [(SourceError("no\nanswer"), "no answer"), (KeyError("resource"), "KeyError('resource')")]
)
def test_a_mistake_in_one_look_is_told_and_the_looks_go_on(failure: Exception, told: str) -> None:
    shown: list[Latest] = []
    source = Recorded()
    refresher = Refresher(source, shown.append)
    source.failure = failure
    refresher.once()
    source.failure = None
    refresher.once()
    assert [latest.failure for latest in shown] == [told, ""]
    assert shown[-1].picture is not None


def test_the_chosen_row_is_one_bar_from_edge_to_edge_in_the_colour_of_the_mount_target() -> None:
    source = Recorded()
    source.targets = tuple(replace(row, state=StateNow(State.FAILING)) for row in source.targets)

    async def steps(screen: TopScreen, _: Pilot[None]) -> None:
        table = screen.query_one(LineTable)
        styles = {str(segment.style).partition(" on ")[0] for segment in table.render_line(1)}
        assert styles == {"bold reverse red"}
        assert table.render_line(1).cell_length == table.size.width

    play(source, steps)


def test_a_terminal_of_20_columns_keeps_half_of_its_lines_for_the_mount_targets() -> None:
    async def run() -> None:
        screen = TopScreen(Recorded())
        async with screen.run_test(size=(20, 12)) as pilot:
            await until(pilot, lambda: bool(names(screen)))
            await pilot.pause()
            assert screen.query_one(LineTable).region.bottom <= 12
            assert screen.query_one(LineTable).region.height >= 5

    asyncio.run(run())
