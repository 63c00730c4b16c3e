"""Sources of `top`: a host, the page of an exporter, and a Prometheus with and without a living poller."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import promql_parser
import pytest
from tests.artefacts.promql import Names, selectors
from tests.fss_kernel_counting.processes.busy_host import HERE, BusyHost

from fss_exporter.addresses import NO_ADDRESSES
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.knowledge import FigureSource
from fss_exporter.model.state import State
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.web.status.rows import MountTargetRow, Quantity
from fss_kernel_counting.tracefs import OF_COMMAND
from fss_toolbox.ceilings import judge
from fss_toolbox.plan.prometheus_api import Prometheus
from fss_toolbox.printed_states import sentence
from fss_toolbox.top.host_source import HostProcesses, HostSource
from fss_toolbox.top.page_source import PageSource
from fss_toolbox.top.picture import Parts, Picture, shown_target
from fss_toolbox.top.prometheus_source import PrometheusSource
from fss_toolbox.top.refresher import Latest
from fss_toolbox.top.top_table import headline
from fss_toolbox.top.top_view import View

PROCFS = Path(__file__).parents[2] / "fixtures" / "procfs"
JUDGE = judge("standard", None)
MOUNT = 'network="r",address="10.0.0.2",server="10.0.0.2",export="/a",service="oci-fss"'
TARGET = 'tenancy="t",region="r",mount_target_id="ocid1.mt.a",mount_target="mt-a",network="r",address="10.0.0.2",shape="standard",state="ACTIVE"'


class Refusing:
    """A kernel that does not count by process."""

    def open(self) -> None:
        raise UsageError("tracefs cannot be written: run as root")

    def close(self) -> None:
        raise AssertionError("nothing was opened")


def host(folder: Callable[[], Path], counting: Any = None) -> HostSource:
    def read() -> Any:
        return Procfs(folder(), "1", NO_ADDRESSES, JUDGE.mounts.services).read()

    kernel: Any = counting or Refusing()
    return HostSource(read, JUDGE, 0.0, kernel, JUDGE.mounts.overrides)


def test_mounts_whose_counters_cannot_be_read_are_a_failure_and_no_host_without_mounts(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1/mountinfo").write_bytes((PROCFS / "first/1/mountinfo").read_bytes())
    (tmp_path / "1/mountstats").write_text("")
    source = host(lambda: tmp_path)
    assert source.read() is None
    with pytest.raises(SourceError, match="NFS mounts without readable counters: 6"):
        source.read()


def test_a_picture_says_which_mounts_it_leaves_out(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1/mountinfo").write_bytes((PROCFS / name / "1/mountinfo").read_bytes())
        whole = (PROCFS / name / "1/mountstats").read_text()
        without_tls = whole[: whole.index("device 192.168.255.2:/export/secret")]
        (tmp_path / name / "1/mountstats").write_text(without_tls)
    folders = iter((tmp_path / "first", tmp_path / "second"))
    source = host(folders.__next__)
    assert source.read() is None
    picture = source.read()
    assert picture is not None
    assert picture.targets
    assert picture.gaps[-1].endswith("NFS mounts without readable counters: 1")


def test_a_host_shows_its_load_with_its_bounds() -> None:
    folders = iter((PROCFS / "first", PROCFS / "second"))
    source = host(folders.__next__)
    assert source.read() is None
    picture = source.read()
    assert picture is not None
    busiest = max(
        picture.targets, key=lambda target: (shown_target(target).fullest or SimpleNamespace(value=0.0)).value
    )
    usage = shown_target(busiest).fullest
    assert usage is not None
    assert usage.figure.source is FigureSource.HOST
    assert usage.figure.bounds is not None
    mounts = source.parts(busiest, "mounts")
    assert mounts.rows
    operations = source.parts(busiest, "operations")
    assert sum(part.iops.point for part in operations.rows if part.iops) == pytest.approx(
        sum(part.iops.point for part in mounts.rows if part.iops)
    )
    assert "only this client is seen" in source.parts(busiest, "clients").remark


def test_a_host_that_cannot_count_by_process_says_why_and_leaves_nothing_to_close() -> None:
    source = host(lambda: PROCFS / "first")
    source.read()
    picture = source.read()
    assert picture is not None
    assert "run as root" in source.parts(picture.targets[0], "processes").remark
    source.close()


def test_a_process_is_counted_by_the_time_since_the_kernel_counts(tmp_path: Path) -> None:
    """Counting begins 50 seconds into an interval of a minute."""
    client = BusyHost(tmp_path, names=OF_COMMAND)
    client.process(7, "tar")
    processes = HostProcesses(client.counting, clock=lambda: client.now)
    client.now = 50.0
    assert "counting from now on" in processes.parts(HERE, client.reading()).remark
    for _ in range(20):
        client.call(7, "tar", "GETATTR")
    client.now = 60.0
    processes.read(client.reading())
    processes.end_interval(client.reading())
    (tar,) = processes.parts(HERE, client.reading()).rows
    assert (tar.name, tar.operations, tar.iops) == ("tar", 2.0, (2.0, 2.0, 2.0))


def test_a_process_on_storage_without_a_cost_model_has_no_iops(tmp_path: Path) -> None:
    client = BusyHost(tmp_path, names=OF_COMMAND, fstype="nfs4")
    client.process(7, "tar")
    processes = HostProcesses(client.counting, clock=lambda: client.now)
    processes.parts(HERE, client.reading())
    client.read(7, "tar", 1024)
    client.call(7, "tar", "READ", version=4)
    client.now = 2.0
    processes.read(client.reading())
    processes.end_interval(client.reading())
    (tar,) = processes.parts(HERE, client.reading()).rows
    assert (tar.name, tar.operations, tar.iops) == ("tar", 0.5, None)
    process = 'network="r",address="10.0.0.2",process="tar",pod_namespace="",pod_name="",unit=""'
    source = page(
        scrape(1000 * at) + f"fss_client_process_operations_total{{{process}}} {10 * at}\n" for at in range(2)
    )
    source.read()
    (target,) = source.read().targets
    (unpriced,) = [part for part in source.parts(target, "processes").rows if part.name == "tar"]
    assert (unpriced.operations, unpriced.iops) == (1.0, None)


def page(texts: Iterator[str]) -> PageSource:
    times = iter(range(0, 1000, 10))
    return PageSource(texts.__next__, "http://host", JUDGE, 5.0, clock=lambda: float(next(times)))


def scrape(operations: int, iops: int = 0) -> str:
    return (
        f'fss_client_operations_total{{{MOUNT},class="metadata_write",operation="REMOVE"}} {operations}\n'
        f'fss_client_requests_total{{{MOUNT},class="metadata_write"}} {operations}\n'
        f'fss_client_estimated_io_operations_total{{{MOUNT},class="metadata_write"}} {8 * operations}\n'
        f'fss_client_process_io_operations_total{{network="r",address="10.0.0.2",process="rm",pod_namespace="",pod_name="",unit="cron.service"}} {8 * operations}\n'
        + (
            f"fss_mount_target_info{{{TARGET}}} 1\n"
            'fss_mount_target_iops_limit{tenancy="t",region="r",mount_target_id="ocid1.mt.a"} 50000\n'
            f'fss_mount_target_iops{{tenancy="t",region="r",mount_target_id="ocid1.mt.a"}} {iops}\n'
            'fss_oci_datapoint_age_seconds{tenancy="t",region="r",oci_metric="MountTargetIOPS"} 70\n'
            if iops
            else ""
        )
    )


def test_a_page_of_an_agent_shows_a_part_of_the_load_and_its_processes() -> None:
    source = page(iter((scrape(0), scrape(1000))))
    assert source.read().targets == ()
    (target,) = source.read().targets
    usage = shown_target(target).fullest
    assert usage is not None
    assert (usage.value, usage.figure.word, usage.state) == (800.0, "at least", State.NOT_KNOWN)
    (process,) = source.parts(target, "processes").rows
    assert (process.name, process.detail, process.iops and process.iops.point) == ("rm", "cron.service", 800.0)
    (client,) = source.parts(target, "clients").rows
    assert client.name == "http://host"


def test_a_page_with_a_poller_has_the_whole_load_and_the_coverage_of_the_client() -> None:
    source = page(iter((scrape(0, 45_000), scrape(1000, 45_000))))
    source.read()
    (target,) = source.read().targets
    usage = shown_target(target).fullest
    assert usage is not None
    assert (usage.figure.source, usage.ratio) == (FigureSource.MEASURED, 0.9)
    assert [reading.figure.coverage for reading in target.of(Quantity.IOPS)] == [None, pytest.approx(800 / 45_000)]


def test_the_mounts_of_a_host_are_not_those_of_the_same_address_in_another_network() -> None:
    other = TARGET.replace('network="r"', 'network="q"').replace("mt.a", "mt.b").replace("mt-a", "mt-b")
    source = page(scrape(1000 * at, 100) + f"fss_mount_target_info{{{other}}} 1\n" for at in range(2))
    source.read()
    rows = {row.name: row for row in source.read().targets}
    for kind in ("mounts", "processes"):
        assert source.parts(rows["mt-a"], kind).rows
        assert source.parts(rows["mt-b"], kind) == Parts(remark="this client has no mount of this mount target")


def test_counters_that_an_agent_cannot_read_are_no_load_of_zero() -> None:
    failing = 'fss_collector_success{collector="nfs"} 0\n'
    again = scrape(7000)  # with the load of the whole time without a reading
    source = page(iter((scrape(1000), scrape(1000) + failing, again, again)))
    source.read()
    for _ in range(2):
        picture = source.read()
        assert "could not read the NFS counters" in picture.remarks[0]
        assert picture.targets == ()
    assert source.read().remarks == ()


def test_a_restart_of_the_exporter_is_no_rate() -> None:
    source = page(iter((scrape(1000), scrape(10), scrape(110))))
    source.read()
    assert "restarted" in source.read().remarks[0]
    (target,) = source.read().targets
    assert (shown_target(target).fullest or SimpleNamespace(value=None)).value == 80.0


def test_latencies_of_a_poller_are_read_and_the_rest_about_file_systems_is_not() -> None:
    of = 'tenancy="t",region="r",mount_target_id="ocid1.mt.a"'
    text = scrape(0, 100) + (
        f'fss_mount_target_latency_objective_ratio{{{of},kind="read",file_system="fs",size="0B_to_8KiB"}} 0.9\n'
        f'fss_mount_target_latency_objective_seconds{{{of},kind="read",size="0B_to_8KiB"}} 0.010\n'
        'fss_oci_datapoint_age_seconds{tenancy="t",region="r",oci_metric="FileSystemReadAverageLatencybySize"} 70\n'
        "fss_file_system_used_bytes{this line would not be parsed\n"
    )
    (target,) = page(iter((text,))).read().targets
    (latency,) = target.of(Quantity.LATENCY)
    assert latency.ratio == pytest.approx(0.9)


@pytest.mark.parametrize("text", ["<html>", "", "up 1\n"])
def test_another_page_than_the_exporters_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="http://host"):
        page(iter((text,))).read()


def test_a_page_of_another_version_is_refused_with_a_reason() -> None:
    of = 'tenancy="t",region="r",mount_target_id="ocid1.mt.a",resource="queue",source="measured",statistic="mean"'
    source = page(iter((scrape(0, 100) + f"fss_mount_target_utilisation_ratio{{{of}}} 0.5\n",)))
    with pytest.raises(SourceError, match="http://host: not the metrics of an exporter of this version"):
        source.read()


INFO = {
    "tenancy": "t",
    "region": "r",
    "mount_target_id": "a",
    "mount_target": "mt-a",
    "address": "10.0.0.2",
    "network": "n",
    "shape": "standard",
}
IOPS_OF_A = {"mount_target_id": "a", "resource": "iops", "source": "measured"}


def fleet(
    monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, list[tuple[dict[str, str], float]]]
) -> tuple[PrometheusSource, list[str]]:
    """A Prometheus that answers the first of `answers` whose text is in the query."""
    asked: list[str] = []

    def at(_: Prometheus, query: str, __: float) -> list[tuple[dict[str, str], float]]:
        asked.append(query)
        return next((answer for part, answer in answers.items() if part in query), [])

    monkeypatch.setattr(Prometheus, "at", at)
    return PrometheusSource(Prometheus(lambda _: ""), "http://prometheus", JUDGE, 15.0), asked


def figures_of_oci(age: float, clients: float) -> dict[str, list[tuple[dict[str, str], float]]]:
    return {
        "group by (region)": [],  # regions whose poller is silent
        "fss_mount_target_info": [(INFO, 1.0)],
        "fss_mount_target_iops_limit": [({"mount_target_id": "a"}, 50_000.0)],
        "utilisation_ratio": [(IOPS_OF_A, 0.9)],
        "data_age_seconds": [({"mount_target_id": "a", "resource": "iops"}, age)],
        "address:fss_client_estimated_iops:rate5m": [({"network": "n", "address": "10.0.0.2"}, clients)],
        "mount_target:fss_state:max": [({"mount_target_id": "a"}, float(State.FINE))],
    }


@pytest.mark.parametrize(
    ("age", "clients", "share", "state"),
    [
        (70.0, 4_500.0, 0.9, State.NEAR),  # a poller that answers
        (1800.0, 4_500.0, 0.9, State.NOT_KNOWN),  # the last figure of a dead one
        (7200.0, 4_500.0, 0.09, State.NOT_KNOWN),  # the load of the clients
        (7200.0, 49_000.0, 0.98, State.NEAR),
    ],
)
def test_a_fleet_is_judged_by_what_is_known_now(
    monkeypatch: pytest.MonkeyPatch, age: float, clients: float, share: float, state: State
) -> None:
    source, _ = fleet(monkeypatch, figures_of_oci(age, clients))
    (target,) = source.read().targets
    usage = shown_target(target).fullest
    assert usage is not None
    assert usage.ratio == pytest.approx(share)
    assert usage.state is state


def test_clients_over_ipv6_are_clients_of_the_mount_target(monkeypatch: pytest.MonkeyPatch) -> None:
    iops = "address:fss_client_estimated_iops:rate5m"
    v4, v6 = ({"network": "n", "address": address} for address in ("10.0.0.2", "2001:db8::2"))
    source, asked = fleet(
        monkeypatch,
        {"fss_mount_target_address_info": [({"mount_target_id": "a", **place}, 1.0) for place in (v4, v6)]}
        | figures_of_oci(7200.0, 0.0)
        | {iops: [(v4, 4_500.0), (v6, 40_000.0)]},
    )
    (target,) = source.read().targets
    usage = shown_target(target).fullest
    assert usage is not None
    assert usage.ratio == pytest.approx(0.89)
    source.parts(target, "clients")
    assert r'address=~"10\\.0\\.0\\.2|2001:db8::2",network="n"' in asked[-1]


@pytest.mark.parametrize(("near", "state"), [(0.7, State.NEAR), (0.8, State.FINE), (None, State.FINE)])
def test_a_load_of_a_fleet_is_near_from_the_share_on_that_its_poller_states(
    monkeypatch: pytest.MonkeyPatch, near: float | None, state: State
) -> None:
    place = {"tenancy": INFO["tenancy"], "region": INFO["region"]}
    answers = figures_of_oci(70.0, 4_500.0) | {"utilisation_ratio": [(IOPS_OF_A, 0.75)]}
    source, _ = fleet(monkeypatch, answers | ({"fss_oci_warning_ratio": [(place, near)]} if near else {}))
    (target,) = source.read().targets
    usage = shown_target(target).fullest
    assert usage is not None
    assert usage.state is state


@pytest.mark.parametrize(
    ("state", "at", "said"),
    [
        (State.HANGING, 0.0, "web-1:10949 at mt-a: hanging, no reply for 45 s (docs/runbook.md#fssclientstalled)"),
        (State.SLOW, 2.0, "web-1:10949 and 1 other client at mt-a: slow"),
        (State.SLOW, 3.0, ""),
        (State.NEAR, 0.0, ""),
    ],
)
def test_clients_that_are_worse_off_than_their_mount_target_are_named(
    monkeypatch: pytest.MonkeyPatch, state: State, at: float, said: str
) -> None:
    subject = "requests without a reply" if state is State.HANGING else "latency"
    of = {**HERE_IN_FLEET, "state": state.word, "subject": subject, "detail": "", "instance": "web-1:10949"}
    source, _ = fleet(
        monkeypatch,
        {
            "address_state:fss_clients:count": [({**HERE_IN_FLEET, "state": "slow"}, 2.0)],
            "topk by": [(of, 9.0 if state is State.HANGING else 1.5)],
        }
        | figures_of_oci(70.0, 4_500.0)
        | {"mount_target:fss_state:max": [({"mount_target_id": "a"}, at)]},
    )
    of_clients = source.read().of_clients
    assert [(of, said in text) for of, text in of_clients] == ([(state, True)] if said else [])


def test_two_mount_targets_with_one_name_and_one_address_in_two_networks_are_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    infos = [
        ({**INFO, "mount_target_id": f"ocid1.mounttarget.oc1..{network}", "network": network}, 1.0)
        for network in ("prod-1", "test-1")
    ]
    hang = {"network": "prod-1", "address": INFO["address"], "instance": "web-1:10949", "detail": ""}
    hang |= {"state": State.HANGING.word, "subject": "requests without a reply"}
    source, asked = fleet(
        monkeypatch, {"topk by": [(hang, 9.0)], "group by (region)": [], "fss_mount_target_info": infos}
    )
    picture = source.read()
    assert [text.partition(",")[0] for _, text in picture.of_clients] == ["web-1:10949 at mt-a in r"]
    assert [row.shown_name for row in picture.targets] == ["mt-a in r, ...prod-1", "mt-a in r, ...test-1"]
    for row, network in zip(picture.targets, ("prod-1", "test-1"), strict=True):
        source.parts(row, "clients")
        assert f'network="{network}"' in asked[-1]


def test_every_series_that_is_asked_for_is_exported_or_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    source, asked = fleet(monkeypatch, figures_of_oci(70.0, 4_500.0))
    source.read()
    names = Names.of_this_project().by_name

    read = {selector.name for query in asked for selector in selectors(promql_parser.parse(query)) if selector.name}
    assert read - names.keys() == set()


def test_a_mount_target_whose_agents_are_gone_is_not_known_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    of_a = {"mount_target_id": "a"}
    source, _ = fleet(
        monkeypatch,
        figures_of_oci(70.0, 4_500.0)
        | {
            "mount_target:fss_state:max": [(of_a, 1.0)],
            "fss_client_coverage_lost:p90_1d": [(of_a, 0.09)],
            "fss_client_coverage:ratio": [(of_a, 0.04)],
        },
    )
    (said,) = source.read().gaps
    assert said.startswith("agents of mt-a are gone. They explained 9% of its load, and 4% now: not known, because OCI")


def test_the_page_of_a_poller_alone_says_that_oci_sees_no_hang() -> None:
    fine = f"fss_mount_target_info{{{TARGET}}} 1\nfss_mount_target_state{{{TARGET}}} 0\n"
    assert "OCI counts no request without a reply" in page(iter([fine])).read().remarks[0]


def test_a_silent_poller_is_named_by_its_region(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = fleet(monkeypatch, figures_of_oci(120.0, 0.0))
    assert source.read().gaps == ()
    silent = [({"region": region}, 1.0) for region in ("us-ashburn-1", "eu-frankfurt-1")]
    source, _ = fleet(monkeypatch, figures_of_oci(120.0, 0.0) | {"group by (region)": silent})
    assert source.read().gaps == (
        "no poller of eu-frankfurt-1, us-ashburn-1 is scraped now: its last figures are shown (docs/runbook.md#fssocipollerdown)",
    )


def gaps_of_both_sources(monkeypatch: pytest.MonkeyPatch, *calls: tuple[str, str, float]) -> list[tuple[str, ...]]:
    """What Prometheus and the page of the poller say of a failed poll with these calls: operation, reason, number."""
    failed = [({"region": "r", "operation": operation, "reason": reason}, n) for operation, reason, n in calls]
    poll = {"fss_oci_poll_success": [({"region": "r"}, 0.0)], "failed_calls": failed}
    source, _ = fleet(monkeypatch, figures_of_oci(70.0, 0.0) | poll)
    text = 'fss_oci_poll_success{tenancy="t",region="r"} 0\n' + "".join(
        f'fss_oci_failed_calls{{tenancy="t",region="r",operation="{operation}",reason="{reason}"}} {n}\n'
        for operation, reason, n in calls
    )
    return [source.read().gaps, page(iter([scrape(0, 100) + text])).read().gaps]


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([], "the last poll of r failed: figures grow older (docs/runbook.md#fssocidatalate)"),
        (
            [("SummarizeMetricsData", "401", 3.0), ("SummarizeMetricsData", "503", 9.0)],
            "OCI refuses the credentials (401) in r: figures grow older (docs/runbook.md#fssocicredentialsrefused)",
        ),
        (
            [("SummarizeMetricsData", "429", 1.0), ("SummarizeMetricsData", "503", 2.0), ("ListVolumes", "404", 9.0)],
            "OCI answers 503 in r: figures grow older (docs/runbook.md#fssocidatalate)",
        ),
        (
            [("SummarizeMetricsData", "unreachable", 3.0)],
            "OCI is unreachable in r: figures grow older (docs/runbook.md#fssocidatalate)",
        ),
        (
            [("SummarizeMetricsData", "broken answer", 3.0)],
            "OCI gives broken answers in r: figures grow older (docs/runbook.md#fssocidatalate)",
        ),
    ],
)
def test_a_poll_that_failed_is_named_with_what_oci_answered(
    calls: list[tuple[str, str, float]], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gaps_of_both_sources(monkeypatch, *calls) == [(said,), (said,)]


def test_a_failed_poll_is_no_gap_any_more_once_one_succeeds() -> None:
    poll = 'fss_oci_poll_success{{tenancy="t",region="r"}} {}\n'
    on_page = page(scrape(1000 * at, 100) + poll.format(success) for at, success in enumerate((1, 0, 1)))
    assert [len(on_page.read().gaps) for _ in range(3)] == [0, 1, 0]


def test_the_clients_of_a_mount_target_are_asked_by_address_and_network(monkeypatch: pytest.MonkeyPatch) -> None:
    source, asked = fleet(
        monkeypatch,
        figures_of_oci(70.0, 4_500.0) | {"fss_client_requests_total": [({"instance": "web-1:10949"}, 100.0)]},
    )
    (target,) = source.read().targets
    (client,) = source.parts(target, "clients").rows
    assert (client.name, client.operations, client.iops) == ("web-1:10949", 100.0, None)
    assert all('{address="10.0.0.2",network="n"}' in query for query in asked if "rate(fss_client" in query)


def test_clients_have_the_state_that_their_agents_export_with_their_wait_and_their_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = {"instance": "web-1:10949"}
    answers = {
        "fss_client_requests_total": [(of, 0.0)],
        "fss_client_unexpected_errors_total": [(of, 0.5)],
        "fss_client_address_state{": [(of, float(State.HANGING))],
        "fss_client_unanswered_seconds": [(of, 1210.0)],
    }
    source, _ = fleet(monkeypatch, figures_of_oci(70.0, 4_500.0) | answers)
    (client,) = source.parts(source.read().targets[0], "clients").rows
    assert (client.state, client.waiting_seconds, client.failed) == (State.HANGING, 1210.0, 0.5)


@pytest.mark.parametrize(
    ("clients", "who"),
    [
        (13_950.0, "busiest client web-1:10949 with 31 % of it"),
        (900.0, "the scraped clients explain 10 % of it"),
        (None, ""),
    ],
)
def test_a_mount_target_near_a_ceiling_names_the_busiest_client_with_its_share(
    monkeypatch: pytest.MonkeyPatch, clients: float | None, who: str
) -> None:
    near = {"mount_target_id": "a", "state": "near", "subject": "IOPS", "detail": "", "source": "measured"}
    answers: dict[str, list[tuple[dict[str, str], float]]] = {
        "topk(1, ": [] if clients is None else [({"instance": "web-1:10949"}, clients)],
        "sum(max by": [({}, 4_500.0)],
        "fss_mount_target_state_evidence": [(near, 0.9)],
        "(fss_mount_target_state)": [({"mount_target_id": "a"}, float(State.NEAR))],
        "mount_target:fss_state:max": [({"mount_target_id": "a"}, float(State.NEAR))],
    }
    source, asked = fleet(monkeypatch, answers | figures_of_oci(70.0, 4_500.0) | answers)
    (target,) = source.read().targets
    said = sentence(target.state)
    assert "IOPS at 90 % of the ceiling" in said
    assert who in said
    assert ("client" in said) == bool(who)
    (query,) = [query for query in asked if query.startswith("topk(1, ")]
    assert 'fss_client_estimated_io_operations_total{address="10.0.0.2",network="n"}' in query


def test_a_mount_target_without_scraped_clients_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = fleet(monkeypatch, figures_of_oci(70.0, 0.0))
    (target,) = source.read().targets
    assert source.parts(target, "mounts").remark == "no client of this mount target is scraped"
    assert "no agent counts by process" in source.parts(target, "processes").remark
    nameless = MountTargetRow("mt-b", "r", "", "standard", "", ())
    assert "address" in source.parts(nameless, "clients").remark


NAS = {"network": "n", "address": "10.9.0.5"}


def test_addresses_that_only_clients_know_are_lines_too(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = fleet(
        monkeypatch,
        figures_of_oci(70.0, 4_500.0)
        | {
            "address:fss_client_estimated_iops:rate5m": [
                ({"network": "n", "address": "10.0.0.2"}, 4_500.0),
                ({"network": "other", "address": "10.0.0.2"}, 49_000.0),
                (NAS, 30.0),
            ],
            "address:fss_client_read_bytes:rate5m": [(NAS, 40e6)],
            "address:fss_client_written_bytes:rate5m": [(NAS, 3e6)],
            "fss_client_bytes_per_second_limit": [(NAS, 50e6)],
            "fss_client_service_info": [({**NAS, "service": "apsara-nas", "kind": "capacity"}, 1.0)],
        },
    )
    polled, other, nas = source.read().targets
    assert (polled.name, shown_target(polled).fullest.ratio) == ("mt-a", 0.9)  # type: ignore[union-attr]
    assert (other.name, other.address) == ("", "10.0.0.2")
    assert shown_target(other).fullest.state is State.NEAR, "of the assumed shape"  # type: ignore[union-attr]
    usage = shown_target(nas).fullest
    assert usage is not None
    assert (nas.name, nas.shape, usage.quantity, usage.ratio) == ("apsara-nas", "capacity", Quantity.BOTH, 0.86)
    assert (usage.figure.word, usage.state) == ("at least", State.NEAR)


def test_two_addresses_of_one_service_in_one_network_have_their_address(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [{**NAS, "address": address} for address in ("10.9.0.5", "10.9.0.6")]
    services = [({**place, "service": "apsara-nas", "kind": "capacity"}, 1.0) for place in places]
    states = [(place, 1.0) for place in places]
    source, _ = fleet(monkeypatch, {"fss_client_service_info": services, "address:fss_state:max": states})
    assert [row.shown_name for row in source.read().targets] == [
        "apsara-nas in n, 10.9.0.5",
        "apsara-nas in n, 10.9.0.6",
    ]


def test_an_address_without_a_known_cost_or_without_any_load_is_a_line_and_what_is_not_known_is_no_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mount of NFSv4 has no cost, and one that hangs from its first minute on has no rate of bytes."""
    priced, unpriced, silent = ({"network": "n", "address": f"10.0.0.{last}"} for last in (4, 5, 6))
    source, _ = fleet(
        monkeypatch,
        {
            "address:fss_client_estimated_iops:rate5m": [(priced, 100.0)],
            "address:fss_client_read_bytes:rate5m": [(priced, 1e6), (unpriced, 5e6)],
            "address:fss_client_written_bytes:rate5m": [(priced, 0.0), (unpriced, 0.0)],
            "address:fss_state:max": [(priced, 1.0), (unpriced, 5.0), (silent, 5.0)],
        },
    )
    rows = source.read().targets
    assert [(row.address, row.state.state) for row in rows] == [
        ("10.0.0.4", State.NOT_KNOWN),
        ("10.0.0.5", State.HANGING),
        ("10.0.0.6", State.HANGING),
    ]
    assert [{usage.quantity: usage.limit for usage in row.usages} for row in rows] == [
        {Quantity.IOPS: 50_000.0, Quantity.READ: 1e9, Quantity.WRITE: 1e9},
        {Quantity.READ: None, Quantity.WRITE: None},
        {},
    ]
    assert [row.shape for row in rows] == ["standard", "", ""]


