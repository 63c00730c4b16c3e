"""`make test-browser`: the status page in a real browser, in front of a real exporter. `make check` runs it beside the linters."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import measured, visible_text, visit
from tests.local_server import Quiet, serving
from tests.processes import demo, exporter, get, wait_for

from fss_exporter.web.status.style import CONTENT_SECURITY_POLICY
from fss_toolbox.demo.recorded_clients import ClientMount, Clients

HOSTILE = "/export/<b>bold</b><script>document.title='owned'</script>&amp;\u202etxt"
PHONE, DESK = (390, 844), (1280, 900)

OVERFLOW = """() => [...document.querySelectorAll("body *")].filter(
  element => element.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length"""
COLOURS = """() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"""
TEXTS = "() => [document.title, document.body.innerText]"
BARS = """() => [...document.querySelectorAll(".usage:has(svg)")].map(usage => [
  usage.querySelector("strong").innerText,
  usage.querySelector(".fill").getBoundingClientRect().width / usage.querySelector("svg").getBoundingClientRect().width])"""
TARGETS = """() => [...document.querySelectorAll(".target")].map(row => ({
  name: row.querySelector("th bdi").innerText,
  tag: row.querySelector(".tag").innerText,
  rest: row.nextElementSibling.innerText,
  quantities: [...row.nextElementSibling.querySelectorAll(".quantity")].map(
    quantity => [...quantity.querySelectorAll(".usage")].map(usage => usage.innerText.replace(/\\s+/g, " ")))
}))"""
MEASURES = {"overflow": OVERFLOW, "colours": COLOURS, "texts": TEXTS, "bars": BARS, "targets": TARGETS}

_JUDGED = re.compile(r'fss_mount_target_state\{.*mount_target="mt-home".*\} [2-5]')

# All of it in one visit of each size, because a start of a browser takes a second. Everything behind a click is open.
OPEN = 'document.querySelectorAll("details").forEach(one => { one.open = true; });'
EVERYTHING = (
    f"() => {{ {OPEN} return {{{', '.join(f'{name}: ({function})()' for name, function in MEASURES.items())}}} }}"
)

Look = Callable[..., dict[str, Any]]  # measures of a page by the size of the window, and `dark`


def looks(page: str, folder: Path) -> Look:
    @cache
    def look(size: tuple[int, int], *, dark: bool = False) -> dict[str, Any]:
        seen: dict[str, Any] = measured(page, EVERYTHING, folder, size=size, dark=dark)
        return seen

    return look


@contextmanager
def agent(directory: Path, *mounts: ClientMount) -> Iterator[str]:
    """An agent on recorded clients that are at work."""
    clients = Clients(directory / "proc", mounts, interval_s=0.2)
    with exporter(directory, f"--path.procfs={clients.root}", "--nfs.tick=200ms") as url:
        wait_for(lambda: "fss_client_mount_info{" in get(f"{url}/metrics"), "the first tick")
        clients.start()
        try:
            yield url
        finally:
            clients.stop()


def page_with(url: str, *words: str) -> str:
    """The page as soon as it has had a second look at the counters and shows these words."""

    def complete() -> str:
        page = get(url)
        return page if all(word in page for word in ("Means of the last", *words)) else ""

    return wait_for(complete, f"rates and {words} on the page")


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory) -> Look:
    """The page of a busy agent."""
    mounts = (ClientMount("k_mixed", "10.80.1.10", "/export/a"), ClientMount("h_rmrf", "10.80.1.10", HOSTILE))
    with agent(tmp_path_factory.mktemp("agent"), *mounts) as url:
        return looks(page_with(url), tmp_path_factory.mktemp("page"))


def test_a_browser_shows_the_page_as_it_is_meant_and_complains_of_nothing(tmp_path: Path) -> None:
    with agent(tmp_path, ClientMount("k_mixed", "10.80.1.10", "/export/a")) as url:
        page_with(url)
        visited = visit(url)

    text = visible_text(visited.dom)
    assert visited.complaints == []
    assert "OCI File Storage from" in text
    assert "The peak is the busiest second of the last minute" in text
    assert "10.80.1.10" in text
    assert "10.80.1.10:/export/a" in text
    assert "nfs works" in text


def test_a_style_the_policy_does_not_know_would_be_complained_of() -> None:
    """Holds the test above to its word: the same policy over another style sheet."""

    class Refusing(Quiet):
        def get(self) -> None:
            page = "<!doctype html><style>body { color: red }</style>"
            self.answer(page, content_type="text/html", Content_Security_Policy=CONTENT_SECURITY_POLICY)

    with serving(Refusing) as address:
        visited = visit(f"http://{address}/")

    assert any("Content Security Policy" in line for line in visited.complaints)


def test_a_page_whose_exporter_died_says_so_after_forty_seconds(tmp_path: Path) -> None:
    """The page is a file, so that no answer comes. The browser's clock runs ahead of the test."""
    with agent(tmp_path, ClientMount("k_mixed", "10.80.1.10", "/export/a")) as url:
        page = page_with(url)
    left = tmp_path / "left.html"
    left.write_text(page, encoding="utf-8")

    def is_told(seconds: int) -> bool:
        dom = visit(left.as_uri(), patient=True, virtual_seconds=seconds).dom
        return re.search(r'<p[^>]*id="away"[^>]*hidden', dom) is None

    assert [is_told(seconds) for seconds in (30, 60)] == [False, True]


def test_a_page_whose_exporter_died_shows_old_figures_in_grey_and_no_verdict(demo_page: str, tmp_path: Path) -> None:
    seen = """() => {
        const shown = () => ["critical", "warning", "fine"].map(word => {
            const marked = document.querySelector(`#content td .${word}`);
            return marked && getComputedStyle(marked).color;
        }).filter(Boolean);
        const before = new Set(shown());
        document.getElementById("away").hidden = false;
        const verdicts = [...document.querySelectorAll("#content .summary, #content .tag")];
        return [before.size, new Set(shown()).size, verdicts.length, verdicts.filter(one => one.offsetParent).length];
    }"""
    colours, colours_away, verdicts, verdicts_away = measured(demo_page, seen, tmp_path, size=(1280, 900))

    assert colours > 1
    assert verdicts > 1
    assert (colours_away, verdicts_away) == (1, 0)


def test_a_hostile_export_is_seen_as_it_is_spelt(look: Look) -> None:
    title, text = look(DESK)["texts"]

    assert title == f"fss-exporter on {socket.gethostname()}"
    assert "/export/<b>bold</b><script>document.title='owned'</script>&amp;\u202etxt" in text


@pytest.mark.parametrize("size", [PHONE, (768, 1024), DESK], ids=["phone", "tablet", "desk"])
def test_nothing_is_wider_than_the_screen(look: Look, size: tuple[int, int]) -> None:
    assert look(size)["overflow"] == 0


def test_dark_mode_is_dark_and_light_mode_is_light(look: Look) -> None:
    def brightness(colour: str) -> float:
        red, green, blue = (int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))
        return (red + green + blue) / 3

    ground, ink = look(PHONE)["colours"]
    dark_ground, light_ink = look(PHONE, dark=True)["colours"]

    assert brightness(ground) > 220
    assert brightness(ink) < 60
    assert brightness(dark_ground) < 60
    assert brightness(light_ink) > 200


