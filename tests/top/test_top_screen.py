"""The screen of `top` under keys: drill, back, sort, filter, pause, units and quit."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from fss_exporter.errors import SourceError
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage
from fss_toolbox.top.looks import Looks, Shown
from fss_toolbox.top.picture import LoadPart, Parts, Picture
from fss_toolbox.top.top_screen import TopScreen

PROMPT_S = 20.0


def target(name: str, iops: float) -> MountTargetRow:
    usage = Usage(Quantity.IOPS, KnownFigure(iops, FigureSource.MEASURED, 70.0), 50_000.0)
    return MountTargetRow(name, "r", f"10.0.0.{len(name)}", "standard", "ACTIVE", (usage,), frozenset((Quantity.IOPS,)))


class Recorded:
    """A source that counts its looks."""

    title = "a source"
    period_seconds = 0.2

    def __init__(self) -> None:
        self.looked = 0
        self.closed = 0
        self.failure = ""

    def look(self) -> Picture:
        self.looked += 1
        if self.failure:
            raise SourceError(self.failure)
        return Picture((target("home", 45_500.0), target("scratch", 100.0)), 2.0)

    def parts(self, row: MountTargetRow, kind: str) -> Parts:
        return Parts((LoadPart(f"{kind} of {row.name}", Bounds.exact(10.0)),))

    def close(self) -> None:
        self.closed += 1


Steps = Callable[[TopScreen, Pilot[None]], Awaitable[None]]


def play(source: Recorded, steps: Steps) -> None:
    async def run() -> None:
        screen = TopScreen(source)
        async with screen.run_test(size=(120, 20)) as pilot:
            await until(pilot, lambda: names(screen) == ["home", "scratch"])
            await steps(screen, pilot)

    asyncio.run(run())


async def until(pilot: Pilot[Any], condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PROMPT_S
    while not condition():
        assert time.monotonic() < end, head(pilot.app)
        await pilot.pause(0.02)


def names(screen: Any) -> list[str]:
    table = screen.query_one(DataTable)
    return [str(table.get_row_at(at)[0]) for at in range(table.row_count)]


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
        titles = [str(column.label) for column in screen.query_one(DataTable).columns.values()]
        assert any("MiB/s" in title for title in titles)
        await pilot.press("slash", *"scra", "enter")
        await until(pilot, lambda: names(screen) == ["scratch"])
        assert "filter: scra" in head(screen)
        await pilot.press("escape")
        await until(pilot, lambda: names(screen) == ["home", "scratch"])

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
        source.failure = "http://host: HTTP 503"
        await until(pilot, lambda: "HTTP 503" in head(screen))
        assert names(screen) == ["home", "scratch"]

    play(source, steps)


def test_q_ends_and_closes_the_source() -> None:
    source = Recorded()

    async def steps(_: TopScreen, pilot: Pilot[None]) -> None:
        await pilot.press("q")

    play(source, steps)
    assert source.closed == 1


def test_a_mistake_in_one_look_is_told_and_the_looks_go_on() -> None:
    shown: list[Shown] = []
    source = Recorded()
    looks = Looks(source, shown.append)
    source.failure = "no answer"
    looks.once()
    source.failure = ""
    looks.once()
    assert [look.failure for look in shown] == ["no answer", ""]
    assert shown[-1].picture is not None


@pytest.mark.parametrize("value", ["", "1"], ids=["colour", "no colour"])
def test_without_colour_only_bold_is_left(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("NO_COLOR", value)

    async def steps(screen: TopScreen, _: Pilot[None]) -> None:
        cell = screen.query_one(DataTable).get_row_at(0)[1]
        assert "91 % of IOPS !" in str(cell)
        assert (str(cell.style) == "yellow") is not bool(value)

    play(Recorded(), steps)