def test_bytes_of_clients_are_counted_and_their_iops_estimated_while_the_poller_is_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = {"network": "n", "address": "10.0.0.2"}
    source, _ = fleet(
        monkeypatch,
        figures_of_oci(7200.0, 10.0)
        | {
            "address:fss_client_read_bytes:rate5m": [(place, 0.97e9)],
            "lower_bound:rate5m": [(place, 8.0)],
            "upper_bound:rate5m": [(place, 12.0)],
            "fss_mount_target_read_bytes_per_second_limit": [({"mount_target_id": "a"}, 1e9)],
        },
    )
    (target,) = source.read().targets
    usage = shown_target(target).fullest
    assert usage is not None
    assert (usage.quantity, usage.ratio, usage.figure.word) == (Quantity.READ, 0.97, "at least")
    assert shown_target(target).usages[Quantity.IOPS].figure.in_words(str) == "about 10.0 (8.0 to 12.0)"


def test_a_prometheus_without_a_poller_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = fleet(monkeypatch, {"address:fss_client_estimated_iops:rate5m": [(NAS, 30.0)]})
    picture = source.read()
    assert [target.address for target in picture.targets] == ["10.9.0.5"]
    assert picture.gaps == (
        "no poller of the last hour: states and load of the scraped clients, against the ceilings of shape standard",
        "no states: this Prometheus does not evaluate the rules, see docs/install.md",
    )