def test_a_bar_is_as_long_as_the_share_it_stands_for(look: Look) -> None:
    bars = look(DESK)["bars"]

    assert bars
    for shown, length in bars:
        figure = shown.removeprefix("at least ").removeprefix("about ").partition(" %")[0]
        share = 0.0 if figure.startswith("<") else float(figure) / 100
        assert length == pytest.approx(min(1.0, share), abs=0.011), shown


@pytest.fixture(scope="module")
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the demo after a poll that judges, and the inventory of its region."""
    with demo(tmp_path_factory.mktemp("demo")) as url:
        wait_for(lambda: _JUDGED.search(get(f"{url}/metrics")), "a state of mt-home")
        return page_with(url, "complete")


@pytest.fixture(scope="module")
def demo_look(demo_page: str, tmp_path_factory: pytest.TempPathFactory) -> Look:
    """What a browser makes of it."""
    return looks(demo_page, tmp_path_factory.mktemp("page"))


def test_the_demo_shows_each_mount_target_against_its_ceilings(demo_look: Look) -> None:
    rows = {row["name"]: row for row in demo_look(DESK)["targets"]}
    iops, read, write, latency = range(4)

    assert set(rows) == {"mt-home", "mt-home-b", "mt-scratch", "mt-media", "mt-idle"}
    assert rows["mt-home"]["tag"] in {"near", "slow"}
    assert rows["mt-idle"]["tag"] in {"fine", "not known"}
    measured_iops, from_oci, from_here = rows["mt-home"]["quantities"][iops]
    assert re.fullmatch(r"4\d,\d{3} of 50,000 [89]\d % measured, \d+ s old", measured_iops)
    assert re.fullmatch(r"about \d\d,\d{3}, estimated from OCI, \d+ s old", from_oci)
    assert "estimated from this host's mounts" in from_here
    assert re.match(r"\d+ MB/s of 1 GB/s [89]\d %", rows["mt-scratch"]["quantities"][read][0])
    assert "no published ceiling" in rows["mt-media"]["quantities"][write][0]
    assert "no published ceiling" in rows["mt-media"]["quantities"][iops][0]
    assert rows["mt-idle"]["quantities"][latency] == [], "no latency while idle, which is not a latency of zero"
    assert re.search(r"\b\d+ of 100,000 connections, <1 %", rows["mt-home"]["rest"])


def test_a_click_on_a_mount_target_shows_the_rest_and_a_new_page_keeps_it_open(demo_page: str, tmp_path: Path) -> None:
    seen = """async () => {
        const shown = () => [...document.querySelectorAll(".rest")].map(rest => rest.offsetParent !== null);
        const before = shown();
        document.querySelector(".target summary").click();
        const after = shown();
        globalThis.fetch = async () => new Response(PAGE);
        await load();
        return [before, after, shown()];
    }""".replace("PAGE", json.dumps(demo_page).replace("</", "<\\/"))
    before, after, reloaded = measured(demo_page, seen, tmp_path, size=DESK)

    assert before == [False] * 5
    assert after == reloaded == [True, *[False] * 4]


def test_the_nearest_to_a_ceiling_is_what_a_person_sees_first(demo_look: Look) -> None:
    names = [row["name"] for row in demo_look(PHONE)["targets"]]

    assert set(names[:2]) == {"mt-home", "mt-scratch"}
    assert names[-1] == "mt-idle"


def test_the_demo_says_that_its_monitoring_is_well(demo_page: str) -> None:
    text = visible_text(demo_page)

    assert "nfs works" in text
    assert "oci works" in text
    assert "eu-frankfurt-1 complete" in text
    assert "The monitoring misses something" not in text


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_nothing_of_the_demo_is_wider_than_the_screen(demo_look: Look, size: tuple[int, int]) -> None:
    assert demo_look(size)["overflow"] == 0
