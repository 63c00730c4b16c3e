"""Pictures of the dashboards over the demo: `make dashboard-pictures` records answers of real servers, then draws them.

ARGS="--minutes 60" waits for more history. The history stays in build/: ARGS="--asked-only" puts the queries of changed
dashboards to the same history. ARGS="--drawn-only" draws the recorded answers again.
"""

import argparse
import json
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.dashboards import exact_mode
from tests.processes import demo, prometheus
from tools.dashboard_pictures.answers import Prometheus, Recorder, Recording
from tools.dashboard_pictures.drawing import Drawing, draw
from tools.dashboard_pictures.scenes import Json, scenes

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "dashboards"
PICTURES = ROOT / "docs" / "images" / "dashboards"
BUILT = ROOT / "build" / "dashboard-pictures"
HISTORY = ROOT / "build" / "dashboard-history"
DATA_SOURCE_S = 15
"""What the data source of Grafana says of every scrape, true or not."""

EXACT_MODE = "exact-mode"
"""Recording of the client dashboard with agents in exact mode."""

SCRAPES = {"scraped-15s": "15s", "scraped-60s": "60s"}
"""Recordings by the scrape interval of their Prometheus."""

_CONFIGURATION = """
global: {{scrape_interval: {interval}, evaluation_interval: {interval}}}
rule_files: ['{root}/rules/clients.yml', '{root}/rules/load.yml', '{root}/rules/service_level.yml', '{root}/rules/monitoring.yml']
scrape_configs:
- job_name: fss
  static_configs: [{{targets: ['{target}']}}]
"""


def dashboards() -> list[Json]:
    """Every shipped dashboard."""
    return [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "dashboards").glob("*.json"))]


def recorded(name: str) -> list[Json]:
    """The shipped dashboards with the recorded answers of one Prometheus."""
    recording = Recording.read(FIXTURES / f"{name}.json.xz")
    return scenes(recording, _of(name), start=recording.start, end=recording.end)


def _of(name: str) -> list[Json]:
    """The dashboards of a recording."""
    return [one for one in dashboards() if name != EXACT_MODE or one["uid"] == "fss-clients"]


def record(server: Prometheus, end: float, minutes: float) -> Recording:
    """Answers of a running server to every query of every dashboard, over the minutes before the end."""
    recorder = Recorder(server)
    scenes(recorder, dashboards(), start=end - 60 * minutes, end=end)
    return Recording(end - 60 * minutes, end, server.scrape_s, recorder.kept)


def scrape_the_demo(minutes: float) -> None:
    """Start the demo and a Prometheus for each scrape interval, wait for history, and keep their databases."""
    shutil.rmtree(HISTORY, ignore_errors=True)
    with ExitStack() as stack:
        target = stack.enter_context(demo(HISTORY)).removeprefix("http://")
        for name, interval in SCRAPES.items():
            configuration = _CONFIGURATION.format(interval=interval, root=ROOT, target=target)
            stack.enter_context(prometheus(configuration, HISTORY / name))
        until = time.strftime("%H:%M", time.localtime(time.time() + 60 * minutes))
        print(f"{minutes:g} minutes of history: wait until {until}", flush=True)
        time.sleep(60 * minutes)
        (HISTORY / "times.json").write_text(json.dumps({"end": int(time.time()) - 5, "minutes": minutes}))


def record_the_demo() -> None:
    """Put every query to the databases that `scrape_the_demo` kept, and write the recordings."""
    times = json.loads((HISTORY / "times.json").read_text())
    for name in SCRAPES:
        with prometheus("", HISTORY / name) as server:
            write(name, record(Prometheus(server.url, DATA_SOURCE_S), **times))
    record_exact_mode()


def record_exact_mode(minutes: float = 35) -> None:
    """Write a recording of the client dashboard with three agents in exact mode. The history takes seconds."""
    end = int(time.time()) - 60
    with tempfile.TemporaryDirectory() as folder:
        exact_mode.write_database(Path(folder), end - int(60 * minutes), end)
        with prometheus("", Path(folder)) as server:
            recorder = Recorder(Prometheus(server.url, DATA_SOURCE_S))
            start = end - 60 * minutes
            scenes(recorder, _of(EXACT_MODE), start=start, end=end)
    write(EXACT_MODE, Recording(start, end, DATA_SOURCE_S, recorder.kept))


def write(name: str, recording: Recording) -> None:
    """Keep a recording as a fixture."""
    FIXTURES.mkdir(parents=True, exist_ok=True)
    recording.write(FIXTURES / f"{name}.json.xz")


def draw_all() -> None:
    """Every picture into build/, and the small ones that the pages show into docs/."""
    shutil.rmtree(BUILT, ignore_errors=True)
    every = Drawing(widths=(1600, 1280), themes=("dark", "light"), open=(False, True), pictures=True)
    for name in (*SCRAPES, EXACT_MODE):
        draw(recorded(name), BUILT / name, every, timeout_s=1800)
    _draw_for_pages(recorded("scraped-15s"))
    _draw_for_pages([_row_of_exact_mode(one) for one in recorded(EXACT_MODE)])
    print(BUILT, PICTURES, sep="\n")


def _draw_for_pages(asked: list[Json]) -> None:
    shown = Drawing(widths=(1280,), themes=("dark", "light"), open=(False,), pictures=True, kind="webp", scale=0.75)
    with tempfile.TemporaryDirectory() as folder:
        draw(asked, Path(folder), shown)
        PICTURES.mkdir(parents=True, exist_ok=True)
        for picture in Path(folder).glob("*.webp"):
            shutil.copy(picture, PICTURES / picture.name.replace("-1280", ""))


def _row_of_exact_mode(scene: Json) -> Json:
    """The client dashboard with the panels of exact mode alone."""
    dashboard = scene["dashboard"]
    (row,) = (panel for panel in dashboard["panels"] if panel["title"].startswith("Exact mode"))
    below = row["gridPos"]["y"] + 1
    panels = [one | {"gridPos": one["gridPos"] | {"y": one["gridPos"]["y"] - below}} for one in row["panels"]]
    return scene | {"dashboard": dashboard | {"uid": "fss-clients-exact-mode", "panels": panels}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=35)
    parser.add_argument("--asked-only", action="store_true")
    parser.add_argument("--drawn-only", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.asked_only or arguments.drawn_only):
        scrape_the_demo(arguments.minutes)
    if not arguments.drawn_only:
        record_the_demo()
    draw_all()


if __name__ == "__main__":
    main()
