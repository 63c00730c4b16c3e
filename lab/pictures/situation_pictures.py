"""Pictures of the ten situations of docs/alerts-tried.md, into build/: dashboards, status pages and `top --prometheus`.

`make -C lab situation-pictures` plays each as the incidents do, into a Prometheus that evaluates the rules. ARGS="--only hangs" plays those
whose name has this text. A person who looks at a picture for ten seconds should know: how close, who, since when, what now.
"""

import argparse
import asyncio
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.pictures.answers import Prometheus
from lab.pictures.drawing import Drawing, draw
from lab.pictures.recording import DATA_SOURCE_S, ROOT, SHOWN_MINUTES, dashboards, groups
from lab.pictures.replay import FLAGS, Rules, Server, Stored, samples_of
from lab.pictures.scenes import scenes
from tests.clock import NOON
from tests.e2e.browser import visit
from tests.processes import get, prometheus
from tests.rules.site import Scrapes, scrape_into
from tests.rules.situations import SITUATIONS, Situation, status_page_of
from textual.pilot import Pilot

from fss_toolbox.ceilings import judge
from fss_toolbox.plan import prometheus_api
from fss_toolbox.top.line_table import LineTable
from fss_toolbox.top.prometheus_source import PrometheusSource
from fss_toolbox.top.top_screen import TopScreen

BUILT = ROOT / "build" / "situation-pictures"
_DASHBOARDS = {"fss-fleet", "fss-mount-target", "fss-clients"}
_TERMINAL = (140, 24)  # columns and lines
_PAGE = (1120, 700)  # pixels
_SETTLES_S = 3.0  # until the screen of `top` is laid out again with its reasons, or has asked for the clients
_LOOKS = 600  # at the screen of `top` until it has lines


class _Played(Scrapes):
    """Scrapes that a Prometheus stores at once, with the rules evaluated after each."""

    def __init__(self, server: Server, situation: Situation) -> None:
        super().__init__(situation.site.scraped, situation.site.before, NOON)
        self._server = server
        self._rules = Rules(server, groups())
        self._targets: dict[str, Stored] = {}

    @property
    def at(self) -> float:
        """The moment of the next scrape, epoch seconds."""
        return self.begin + self.taken * self.interval_s

    def add(self, body: str | None, targets: Sequence[str]) -> None:
        super().add(body, targets)
        for target in targets:
            labels = tuple(re.findall(r'(\w+)="([^"]*)"', target))
            up = (("__name__", "up"), *labels)
            stored = self._targets.setdefault(target, Stored(self._server))
            stored.store([*samples_of(body or "", labels), (up, float(body is not None))], self.at)

    def end(self) -> None:
        self._rules.evaluate(self.at)
        super().end()


class _AtTheEnd(prometheus_api.Prometheus):
    """A Prometheus whose present is the end of what was played."""

    def present(self) -> float:
        return self.now


@dataclass(frozen=True)
class _Pictures:
    """The pictures of one situation."""

    situation: Situation

    def path(self, of: str) -> Path:
        return BUILT / f"{'-'.join(re.findall(r'[a-z0-9]+', str(self.situation).lower()))}-{of}"

    def take(self) -> None:
        with tempfile.TemporaryDirectory() as folder, prometheus("", Path(folder), *FLAGS) as url:
            played = _Played(Server(url.url), self.situation)
            scrape_into(played, self.situation.site, self.situation.faults)
            end = played.at - played.interval_s
            self._dashboards(url.url, end)
            asyncio.run(self._top(url.url, end))
        self._pages(played)

    def _dashboards(self, url: str, end: float) -> None:
        chosen = [dashboard for dashboard in dashboards() if dashboard["uid"] in _DASHBOARDS]
        drawn = scenes(Prometheus(url, DATA_SOURCE_S), chosen, start=end - 60 * SHOWN_MINUTES, end=end)
        with tempfile.TemporaryDirectory() as folder:
            draw(drawn, Path(folder), Drawing(themes=("dark",), open=(False,), pictures=True))
            for picture in Path(folder).glob("*.png"):
                picture.replace(self.path(picture.name.replace("-1280-dark", "")))

    async def _top(self, url: str, end: float) -> None:
        source = PrometheusSource(
            _AtTheEnd(lambda path: get(f"{url}{path}"), end), "http://prometheus:9090", judge("standard", None), 15.0
        )
        screen = TopScreen(source)
        async with screen.run_test(size=_TERMINAL) as pilot:
            await _until_drawn(screen, pilot)
            await pilot.pause(_SETTLES_S)
            self._screen(screen, "top")
            await pilot.press("enter", "2")
            await pilot.pause(_SETTLES_S)
            self._screen(screen, "top-clients")

    def _screen(self, screen: TopScreen, name: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            drawing = Path(folder) / "screen.svg"
            drawing.write_text(screen.export_screenshot(), encoding="utf-8")
            visit(drawing.as_uri(), size=(1740, 660), picture=self.path(f"{name}.png"))

    def _pages(self, played: Scrapes) -> None:
        for who in ("poller", "client"):
            if page := status_page_of(who, played):
                with tempfile.TemporaryDirectory() as folder:
                    file = Path(folder) / "page.html"
                    file.write_text(page, encoding="utf-8")
                    visit(file.as_uri(), size=_PAGE, picture=self.path(f"page-of-{who}.png"))


async def _until_drawn(screen: TopScreen, pilot: Pilot[None]) -> None:
    for _ in range(_LOOKS):
        if screen.query_one(LineTable).content.rows:
            return
        await pilot.pause(0.05)
    raise RuntimeError("top shows no mount target")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names of situations")
    only = parser.parse_args().only
    chosen = [situation for situation in SITUATIONS if only in str(situation)]
    if not chosen:
        parser.error(f"no situation has {only!r} in its name. There are: {'; '.join(map(str, SITUATIONS))}")
    BUILT.mkdir(parents=True, exist_ok=True)
    for situation in chosen:
        print(situation, flush=True)
        _Pictures(situation).take()
    print(BUILT)


if __name__ == "__main__":
    main()