def test_a_prometheus_with_nothing_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = fleet(monkeypatch, {})
    assert source.read().gaps == (
        "this Prometheus has neither mount targets of a poller of the last hour nor what the rules record of clients",
    )


HERE_IN_FLEET = {"network": "n", "address": "10.0.0.2"}
LATENCY_OF_A = {"mount_target_id": "a", "tenancy": "t", "region": "r", "kind": "read", "size": "0B_to_8KiB"}
SLOW_BY_CLIENTS = {**HERE_IN_FLEET, "state": "slow", "subject": "latency", "detail": "metadata_read"}
TOLD_BY_CLIENTS: dict[str, list[tuple[dict[str, str], float]]] = {
    "address_state:fss_clients:count": [({**HERE_IN_FLEET, "state": "slow"}, 4.0)],
    "topk by": [({**SLOW_BY_CLIENTS, "instance": "web-1:10949"}, 1.5)],
}


SLOW_BY_OCI = {
    "mount_target_id": "a",
    "state": "slow",
    "subject": "latency",
    "detail": "metadata",
    "file_system": "fs-a",
}


@pytest.mark.parametrize(
    ("joined", "by_oci", "state", "said"),
    [
        (0.0, 0.0, State.FINE, "fine for 5 min"),
        (1.0, 0.0, State.NOT_KNOWN, "not known"),
        (2.0, 0.0, State.NEAR, "near"),
        (3.0, 0.0, State.SLOW, "latency of metadata read at 150 % of the objective, web-1:10949 and 3 other clients"),
        (3.0, 3.0, State.SLOW, "metadata at 600 % of the objective, fs-a, web-1:10949 and 3 other clients ("),
    ],
)
def test_a_fleet_shows_the_state_that_the_rules_record_with_the_reason_of_its_side(
    monkeypatch: pytest.MonkeyPatch, joined: float, by_oci: float, state: State, said: str
) -> None:
    """Where OCI and clients tell of slow requests alike, it names what both name."""
    source, _ = fleet(
        monkeypatch,
        {
            "mount_target:fss_state:max": [({"mount_target_id": "a"}, joined)],
            "address:fss_client_state:max": [(HERE_IN_FLEET, joined if joined >= State.SLOW else 0.0)],
            **TOLD_BY_CLIENTS,
            "fss_mount_target_state_age_seconds": [({"mount_target_id": "a"}, 300.0)],
            "fss_mount_target_state_evidence": [(SLOW_BY_OCI, 6.0)] if by_oci else [],
            "(fss_mount_target_state)": [({"mount_target_id": "a"}, by_oci)],
        }
        | figures_of_oci(70.0, 4_500.0)
        | {"mount_target:fss_state:max": [({"mount_target_id": "a"}, joined)]},
    )
    (target,) = source.read().targets
    assert target.state.state is state
    assert said in sentence(target.state)


