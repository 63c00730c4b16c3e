"""Pictures of the dashboards in situations of the demo: `make dashboard-pictures` plays each, records the answers, then draws them.

ARGS="--only NAME" plays one situation. ARGS="--drawn-only" draws the recorded answers again. ARGS=--apart leaves the recordings and pictures of
the project as they are, and writes its own into build/.
"""

import argparse
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml
from lab.pictures import exact_mode, replay
from lab.pictures.answers import Answers, Prometheus, Recorder, Recording
from lab.pictures.drawing import Drawing, draw
from lab.pictures.scenes import Json, busiest_mount_target, scenes
from lab.pictures.situations import SITUATIONS, Situation, play
from tests.clock import NOON
from tests.dashboards.reasons import Shown, true_reasons
from tests.processes import prometheus
from tests.rules.pack import RULES

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "dashboards"
PICTURES = ROOT / "docs" / "images" / "dashboards"
BUILT = ROOT / "build" / "dashboard-pictures"


@dataclass(frozen=True)
class Folders:
    """Where recordings go and come from, and where the small pictures of the pages go."""

    recordings: Path
    pictures: Path


OF_THE_PROJECT = Folders(FIXTURES, PICTURES)
APART = Folders(ROOT / "build" / "dashboard-recordings", BUILT / "pages")

SHOWN_MINUTES = 35
DATA_SOURCE_S = 15  # what the data source of Grafana says of every scrape, true or not

EXACT_MODE = "exact-mode"  # recording of the client dashboard with agents in exact mode

# Situations that are recorded with every dashboard: scraped every 60 s and every 15 s.
WHOLE = ("normal", "scraped-15s")

# Situations that are recorded with the dashboards which a responder opens first.
OTHERS = tuple(situation.name for situation in SITUATIONS if situation.name not in WHOLE)

_FIRST = {"fss-fleet", "fss-mount-target"}
_CLIENTS_TOO = {"hammering-client", "no-poller"}


def dashboards() -> list[Json]:
    """Every shipped dashboard."""
    return [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "dashboards").glob("*.json"))]


def recorded(name: str, folder: Path = FIXTURES) -> list[Json]:
    """The shipped dashboards with the recorded answers of one Prometheus."""
    recording = Recording.read(folder / f"{name}.json.xz")
    return _scenes(recording, name, recording.start, recording.end)


def shown(name: str) -> Shown:
    """The same of a recording with every dashboard, with the reasons of queries without data."""
    recording = Recording.read(FIXTURES / f"{name}.json.xz")
    return Shown(recorded(name), true_reasons(recording, recording.end))


def _scenes(source: Answers, name: str, start: float, end: float) -> list[Json]:
    """The dashboards of a recording. That of one mount target shows the busiest, of which most is known."""
    return scenes(source, _of(name), start=start, end=end, mount_target=busiest_mount_target(source, end))


def _of(name: str) -> list[Json]:
    """The dashboards of a recording."""
    if name in WHOLE:
        return dashboards()
    also_clients = {"fss-clients"} if name in _CLIENTS_TOO else set()
    wanted = {"fss-clients"} if name == EXACT_MODE else _FIRST | also_clients
    return [dashboard for dashboard in dashboards() if dashboard["uid"] in wanted]


def groups() -> list[Json]:
    """The groups of the rules, what records before what alerts. Rules for node_exporter and Kubernetes have no data here."""
    files = [path for path in sorted(RULES.glob("*.yml")) if path.stem not in {"node_exporter", "kubernetes"}]
    return [group for path in files for group in yaml.safe_load(path.read_text("utf-8"))["groups"]]


def record(situation: Situation, into: Path) -> None:
    """Play a situation, put every query of its dashboards to its Prometheus, and keep the answers."""
    with (
        tempfile.TemporaryDirectory() as folder,
        prometheus("", Path(folder), *replay.FLAGS) as server,
    ):
        end = play(situation, replay.Server(server.url), groups())
        recorder = Recorder(Prometheus(server.url, DATA_SOURCE_S))
        start = end - 60 * SHOWN_MINUTES
        _scenes(recorder, situation.name, start, end)
        if situation.name in WHOLE:
            true_reasons(recorder, end)
    write(into / f"{situation.name}.json.xz", Recording(start, end, DATA_SOURCE_S, recorder.kept))


