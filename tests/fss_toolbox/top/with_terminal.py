"""`fss-exporter top` in a real terminal, tmux, at 80, 120 and 240 columns, with and without colour (make test-terminal)."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.local_server import Quiet, serving
from tests.processes import wait_for

ROOT = Path(__file__).parents[3]
PROMPT_S = 60.0
COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3[0-7]|9[0-7]|4[0-7]|10[0-7]|[34]8;)[0-9;]*m")

_TARGETS = {  # name, share of the IOPS ceiling, age of the figure in seconds
    "mt-home": (0.96, 70),
    "mt-scratch-of-a-team-with-a-name-that-is-far-too-long-for-any-terminal": (0.85, 70),
    "mt-media": (0.2, 70),
    "mt-old": (0.5, 1860),
}
_MOUNT = 'network="r",address="10.0.9.9",server="10.0.9.9",export="/export/data",service="oci-fss"'


def _page(scrapes: int) -> str:
    lines = [
        f'fss_client_operations_total{{{_MOUNT},class="metadata_write",operation="REMOVE"}} {scrapes * 1000}',
        f'fss_client_requests_total{{{_MOUNT},class="metadata_write"}} {scrapes * 1000}',
        f'fss_client_estimated_io_operations_total{{{_MOUNT},class="metadata_write"}} {scrapes * 8000}',
    ]
    for name, (share, age) in _TARGETS.items():
        of = f'tenancy="t",region="r",mount_target_id="ocid1.{name}"'
        lines += [
            f'fss_mount_target_info{{{of},mount_target="{name}",network="r",address="10.0.0.{len(name)}",shape="standard",state="ACTIVE"}} 1',
            f"fss_mount_target_iops_limit{{{of}}} 50000",
            f'fss_mount_target_utilisation_ratio{{{of},resource="iops",source="measured",statistic="mean"}} {share}',
            f'fss_mount_target_data_age_seconds{{{of},resource="iops"}} {age}',
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A page whose client counters grow with each scrape."""
    scrapes = iter(range(1_000_000))

    class Page(Quiet):
        def get(self) -> None:
            self.answer(_page(next(scrapes)))

    with serving(Page) as address:
        yield f"http://{address}/metrics"


class Terminal:
    """A tmux session with `top` in it."""

    def __init__(self, socket: Path, width: int, environment: dict[str, str], url: str, before: str) -> None:
        self._tmux = ("tmux", "-S", str(socket))
        self._run("kill-server", check=False)
        command = f"{before} {sys.executable} -m fss_exporter top --url {url} 1; echo ended with $?; sleep 600"
        variables = [f"-e{name}={value}" for name, value in environment.items()]
        size = ("-x", str(width), "-y", "20")
        self._run("-f/dev/null", "new-session", "-d", *variables, *size, command)

    def _run(self, *arguments: str, check: bool = True) -> str:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(ROOT / "exporter"), str(ROOT / "toolbox"))),
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
        }
        environment.pop("NO_COLOR", None)
        done = subprocess.run(
            (*self._tmux, *arguments), capture_output=True, text=True, check=check, env=environment, timeout=PROMPT_S
        )
        return done.stdout

    def screen(self, *, with_escapes: bool = False) -> str:
        """What the terminal shows now."""
        return self._run("capture-pane", "-p", *(("-e",) if with_escapes else ()))

    def press(self, *keys: str) -> None:
        """Press keys."""
        self._run("send-keys", *keys)

    def until(self, text: str) -> str:
        """Wait until the terminal shows a text, and stands still: two looks in a row are the same, so none is half drawn."""
        shown = ""

        def stands_still() -> bool:
            nonlocal shown
            before, shown = shown, self.screen()
            return text in shown and shown == before

        wait_for(stands_still, repr(text), PROMPT_S)
        return shown

    def close(self) -> None:
        """End the session."""
        self._run("kill-server", check=False)


@pytest.fixture
def terminal(tmp_path: Path, url: str) -> Iterator[Callable[..., Terminal]]:
    """Start `top` in a terminal of a width."""
    opened: list[Terminal] = []

    def start(width: int, *, before: str = "", **environment: str) -> Terminal:
        opened.append(Terminal(tmp_path / f"tmux{len(opened)}", width, environment, url, before))
        return opened[-1]

    yield start
    for screen in opened:
        screen.close()


@pytest.mark.parametrize("width", [80, 120, 240])
def test_every_width_shows_bar_share_source_and_age(terminal: Callable[..., Terminal], width: int) -> None:
    shown = terminal(width).until("10.0.9.9")
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert "█" in lines["mt-home"]
    assert "96 % of IOPS" in lines["mt-home"]
    assert "measured, 70 s" in lines["mt-home"]
    assert "last 50 % of IOPS" in lines["mt-old"]
    assert re.search(rf"{'≥' if width == 80 else 'at least'} [\d.]+ % of IOPS", lines["10.0.9.9"])
    assert max(map(len, shown.splitlines())) <= width
    long_name = next(line for name, line in lines.items() if name.startswith("mt-scr"))
    assert ("…" in long_name) == (width < 240), "a name of less than half a line stays whole"


def test_without_colour_no_colour_is_sent_and_the_words_stay(terminal: Callable[..., Terminal]) -> None:
    plain, coloured = terminal(120, NO_COLOR="1"), terminal(120)
    assert "96 % of IOPS" in plain.until("at least")
    assert COLOUR.findall(plain.screen(with_escapes=True)) == []
    coloured.until("at least")
    assert COLOUR.findall(coloured.screen(with_escapes=True)) != []


def test_keys_drill_sort_pause_and_quit(terminal: Callable[..., Terminal]) -> None:
    session = terminal(120)
    session.until("10.0.9.9")
    session.press("/")
    session.until("part of a name")
    session.press(*"10.0.9", "Enter")
    session.until("filter: 10.0.9")
    session.until("s Sort")
    session.press("Enter")
    session.until("/export/data")
    session.press("3")
    session.until("REMOVE")
    session.press("p")
    session.until("PAUSED")
    session.press("Escape")
    session.until("mt-media")
    session.press("q")
    assert "ended with 0" in session.until("ended with")


def test_a_smaller_terminal_is_drawn_again(terminal: Callable[..., Terminal]) -> None:
    session = terminal(200)
    column = re.compile(r"\bcoverage\b")
    wait_for(lambda: column.search(session.screen()), "all columns", PROMPT_S)
    session._run("resize-window", "-x", "80", "-y", "20")
    wait_for(
        lambda: not column.search(shown := session.screen()) and "96 % of IOPS" in shown, "fewer columns", PROMPT_S
    )


@pytest.mark.parametrize("before", ["", "trap '' HUP;"], ids=["SIGHUP ends it", "SIGHUP is ignored, as under nohup"])
def test_it_ends_when_its_terminal_is_gone(terminal: Callable[..., Terminal], before: str) -> None:
    session = terminal(80, before=before)
    session.until("10.0.9.9")
    pane = session._run("list-panes", "-F", "#{pane_pid}").strip()
    (top,) = subprocess.run(("pgrep", "-P", pane), capture_output=True, text=True, check=True).stdout.split()
    server = session._run("display-message", "-p", "#{pid}").strip()
    os.kill(int(server), signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{top}").exists(), "the end of top", PROMPT_S)