@pytest.mark.parametrize(
    ("recorded", "by_clients", "said"),
    [
        (2.0, 0.0, "near: bandwidth at least 86 % of the ceiling (docs/runbook.md#fssaddressutilisationhigh)"),
        (1.0, 0.0, "not known"),
        (3.0, 3.0, "latency of metadata read at 150 % of the objective, web-1:10949 and 3 other clients"),
    ],
)
def test_an_address_without_a_poller_has_the_state_that_the_rules_record_and_clients_alone_show_none_fine(
    monkeypatch: pytest.MonkeyPatch, recorded: float, by_clients: float, said: str
) -> None:
    source, _ = fleet(
        monkeypatch,
        {
            "address:fss_state:max": [(HERE_IN_FLEET, recorded)],
            "address:fss_client_state:max": [(HERE_IN_FLEET, by_clients)],
            "address_resource:fss_client_utilisation:ratio": [
                ({**HERE_IN_FLEET, "resource": "bandwidth"}, 0.86),
                ({**HERE_IN_FLEET, "resource": "iops"}, 0.3),
            ],
            **TOLD_BY_CLIENTS,
            "address:fss_client_estimated_iops:rate5m": [(HERE_IN_FLEET, 30.0)],
        },
    )
    (target,) = source.read().targets
    assert target.state.state == recorded
    assert said in sentence(target.state)


