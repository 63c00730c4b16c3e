"""docs/install.md and docs/scaling.md: every configuration they show is loaded by the program it is for."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.processes import exporter, get, wait_for
from tools.generate import call_budget, series_lists

from fss_exporter.cli.serve import serve
from fss_exporter.oci.publish.published_metrics import POLLER_METRICS, STATE
from fss_exporter.settings import load
from fss_toolbox.cli.assets import write
from fss_toolbox.demo.recorded_clients import ClientMount, Clients

ROOT = Path(__file__).parents[2]
SCALING = (ROOT / "docs/scaling.md").read_text()
PAGES = (ROOT / "docs/install.md").read_text() + SCALING
PACK = "/etc/fss-exporter/pack"


def blocks(language: str) -> dict[str, str]:
    """Fenced blocks of both pages, by the file name in their first line."""
    matches = re.findall(rf"^```{language}\n(.*?)^```", PAGES, flags=re.DOTALL | re.MULTILINE)
    named = {block.partition("\n")[0].removeprefix("# "): block for block in matches}
    assert len(named) == len(matches)
    return named


YAML = blocks("yaml")
EXPORTERS = sorted(name for name in YAML if name.startswith("fss-exporter"))
ALONE = "fss-exporter-large.yml"  # the configuration of a poller that needs nearly all calls of its tenancy
SERVERS = sorted(name for name in YAML if name.startswith("prometheus"))


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def server_file(name: str, folder: Path) -> Path:
    """A Prometheus configuration of the pages, with the shipped files where it says they are."""
    write(folder / "pack")
    path = folder / name
    path.write_text(YAML[name].replace(PACK, str(folder / "pack")))
    return path


def test_every_block_is_for_a_program_the_tests_know() -> None:
    assert set(EXPORTERS) | set(SERVERS) == YAML.keys()
    assert ALONE in EXPORTERS
    assert "prometheus-cell.yml" in SERVERS


@pytest.mark.parametrize("name", EXPORTERS)
def test_the_exporter_takes_the_configuration(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(YAML[name])
    oci = load(tmp_path / name).oci
    assert "instance_principal" in {oci.auth, *(account.auth for account in oci.accounts)}


@pytest.mark.parametrize("name", SERVERS)
def test_prometheus_takes_the_configuration(name: str, tmp_path: Path) -> None:
    done = run("promtool", "check", "config", server_file(name, tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_two_pollers_together_stay_within_the_tenancys_budget() -> None:
    """10 calls a second is what OCI allows a tenancy (Monitoring API, SummarizeMetricsData)."""
    per_poller = [yaml.safe_load(YAML[name])["oci"]["calls_per_second"] for name in EXPORTERS if name != ALONE]
    assert max(per_poller) * 2 <= 8
    assert "`calls_per_second: 4` leaves a fifth of the 10" in SCALING


def test_the_calls_of_the_page_are_those_of_the_metric_table() -> None:
    assert call_budget.with_calls(SCALING) == SCALING, "run: make generated"


def test_every_text_counts_the_posted_points_of_a_mount_target_alike() -> None:
    a_minute = len({*POLLER_METRICS, STATE})
    a_month = a_minute * 60 * 24 * 30
    example = re.sub(r"\n +# ", " ", (ROOT / "deploy/fss-exporter.example.yml").read_text())
    told = f"about {round(a_month, -5):,}"
    (publish,) = (option for option in serve.params if option.name == "publish")

    assert f"at most {a_minute} points a minute" in (ROOT / "mql/README.md").read_text()
    assert f"at most {a_minute} points a minute for each mount target, {told} a month" in example
    assert f"{told} points a month for each mount target" in str(publish.to_info_dict()["help"])
    assert f"{a_month / 1e6:.2f} million posted" in SCALING


def test_ten_thousand_mount_targets_fit_into_the_calls_of_a_tenancy_with_the_intervals_of_the_page(
    tmp_path: Path,
) -> None:
    path = tmp_path / "large.yml"
    path.write_text(YAML[ALONE])
    given = load(path).oci
    assert call_budget.calls_a_minute(given) / 60 < given.calls_per_second < call_budget.OF_THE_TENANCY


def test_the_series_of_a_client_are_counted_on_a_scrape(tmp_path: Path) -> None:
    """5 series of each target are Prometheus' own: `up` and the four that begin with `scrape_`."""
    clients = Clients(tmp_path / "proc", (ClientMount("c_randread_1m", "10.80.2.20", "/export/a"),))
    with exporter(tmp_path, f"--path.procfs={clients.root}") as url:
        wait_for(lambda: "fss_nfs_tick_interval_seconds " in get(f"{url}/metrics"), "the second tick")
        lines = [line for line in get(f"{url}/metrics").splitlines() if not line.startswith("#")]
    of_mount = sum("export=" in line for line in lines)
    of_address = sum("address=" in line for line in lines) - of_mount
    of_agent = len(lines) - of_mount - of_address

    each = len(lines) + 5
    parts = f"{of_mount} of the mount, {of_address} of the address, {of_agent} of the agent and 5 of Prometheus"
    assert f"A client with one NFSv3 mount has {each} series. These are {parts}" in SCALING
    for count in (1_000, 10_000, 100_000):
        assert f"| {count:,} | {count * each:,} | {round(count * each / 60):,} |" in SCALING


def test_a_cell_forwards_what_only_it_can_record_and_what_the_centre_needs_raw() -> None:
    needed = series_lists.forwarded()
    (write_to,) = yaml.safe_load(YAML["prometheus-cell.yml"])["remote_write"]
    (relabel,) = write_to["write_relabel_configs"]
    assert (relabel["action"], relabel["source_labels"]) == ("keep", ["__name__"])
    assert set(relabel["regex"].split("|")) == needed, "run: make generated"
    assert {"up", "fss_exporter_build_info", "address:fss_client_estimated_iops:rate5m"} <= needed
    assert {"process_start_time_seconds", "client_class:fss_client_late_requests:ratio_rate1h"} <= needed
    assert not {name for name in needed if name.startswith("mount_target:")}


def test_mimirs_ruler_takes_all_rules_with_its_default_limits() -> None:
    """`ruler.max-rules-per-rule-group` and `ruler.max-rule-groups-per-tenant`, as Mimir 3 has them."""
    groups = [group for path in (ROOT / "rules").glob("*.yml") for group in yaml.safe_load(path.read_text())["groups"]]
    assert [group["name"] for group in groups if len(group["rules"]) > 20] == []
    assert len(groups) <= 70
    assert "its defaults of 20 rules a group and 70 groups a tenant" in " ".join(SCALING.split())


def test_the_centre_adds_the_cells_up() -> None:
    """Evaluated by promtool over the shipped rules: sums over two cells, and no rule that the cells' label breaks."""
    done = run("promtool", "test", "rules", Path(__file__).with_name("cells_test.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_scrape_job_may_drop_exactly_the_series_that_nothing_reads() -> None:
    (job,) = yaml.safe_load(YAML["prometheus-lean.yml"])["scrape_configs"]
    (relabel,) = job["metric_relabel_configs"]
    dropped = set(relabel["regex"].split("|"))
    assert dropped == series_lists.unread(), "run: make generated"
    assert "fss_client_errors_total" in dropped
    assert not dropped & {"fss_client_read_bytes_total", "fss_mount_target_info", "fss_mount_target_state"}