def record_exact_mode(into: Path) -> None:
    """Write a recording of the client dashboard with three agents in exact mode."""
    end = NOON
    start = end - 60 * SHOWN_MINUTES
    with tempfile.TemporaryDirectory() as folder, prometheus("", Path(folder), *replay.FLAGS) as server:
        of_clients = [group for group in groups() if group["name"] in {"fss-clients", "fss-constants", "fss-panels"}]
        exact_mode.play(replay.Server(server.url), start, end, of_clients)
        recorder = Recorder(Prometheus(server.url, DATA_SOURCE_S))
        _scenes(recorder, EXACT_MODE, start, end)
    write(into / f"{EXACT_MODE}.json.xz", Recording(start, end, DATA_SOURCE_S, recorder.kept))


def write(path: Path, recording: Recording) -> None:
    """Keep a recording."""
    path.parent.mkdir(parents=True, exist_ok=True)
    recording.write(path)


def draw_all(folders: Folders) -> None:
    """Every picture into build/, and the small ones that the pages show."""
    shutil.rmtree(BUILT, ignore_errors=True)
    every = Drawing(widths=(1600, 1280, 1024, 700), themes=("dark", "light"), open=(False, True), pictures=True)
    for name in (*WHOLE, EXACT_MODE):
        draw(recorded(name, folders.recordings), BUILT / name, every, timeout_s=3600)
    for name in OTHERS:
        draw(
            recorded(name, folders.recordings),
            BUILT / name,
            Drawing(themes=("dark", "light"), open=(False,), pictures=True),
        )
    draw_for_pages(folders)
    print(BUILT, folders.pictures, sep="\n")


def draw_for_pages(folders: Folders) -> None:
    """The small pictures of the pages: every dashboard, and the fleet in every situation."""
    shutil.rmtree(folders.pictures, ignore_errors=True)
    _draw_for_pages(recorded("normal", folders.recordings), folders.pictures)
    of_exact_mode = [_row_of_exact_mode(answer) for answer in recorded(EXACT_MODE, folders.recordings)]
    _draw_for_pages(of_exact_mode, folders.pictures)
    for name in OTHERS:
        answers = recorded(name, folders.recordings)
        of_fleet = [_named(answer, name) for answer in answers if answer["dashboard"]["uid"] == "fss-fleet"]
        _draw_for_pages(of_fleet, folders.pictures, ("dark",))


def _named(scene: Json, name: str) -> Json:
    """A scene whose picture has the name of its situation."""
    return scene | {"dashboard": scene["dashboard"] | {"uid": f"fss-fleet-{name}"}}


def _draw_for_pages(asked: list[Json], target: Path, themes: tuple[str, ...] = ("dark", "light")) -> None:
    shown = Drawing(widths=(1280,), themes=themes, open=(False,), pictures=True, kind="webp", scale=0.75)
    with tempfile.TemporaryDirectory() as folder:
        draw(asked, Path(folder), shown)
        target.mkdir(parents=True, exist_ok=True)
        for picture in Path(folder).glob("*.webp"):
            shutil.copy(picture, target / picture.name.replace("-1280", ""))


def _row_of_exact_mode(scene: Json) -> Json:
    """The client dashboard with the panels of exact mode alone."""
    dashboard = scene["dashboard"]
    (row,) = (panel for panel in dashboard["panels"] if panel["title"].startswith("Exact mode"))
    below = row["gridPos"]["y"] + 1
    panels = [panel | {"gridPos": panel["gridPos"] | {"y": panel["gridPos"]["y"] - below}} for panel in row["panels"]]
    return scene | {"dashboard": dashboard | {"uid": "fss-clients-exact-mode", "panels": panels}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[situation.name for situation in SITUATIONS] + [EXACT_MODE])
    parser.add_argument("--drawn-only", action="store_true")
    parser.add_argument("--recorded-only", action="store_true")
    parser.add_argument("--apart", action="store_true")
    arguments = parser.parse_args()
    folders = APART if arguments.apart else OF_THE_PROJECT
    if not arguments.drawn_only:
        for situation in SITUATIONS:
            if arguments.only in {None, situation.name}:
                print(f"{situation.name}: {situation.title}", flush=True)
                record(situation, folders.recordings)
        if arguments.only in {None, EXACT_MODE}:
            record_exact_mode(folders.recordings)
    if not (arguments.recorded_only or arguments.only):
        draw_all(folders)


if __name__ == "__main__":
    main()