def test_a_load_without_a_ceiling_is_the_one_that_oci_measured_and_not_that_of_the_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_a = {"mount_target_id": "a", "tenancy": "t", "region": "r"}
    source, _ = fleet(
        monkeypatch,
        figures_of_oci(70.0, 530.0)
        | {
            "fss_mount_target_iops_limit": [],
            "utilisation_ratio": [],
            "__name__": [
                ({**of_a, "__name__": "fss_mount_target_iops"}, 53_000.0),
                ({**of_a, "__name__": "fss_mount_target_estimated_iops"}, 52_000.0),
            ],
            "fss_oci_datapoint_age_seconds": [
                ({"tenancy": "t", "region": "r", "oci_metric": "MountTargetIOPS"}, 70.0),
                ({"tenancy": "t", "region": "r", "oci_metric": "FileSystemReadRequestsbySize"}, 70.0),
            ],
        },
    )
    (target,) = source.read().targets
    shown = shown_target(target).usages[Quantity.IOPS]
    assert (shown.value, shown.figure.source, shown.figure.age_seconds) == (53_000.0, FigureSource.MEASURED, 70.0)
    assert [usage.figure.coverage for usage in target.of(Quantity.IOPS)] == [None, None, pytest.approx(0.01)]


def test_a_fleet_shows_the_latency_that_the_poller_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = fleet(
        monkeypatch,
        {
            "fss_mount_target_latency_objective_ratio": [({**LATENCY_OF_A, "file_system": "fs"}, 0.9)],
            "fss_mount_target_latency_objective_seconds": [(LATENCY_OF_A, 0.010)],
            "fss_oci_datapoint_age_seconds": [
                ({"tenancy": "t", "region": "r", "oci_metric": "FileSystemReadAverageLatencybySize"}, 70.0)
            ],
        }
        | figures_of_oci(70.0, 4_500.0),
    )
    (target,) = source.read().targets
    (latency,) = target.of(Quantity.LATENCY)
    assert latency.value == pytest.approx(0.009)
    assert latency.state is State.NEAR
    assert latency.note == "read up to 8 KiB on fs"


def test_a_page_whose_first_poll_runs_is_starting_and_not_without_mount_targets() -> None:
    first_poll = 'fss_oci_api_requests_total 1\nfss_collector_starting{collector="oci"} 1\n'
    ended = 'fss_oci_api_requests_total 9\nfss_collector_success{collector="oci"} 1\n'
    source = page(iter((first_poll, first_poll, ended)))
    assert [source.read().is_starting for _ in range(3)] == [True, True, False]
    said = headline("a page", Latest(Picture((), is_starting=True)), (), View())
    assert said[1].text == "starting: no mount target is known yet"
