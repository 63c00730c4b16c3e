"""Each background loop and each collector with each fault: metric, log, health, status page and `doctor` tell of it.

The rows come from the source text: a new loop without a row here fails.
"""

import ast
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from tests.exposition_text import collected, written
from tests.fss_exporter.web.serving import serving
from tests.processes import PATIENCE_S, wait_for
from tests.prompt import ROOT

import fss_exporter
import fss_kernel_counting
import fss_toolbox
from fss_exporter.background import Worker, stalled_loops
from fss_exporter.catalogue import family
from fss_exporter.cli import client_publishing
from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.cli.serve import ServeFlags, components_of
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.settings import load
from fss_exporter.web.application import Reloading, build
from fss_exporter.web.collecting import Collectors, Turns
from fss_exporter.web.messages import Response
from fss_exporter.web.scrapes import Scrapes
from fss_exporter.web.status.view import StatusView
from fss_exporter.web.web_config_reload import WebConfigReload
from fss_toolbox.doctor.running_exporter import check_running

LATER_S = 10 * 60 * 60.0  # each loop has missed ten intervals by then


def of_agent(folder: Path) -> Iterable[Worker]:
    agent = NfsAgent(NfsFlags(procfs=folder, exact="auto", processes=10, metadata_url=""))
    assert all(isinstance(loop, Worker) for loop in agent.loops)
    return (loop for loop in agent.loops if isinstance(loop, Worker))


def of_poller(folder: Path) -> Iterable[Worker]:
    settings = load(None, {"oci.publish": True, "oci.standby": True, "oci.ledger_directory": str(folder)})
    return Poller(lambda: settings).loops


def of_web_config(folder: Path) -> Iterable[Worker]:
    (folder / "web.yml").write_text("{}")
    return (WebConfigReload(folder / "web.yml").loop,)


def of_client_publishing(_: Path) -> Iterable[Worker]:
    settings = load(None, {"oci.publish": True})
    return (client_publishing.ClientPublishing(lambda: settings, dict).loop,)


LOOPS: dict[str, Callable[[Path], Iterable[Worker]]] = {
    **dict.fromkeys(("nfs", "nfs_exact", "nfs_latency", "nfs_processes"), of_agent),
    **dict.fromkeys(("oci", "oci_inventory", "oci_lease", "oci_ledger", "oci_publish"), of_poller),
    "web_config": of_web_config,
    "client_publish": of_client_publishing,
}
OF_THE_DEMO = {"demo_clients", "demo_first_poll", "demo_server_meter"}
ENDS_WITH_AN_ANSWER = {"instance_metadata"}  # the end of the loop is its success, so that no heartbeat is read


