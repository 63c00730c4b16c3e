"""The agent as a user runs it: recorded clients, the real command, a real prometheus."""

import subprocess
from pathlib import Path

import pytest
from tests.processes import exporter, get, prometheus, require, wait_for
from tests.recordings import load_all

from fss_toolbox.demo.recorded_clients import ClientMount, Clients

SCRAPE = """
scrape_configs:
- job_name: fss
  scrape_interval: 1s
  static_configs: [{{targets: ['{target}']}}]
"""


def test_prometheus_sees_the_iops_that_the_recorded_client_caused(tmp_path: Path) -> None:
    """1 MiB random reads cost what the packets of the recording say, whichever seconds the query looks at."""
    (recording,) = (recording for recording in load_all() if recording.name == "c_randread_1m")
    clients = Clients(tmp_path / "proc", (ClientMount("c_randread_1m", "10.80.2.20", "/export/a"),), interval_s=0.2)
    with (
        exporter(tmp_path / "exporter", f"--path.procfs={clients.root}", "--nfs.tick=200ms") as url,
        prometheus(SCRAPE.format(target=url.removeprefix("http://")), tmp_path / "prometheus") as server,
    ):
        wait_for(lambda: server.value('up{job="fss"}') == 1, "the first scrape")
        clients.start()
        try:
            cost = "sum(rate(fss_client_estimated_io_operations_total[5s]))"
            reads = 'sum(rate(fss_client_operations_total{operation="READ"}[5s]))'
            wait_for(lambda: (server.value(reads) or 0) > 100, "reads to be seen")
            ratio = wait_for(lambda: server.value(f"{cost} / {reads}"), "the cost of a READ")
            bounds = (
                "min(rate(fss_client_estimated_io_operations_lower_bound_total[5s])"
                " <= rate(fss_client_estimated_io_operations_total[5s])"
                " <= rate(fss_client_estimated_io_operations_upper_bound_total[5s])) >= 0"
            )
            wait_for(lambda: server.query(bounds), "the cost within its bounds")
        finally:
            clients.stop()
    expected = recording.truth["read_cost_requested"] / recording.truth["read_n"]
    assert ratio == pytest.approx(expected, rel=0.01)


def test_promtool_accepts_everything_the_running_exporter_says(tmp_path: Path) -> None:
    clients = Clients(tmp_path / "proc")
    with exporter(tmp_path, f"--path.procfs={clients.root}") as url:
        text = get(f"{url}/metrics")
    lint = subprocess.run(
        [require("promtool", "prometheus"), "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )

    assert (lint.returncode, lint.stdout, lint.stderr) == (0, "", "")
    assert "_created" not in text


def test_an_agent_without_files_stays_up_and_says_so(tmp_path: Path) -> None:
    with exporter(tmp_path, f"--path.procfs={tmp_path}") as url:
        text = get(f"{url}/metrics")

    assert 'fss_collector_success{collector="nfs"} 0.0' in text
    assert "fss_client_operations_total{" not in text
    assert "mount the host's /proc" in (tmp_path / "exporter.log").read_text()
