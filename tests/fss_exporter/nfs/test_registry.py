"""The agent's metrics in a registry of `prometheus_client`: the exporter's own, and that of another program."""

import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import REGISTRY
from tests.exposition_text import collected
from tests.fss_exporter.nfs.records import mountinfo, mountstats, write_procfs
from tests.fss_exporter.web.collected import check_scrape
from tests.processes import free_port, get, wait_for

from fss_exporter.cli.serve import ServeFlags, components_of
from fss_exporter.nfs.collector import NfsCollector

PAGE = Path(__file__).parents[3] / "docs" / "collecting.md"


@pytest.fixture
def procfs(tmp_path: Path) -> Path:
    names = {"device": "10.0.0.3:/a", "mount_point": '/mnt/"a"\\040b'}
    return write_procfs(tmp_path, mountstats({"READ": 7}, **names), mountinfo(**names))  # type: ignore[arg-type]


def test_a_scrape_of_an_agent_is_what_the_library_writes_of_the_same_collection(procfs: Path) -> None:
    components = components_of(ServeFlags(procfs=procfs, network="lab", network_bandwidth=1e9))
    for part in components:
        for loop in part.loops:
            loop.run_once()

    text = check_scrape(components)

    assert 'fss_client_operations_total{address="10.0.0.3",' in text
    assert "process_cpu_seconds_total" in text
    assert "python_info" not in text


def test_a_registry_knows_the_names_of_the_collector_and_collects_nothing_for_them(procfs: Path) -> None:
    with NfsCollector.of_host(procfs) as collector:
        described = {made.name for made in collector.describe()}
        assert {made.name for made in collected(collector)} <= described
        assert not [made for made in collector.describe() if made.samples]
    registry = CollectorRegistry(auto_describe=True)
    registry.register(NfsCollector.of_host(procfs / "absent"))
    assert registry.get_sample_value("fss_nfs_ticks_total") == 0


def test_the_collector_reads_inside_of_its_block_only(procfs: Path) -> None:
    collector = NfsCollector.of_host(procfs, interval_s=0.01)
    registry = CollectorRegistry()
    registry.register(collector)

    def ticks() -> float:
        return registry.get_sample_value("fss_nfs_ticks_total") or 0.0

    assert ticks() == 0
    with collector:
        first = ticks()
        wait_for(lambda: ticks() > first >= 1, "a second tick")
    assert "fss_client_operations_total" in generate_latest(registry).decode()
    assert not collector._ticker.loop._thread.is_alive()


def test_the_program_of_the_page_serves_the_metrics_of_its_host(procfs: Path) -> None:
    (program,) = re.findall(r"```python\n(# nfs_metrics\.py\n.*?)```", PAGE.read_text(), re.DOTALL)
    port = free_port()
    text = program.replace("of_host(", f"of_host(__import__('pathlib').Path({str(procfs)!r}), ").replace(
        "9400", str(port)
    )
    assert text.count(str(port)) == text.count(str(procfs)) == 1
    seen: list[str] = []

    def answers() -> bool:
        with suppress(OSError):
            seen.append(get(f"http://127.0.0.1:{port}/metrics"))
        return bool(seen)

    with subprocess.Popen([sys.executable, "-c", text]) as process:
        try:
            wait_for(answers, "an answer")
        finally:
            process.terminate()
    assert 'fss_client_mount_info{address="10.0.0.3",' in seen[0]
    assert 'network="eu-frankfurt-1"' in seen[0]
    assert set(generate_latest(REGISTRY).decode().split()) & set(seen[0].split()), (
        "the registry has other collectors too"
    )