def test_every_loop_of_the_source_text_has_a_row() -> None:
    names = set()
    roots = [
        Path(folder) for package in (fss_exporter, fss_kernel_counting, fss_toolbox) for folder in package.__path__
    ]
    for path in (path for root in roots for path in root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Worker":
                (name, *_) = node.args
                text = name.values[0] if isinstance(name, ast.JoinedStr) else name  # the account may follow the name
                assert isinstance(text, ast.Constant), f"{path}: the name of a loop is a plain text"
                names.add(text.value)

    assert names - OF_THE_DEMO - ENDS_WITH_AN_ANSWER == LOOPS.keys()


FAULTS: dict[str, Callable[[threading.Event], object]] = {
    "exception": lambda _: 1 / 0,
    "memory": lambda _: (_ for _ in ()).throw(MemoryError("no memory")),
    "exit": lambda _: (_ for _ in ()).throw(SystemExit("a library ends the process")),
    "hang": lambda go: go.wait(PATIENCE_S),
}


@contextmanager
def served(collectors: Collectors, stalled: Callable[[], tuple[str, ...]], turns: Turns) -> Iterator[str]:
    """URL of an exporter with these collectors."""
    registry = CollectorRegistry(support_collectors_without_names=True)
    registry.register(collectors)
    page = StatusView(lambda: turns.collect(registry))
    application = build(
        telemetry_path="/metrics",
        scrapes=Scrapes(registry, turns),
        page=lambda request: Response(200, page.html(request.query).encode()),
        waiting_for=tuple,
        stalled=stalled,
        reload=Reloading(()),
    )
    with serving(application) as running:
        yield f"http://127.0.0.1:{running.port}"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", LOOPS)
def test_a_fault_of_a_loop_is_told_everywhere_and_the_loop_lives(
    name: str, fault: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (loop,) = (worker for worker in LOOPS[name](tmp_path) if worker.collector == name)
    go, begun = threading.Event(), threading.Event()

    def broken() -> None:
        begun.set()
        FAULTS[fault](go)

    monkeypatch.setattr(loop, "_run_round", broken)
    collectors = Collectors({}, (loop,), lambda: time.monotonic() + LATER_S)
    loop.start()
    try:
        assert begun.wait(PATIENCE_S)
        if fault != "hang":
            wait_for(lambda: loop.heartbeat.errors, "the guard")

        def stalled() -> tuple[str, ...]:
            return stalled_loops((loop,), time.monotonic() + LATER_S)

        with served(collectors, stalled, Turns()) as url:
            messages = {finding.subject: finding.message for finding in check_running(f"{url}/metrics")}

        assert f'fss_collector_success{{collector="{name}"}} 0.0' in written(collectors.collect())
        page = StatusView(lambda: collected(collectors)).html()
        assert (
            f"<strong>{name}</strong> fails or is stalled, and the log has the reason (no success since the start)"
            in page
        )
        assert "no success yet" in messages[name]
        assert f"loop {name} is stalled" in messages[f"{url}/-/healthy"]
        assert f"loop {name} is stalled" in caplog.text
        if fault != "hang":
            assert f"{name}: unexpected error" in caplog.text

        monkeypatch.setattr(loop, "_run_round", lambda: None)
        go.set()
        loop.wake()
        wait_for(lambda: loop.heartbeat.success, "a good round")
    finally:
        go.set()
        loop.stop()


@pytest.mark.parametrize("fault", ["exception", "memory", "exit"])
def test_a_fault_of_a_collector_costs_its_own_families_and_is_told(
    fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    def failing() -> Iterator[Metric]:
        FAULTS[fault](threading.Event())
        yield family("fss_nfs_superblocks_unread", (((), 1.0),))

    def sound() -> Iterator[Metric]:
        yield family("fss_nfs_ticks_total", (((), 7.0),))

    sources = {
        name: SimpleNamespace(success=True, duration_seconds=0.0, collect=collect)
        for name, collect in (("nfs", failing), ("oci", sound))
    }

    scrape = written(Collectors(sources).collect())

    assert "fss_nfs_ticks_total 7.0" in scrape
    assert "fss_nfs_superblocks_unread" not in scrape
    assert 'fss_collector_success{collector="nfs"} 0.0' in scrape
    assert 'fss_collector_success{collector="oci"} 1.0' in scrape
    assert "collector nfs failed" in caplog.text


@pytest.mark.parametrize("fault", ["exception", "memory", "exit"])
def test_a_fault_of_each_collector_of_an_agent_costs_the_others_nothing(fault: str) -> None:
    """The collectors come from the wiring of `serve`, so that a new one is tried too."""
    flags = ServeFlags(procfs=ROOT / "tests/fixtures/procfs/first", exact="auto", processes=10, metadata_url="")
    components = components_of(flags)
    for loop in (loop for part in components for loop in part.loops):
        assert isinstance(loop, Worker)
        loop.run_once()
    sources = {part.name: part.source for part in components if part.source is not None}
    assert sources.keys() == {"nfs", "nfs_exact", "nfs_latency", "nfs_processes"}
    families = {name: {made.name for made in collected(source)} for name, source in sources.items()}
    assert all(families.values())

    for broken in sources:
        failing = SimpleNamespace(success=True, duration_seconds=0.0, collect=lambda: FAULTS[fault](threading.Event()))
        together = {made.name for made in collected(Collectors({**sources, broken: failing}))}
        of_the_others = set().union(*(own for name, own in families.items() if name != broken))
        assert of_the_others <= together
        assert not (families[broken] - of_the_others) & together


def test_a_collector_that_hangs_makes_healthy_fail() -> None:
    go, begun, now = threading.Event(), threading.Event(), [0.0]

    def hangs() -> Iterator[Metric]:
        begun.set()
        assert go.wait(PATIENCE_S)
        yield family("fss_nfs_ticks_total", (((), 7.0),))

    turns = Turns(lambda: now[0])
    collectors = Collectors({"nfs": SimpleNamespace(success=True, duration_seconds=0.0, collect=hangs)})
    scraping = threading.Thread(target=turns.collect, args=(collectors,))
    scraping.start()
    assert begun.wait(PATIENCE_S)
    assert turns.stalled() == ()

    now[0] = 11.0
    assert turns.stalled() == ("a scrape hangs for 11 s",)

    go.set()
    scraping.join()
    assert turns.stalled() == ()
