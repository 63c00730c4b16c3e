"""`fss-exporter plan --prometheus`: the busiest minutes of a week, of clients or of mount targets."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests import processes
from tests.fss_toolbox.plan.planned import NOW, Series, answering, by_part
from tests.json_schema import problems, schema_of
from tests.prompt import Answer, ask

from fss_exporter.addresses import NetworkAddress
from fss_exporter.errors import SourceError
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import FigureSource
from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.cli import plan as command
from fss_toolbox.plan import prometheus_api as prometheus
from fss_toolbox.plan.client_moments import ClientsMoment, client_sizes, client_traffic
from fss_toolbox.plan.fleet import fleet_advice
from fss_toolbox.plan.history import LimitsOf, of_mount_targets, of_service
from fss_toolbox.plan.load import Load, SizeShare, fullness, size_shares
from fss_toolbox.plan.mount_target_answer import size_lines
from fss_toolbox.plan.recorded_mount_targets import other_services, recorded_mount_targets, without_load

QUIET, BUSY = NOW - 3 * 86400, NOW - 2 * 86400


@pytest.fixture(autouse=True)
def _at_the_end_of_the_week(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "time", SimpleNamespace(time=lambda: NOW))


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[processes.Prometheus]:
    """A real Prometheus with two hours of some mount targets, days ago: one quiet hour and one busy hour."""
    history = (*_history(), *_measured_costs(), *_published(), *_other_services(), "# EOF\n")
    with processes.prometheus_of(history, tmp_path_factory.mktemp("week")) as server:
        yield server


def _history() -> Iterator[str]:
    mount = 'server="s",export="/a",service="oci-fss"'
    lines = [
        ("fss_client_operations", ',class="read",operation="READ"', {QUIET: 10, BUSY: 500}),
        ("fss_client_estimated_io_operations", ',class="read"', {QUIET: 400, BUSY: 16_500}),
        ("fss_client_estimated_io_operations_lower_bound", ',class="read"', {QUIET: 300, BUSY: 16_000}),
        ("fss_client_estimated_io_operations_upper_bound", ',class="read"', {QUIET: 500, BUSY: 17_000}),
        ("fss_client_execute_seconds", ',class="read"', {QUIET: 1, BUSY: 4}),
        ("fss_client_rtt_seconds", ',class="read"', {QUIET: 1, BUSY: 3}),
        ("fss_client_read_bytes", "", {QUIET: 10 << 20, BUSY: 500 << 20}),
        ("fss_client_written_bytes", "", {QUIET: 0, BUSY: 0}),
    ]
    for name, labels, per_second in lines:
        yield f"# TYPE {name} counter\n"
        for address, share in (("10.0.0.1", 1.0), ("10.0.0.2", 0.5), ("10.0.0.6", 0.1), ("10.0.0.7", 0.2)):
            value = 0.0
            for start in (QUIET, BUSY):
                for minute in range(60):
                    yield f'{name}_total{{address="{address}",{mount}{labels}}} {value} {start + minute * 60}\n'
                    value += per_second[start] * 60 * share
    yield "# TYPE fss_client_io_size_bytes_bucket gauge\n"
    for bound, share in (("32768.0", 0.25), ("65536.0", 0.25), ("1.048576e+06", 1.0), ("+Inf", 1.0)):
        for address in ("10.0.0.1", "10.0.0.7"):
            for minute in range(60):
                value = 500 * share * 60 * minute
                labels = f'address="{address}",operation="READ",le="{bound}"'
                yield f"fss_client_io_size_bytes_bucket{{{labels}}} {value} {BUSY + minute * 60}\n"


def _measured_costs() -> Iterator[str]:
    """Two measured costs, each with one empty label. Prometheus does not keep an empty label."""
    yield "# TYPE fss_cost_model_info gauge\n"
    for labels in ('operation="REMOVE",io_operations="9.5",factor=""', 'operation="READ",io_operations="",factor="2"'):
        for minute in range(60):
            yield f'fss_cost_model_info{{{labels},date="2026-11-22",source="x"}} 1 {BUSY + minute * 60}\n'


def _published() -> Iterator[str]:
    """Of three mount targets no client is scraped: one is measured, one estimated, one never had its bandwidth polled.

    Of the fourth, half of the load is that of scraped clients. Of the fifth, OCI publishes bytes alone.
    """
    targets = {
        "measured": ("10.0.0.3", "hpmt-20"),
        "estimated": ("", "standard"),
        "new": ("10.0.0.5", "hpmt-999"),
        "mixed": ("10.0.0.6", "standard"),
        "bytes": ("10.0.0.7", "standard"),
    }
    labels = {name: f'mount_target="{name}",mount_target_id="ocid1.{name}",region="r"' for name in targets}
    yield "# TYPE fss_mount_target_info gauge\n"
    for name, (address, shape) in targets.items():
        yield f'fss_mount_target_info{{{labels[name]},address="{address}",shape="{shape}"}} 1 {BUSY}\n'
    figures: dict[str, dict[str, float]] = {
        "fss_mount_target_iops": {"measured": 30_000, "new": 5, "mixed": 3_300},
        "fss_mount_target_estimated_iops": {"measured": 20_000, "estimated": 40_000},
        "fss_mount_target_estimated_iops_lower_bound": {"measured": 19_000, "estimated": 38_000},
        "fss_mount_target_estimated_iops_upper_bound": {"measured": 21_000, "estimated": 45_000},
        "fss_mount_target_read_bytes_per_second": {
            "measured": 2e9,
            "estimated": 1e8,
            "mixed": 100 << 20,
            "bytes": 200 << 20,
        },
        "fss_mount_target_write_bytes_per_second": {"measured": 5e8, "estimated": 2e8, "mixed": 0, "bytes": 0},
        "fss_mount_target_connections": {"measured": 40},
        "fss_mount_target_iops_limit": {"mixed": 60_000},
        "fss_mount_target_observed_iops_limit": {"mixed": 43_000},
        "fss_mount_target_read_bytes_per_second_limit": {"measured": 2.5e9, "mixed": 1e9},
    }
    for metric, values in figures.items():
        yield f"# TYPE {metric} gauge\n"
        for name, value in values.items():
            quiet = 1.0 if metric.endswith("limit") else 0.1
            for start, share in ((QUIET, quiet), (BUSY, 1.0)):
                for minute in range(60):
                    yield f"{metric}{{{labels[name]}}} {value * share} {start + minute * 60}\n"
                    # A second poller sees less. The largest figure counts, and no sum.
                    yield f'{metric}{{{labels[name]},instance="second"}} {value * share / 2} {start + minute * 60}\n'


def _other_services() -> Iterator[str]:
    """A Lustre file system of 40 TB at 125 MB/s per TB, near its 5 GB/s in the busy hour; the clients of 10.0.0.2 use a NAS."""
    labels = 'service="lustre",resource="render",resource_id="ocid1.lustrefilesystem.render",region="r"'
    figures = {
        "fss_service_read_operations_per_second": 700.0,
        "fss_service_write_operations_per_second": 300.0,
        "fss_service_read_bytes_per_second": 3.2e9,
        "fss_service_write_bytes_per_second": 1.2e9,
    }
    for name, value in figures.items():
        yield f"# TYPE {name} gauge\n"
        for start, share in ((QUIET, 0.1), (BUSY, 1.0)):
            for minute in range(60):
                yield f"{name}{{{labels}}} {value * share} {start + minute * 60}\n"
    yield "# TYPE fss_service_bytes_per_second_limit gauge\n"
    yield f"fss_service_bytes_per_second_limit{{{labels}}} 5e9 {BUSY}\n"
    yield "# TYPE fss_client_service_info gauge\n"
    yield f'fss_client_service_info{{address="10.0.0.2",server="s",export="/a",service="apsara-nas",kind=""}} 1 {BUSY}\n'


def of_shape(_: str, shape: str, recorded: Limits | None = None) -> Limits:
    return recorded or SHAPES[shape or "standard"].limits if shape in {"", *SHAPES} else Limits()


def busiest(
    get: Callable[[str], str], limits: LimitsOf, address: str | None, now: float | None = None
) -> dict[str, Load]:
    api = prometheus.Prometheus(get, now)
    return of_mount_targets(api, recorded_mount_targets(api, address), limits, address, other_services(api, address))


def asked(week: processes.Prometheus) -> Callable[[str], str]:
    return lambda path: processes.get(f"{week.url}{path}")


def test_the_busiest_minutes_of_the_week_are_planned(week: processes.Prometheus) -> None:
    loads = busiest(asked(week), of_shape, None, NOW)
    assert set(loads) == {"10.0.0.1", "10.0.0.3", "10.0.0.6", "10.0.0.7", "estimated"}, "10.0.0.2 is of another service"
    load = loads["10.0.0.1"].traffic
    assert load.operations["READ"].operations == pytest.approx(500)
    assert load.iops == pytest.approx((16_000, 16_500, 17_000))
    assert load.read_bytes == pytest.approx(500 << 20)
    assert load.operations["READ"].execute_seconds == pytest.approx(4)
    assert loads["10.0.0.1"].iops_figure is not None
    assert loads["10.0.0.1"].iops_figure.source is FigureSource.CLIENTS
    assert loads["10.0.0.1"].remark.startswith("a part: ")


def test_the_amount_is_what_oci_measured_and_the_mix_is_that_of_the_clients(week: processes.Prometheus) -> None:
    load = busiest(asked(week), of_shape, None, NOW)["10.0.0.6"]

    assert load.traffic.iops == pytest.approx((3_200, 3_300, 3_400))
    assert load.traffic.read_bytes == pytest.approx(100 << 20)
    assert load.traffic.operations["READ"].operations == pytest.approx(100)
    assert load.iops_figure is not None
    assert load.iops_figure.source is FigureSource.MEASURED
    assert load.iops_figure.coverage == pytest.approx(0.5)
    assert "The scraped clients are 50.0 % of this load" in load.remark
    assert load.observed == Limits(iops=43_000)


def test_where_oci_publishes_bytes_alone_the_iops_are_those_that_clients_and_bytes_explain(
    week: processes.Prometheus,
) -> None:
    load = busiest(asked(week), of_shape, None, NOW)["10.0.0.7"]

    assert load.traffic.read_bytes == pytest.approx(200 << 20)
    assert load.traffic.operations["READ"].operations == pytest.approx(200), "of which clients account for 100"
    assert load.traffic.iops == pytest.approx((6_400, 6_600, 6_800))
    assert load.iops_figure is not None
    assert load.iops_figure.source is FigureSource.CLIENTS
    assert load.remark.startswith("a part: OCI published neither IOPS nor requests")

    alone = busiest(without_clients(week), of_shape, None, NOW)["10.0.0.7"]
    assert (alone.traffic.iops, alone.iops_figure) == (None, None)
    assert "No client of this mount target is scraped" in alone.remark


def test_sizes_that_exact_mode_counted_are_part_of_the_load(week: processes.Prometheus) -> None:
    loads = busiest(asked(week), of_shape, None, NOW)

    classes: list[object] = [tuple(size_class) for size_class in loads["10.0.0.1"].sizes["READ"]]
    assert classes == [(32768, pytest.approx(0.25)), (1048576, pytest.approx(0.75))]
    assert loads["10.0.0.7"].sizes == loads["10.0.0.1"].sizes, "of a mount target that a poller sees too"
    assert loads["10.0.0.6"].sizes == {}

    assert list(size_lines(loads["10.0.0.1"])) == ["READ sizes, counted: 25% up to 32 KiB, 75% up to 1,024 KiB"]


def test_sizes_are_found_in_native_histograms_that_prometheus_made_of_the_buckets() -> None:
    buckets = [[0, "-Inf", "32768", "0.5"], [0, "524288", "1048576", "1.5"]]
    native = {"metric": {"operation": "READ"}, "histogram": [NOW, {"count": "2", "sum": "1.2e6", "buckets": buckets}]}

    def answered(path: str) -> str:
        (query,) = parse_qs(urlsplit(path).query)["query"]
        result = [] if "_bucket" in query else [native]
        return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})

    subject = ClientsMoment(NetworkAddress("eu-1", "10.0.0.1"), NOW)
    sizes = client_sizes(prometheus.Prometheus(by_part(answered)), [subject])

    assert sizes == {subject: {"READ": (SizeShare(32768, 0.25), SizeShare(1048576, 0.75))}}


def test_the_fullest_ceiling_decides_and_one_for_both_directions_together_is_a_ceiling() -> None:
    assert fullness(100, 3e9, 1e9, Limits(iops=1_000, read_bytes_per_second=10e9, bytes_per_second=5e9))[0] == 0.8


def test_a_size_class_without_a_bound_is_no_size() -> None:
    load = Load("", Traffic(), {"READ": size_shares({1024.0: 3.0, float("inf"): 4.0})})
    assert list(size_lines(load)) == ["READ sizes, counted: 75% up to 1 KiB"]


def test_a_load_costs_what_its_agents_had_measured_at_its_own_moment() -> None:
    """On the quiet day a REMOVE cost 7. On the busy day agents disagree, and the newest measurement counts."""
    measured = {QUIET: (("7", "2026-11-01"),), BUSY: (("9.5", "2026-11-22"), ("5", "2026-10-01"))}

    @answering
    def server(query: str, _: bool) -> Iterator[Series]:
        (moment,) = (moment for moment in measured if f"@ {moment}" in query)
        of_class = {"service": "oci-fss", "class": "metadata_write"}
        if "fss_cost_model_info" in query:
            for cost, day in measured[moment]:
                yield {"operation": "REMOVE", "io_operations": cost, "date": day}, "1"
        elif "fss_client_operations_total" in query:
            yield of_class | {"operation": "REMOVE"}, "100"
        elif "fss_client_estimated_io_operations_total" in query:
            yield of_class, "800"

    subjects = [ClientsMoment(NetworkAddress("eu-1", "10.0.0.1"), moment) for moment in measured]
    traffic = client_traffic(prometheus.Prometheus(server, NOW), subjects)
    costs = [traffic[subject].operations["REMOVE"].iops for subject in subjects]
    assert costs == [Bounds.exact(700.0), Bounds.exact(950.0)]


@pytest.mark.parametrize("named", [None, "render", "ocid1.lustrefilesystem.render"])
def test_the_busiest_minutes_of_a_file_system_of_another_service_are_planned(
    week: processes.Prometheus, named: str | None
) -> None:
    loads = of_service(prometheus.Prometheus(asked(week), NOW), "lustre", Limits(), named)

    assert set(loads) == {named or "render"}
    traffic = loads[named or "render"].traffic
    assert {name: rate.operations for name, rate in traffic.operations.items()} == {"READ": 700, "WRITE": 300}
    assert (traffic.read_bytes, traffic.written_bytes) == (3.2e9, 1.2e9)


def test_a_service_without_metrics_is_a_failure(week: processes.Prometheus) -> None:
    with pytest.raises(SourceError, match="nothing of block-volume called db of the last week"):
        of_service(prometheus.Prometheus(asked(week), NOW), "block-volume", Limits(), "db")


def test_a_week_without_metrics_is_a_failure(week: processes.Prometheus) -> None:
    with pytest.raises(
        SourceError, match=r"no fss_client_ and no fss_mount_target_ metrics of the last week with address 10\.9\.9\.9"
    ):
        busiest(asked(week), of_shape, "10.9.9.9", NOW)
    answer = ask("plan", "--prometheus", week.url, "--address", "10.9.9.9")
    assert answer.code == 1
    assert "Are the clients, or is a poller, scraped?" in answer.err


def test_an_address_cannot_leave_its_quotes(week: processes.Prometheus) -> None:
    with pytest.raises(SourceError, match="no fss_client_ and no"):
        busiest(asked(week), of_shape, '10.0.0.1"} or {__name__=~".+', NOW)


def result(**series: object) -> str:
    return json.dumps({"status": "success", "data": {"result": [{"metric": {}} | series]}})


@pytest.mark.parametrize(
    "text",
    [
        *("", "<html>", "[]", "{}", '{"status":"success"}', '{"status":"success","data":{"result":7}}', "[" * 100_000),
        *(result(), result(histograms=[[1, {}]]), result(metric=5, values=[[1, "2"]])),
        *(result(values=5), result(values=[[]]), result(values=[[1, "x"]]), result(values=[[1, None]])),
        *(result(values=[[moment, "5"]]) for moment in (1e300, -5, float("nan"))),
        *(result(value=[NOW, value]) for value in ("1e308", "-1e200")),
        *(json.dumps({"status": "success", "warnings": wrong, "data": {"result": []}}) for wrong in (5, [None])),
    ],
)
def test_what_is_no_answer_of_a_prometheus_is_a_failure(text: str) -> None:
    with pytest.raises(SourceError, match="not an answer of the Prometheus API"):
        list(prometheus.Prometheus(lambda _: text, NOW).at("up", NOW))


def test_an_address_that_is_no_utf_8_is_not_in_the_load(week: processes.Prometheus) -> None:
    with pytest.raises(SourceError, match="metrics of the last week with address"):
        busiest(asked(week), of_shape, "\udcff", NOW)


def test_a_refused_query_tells_the_reason() -> None:
    refusal = json.dumps({"status": "error", "error": "query processing would load too many samples"})
    with pytest.raises(SourceError, match="too many samples"):
        busiest(lambda _: refusal, of_shape, None, NOW)


def test_no_prometheus_there_is_a_failure() -> None:
    answer: Answer = ask("plan", "--prometheus", "http://127.0.0.1:1")
    assert answer.code == 1
    assert "no answer" in answer.err


def without_clients(week: processes.Prometheus) -> Callable[[str], str]:
    """As where only a poller is scraped."""
    return lambda path: processes.get(f"{week.url}{path.replace('fss_client_', 'fss_nobody_')}")


def test_without_clients_the_week_is_that_of_the_mount_targets(week: processes.Prometheus) -> None:
    loads = busiest(without_clients(week), of_shape, None, NOW)
    assert set(loads) == {"10.0.0.3", "10.0.0.6", "10.0.0.7", "estimated"}, (
        "without an address it goes by its name, without bandwidth not at all"
    )
    measured, estimated = loads["10.0.0.3"], loads["estimated"]
    assert measured.traffic.iops == pytest.approx((30_000, 30_000, 30_000))
    assert (measured.traffic.read_bytes, measured.traffic.written_bytes) == pytest.approx((2e9, 5e8))
    assert measured.shape == "hpmt-20"
    assert measured.connections == pytest.approx(40)
    assert "as OCI measured them" in measured.remark
    assert estimated.traffic.iops == pytest.approx((38_000, 40_000, 45_000))
    assert "leave out LOOKUP, ACCESS and others: it may be more" in estimated.remark


def test_the_moment_of_most_connections_counts_where_connections_are_nearest_to_their_ceiling() -> None:
    week: dict[str, dict[int, float]] = {
        "iops": {NOW - 600: 10_000, NOW: 12_000},
        "read_bytes_per_second": {NOW - 600: 1e6, NOW: 1e6},
        "write_bytes_per_second": {NOW - 600: 0, NOW: 0},
        "connections": {NOW - 600: 90_000, NOW: 100},
    }

    @answering
    def server(query: str, is_range: bool) -> Iterator[Series]:
        for name, own in week.items():
            if is_range and f"(fss_mount_target_{name}[5m])" in query:
                yield {"mount_target_id": "ocid1.a"}, [(moment, str(value)) for moment, value in own.items()]

    (load,) = busiest(server, of_shape, None, NOW).values()
    assert load.moment == NOW - 600
    assert load.connections == 90_000
    assert load.traffic.iops == Bounds.exact(10_000)


@answering
def of_two(query: str, _: bool) -> Iterator[Series]:
    """A Prometheus with two mount targets of one address, and two volumes of one name. The first of each is busy."""
    for letter, value in (("a", "40000"), ("b", "10")):
        if "fss_mount_target" in query and "fss_client" not in query:
            yield {"mount_target_id": f"ocid1.{letter}", "address": "10.0.0.5"}, value
        elif "fss_service" in query:
            yield {"resource_id": f"ocid1.{letter}", "resource": "data"}, value


@pytest.mark.parametrize("address", [None, "10.0.0.5"])
def test_mount_targets_with_equal_addresses_are_planned_each(address: str | None) -> None:
    loads = busiest(of_two, of_shape, address, NOW)
    assert {name: load.traffic.read_bytes for name, load in loads.items()} == {"10.0.0.5": 40_000, "ocid1.b": 10}


@pytest.mark.parametrize("named", [None, "data"])
def test_volumes_with_equal_names_are_planned_each(named: str | None) -> None:
    loads = of_service(prometheus.Prometheus(of_two, NOW), "block-volume", Limits(), named)
    assert {name: load.traffic.read_bytes for name, load in loads.items()} == {"data": 40_000, "ocid1.b": 10}


@answering
def of_another_network(query: str, is_range: bool) -> Iterator[Series]:
    """A Prometheus with a mount target, and an agent that does not know its network and mounts an equal address."""
    if "fss_mount_target" in query and "limit" not in query:
        yield {"mount_target_id": "ocid1.a", "network": "eu-1", "address": "10.0.0.5"}, "40000"
    elif "fss_client" in query and is_range:
        yield {"network": "unknown", "address": "10.0.0.5"}, "40000"


def test_clients_of_an_unknown_network_do_not_stand_in_for_a_mount_target_with_their_address() -> None:
    loads = busiest(of_another_network, of_shape, None, NOW)
    assert {name: load.iops_figure and load.iops_figure.source for name, load in loads.items()} == {
        "10.0.0.5": FigureSource.MEASURED,
        "10.0.0.5 in unknown": None,
    }


@answering
def of_a_mount_target_without_figures(query: str, is_range: bool) -> Iterator[Series]:
    """A Prometheus whose poller knows a mount target, of which OCI publishes nothing, and whose clients are scraped."""
    values = {"fss_mount_target_read_bytes_per_second_limit": "2.5e9", "_limit": "", "fss_mount_target_info": "1"}
    value = next((value for name, value in values.items() if name in query), "")
    if value:
        yield {"address": "10.0.0.5", "mount_target_id": "ocid1.a", "shape": "hpmt-20"}, value
    elif "fss_client" in query and is_range:
        yield {"address": "10.0.0.5"}, "40000"


def test_the_clients_of_a_mount_target_without_figures_are_judged_by_its_shape_and_ceilings() -> None:
    (load,) = busiest(of_a_mount_target_without_figures, of_shape, None, NOW).values()
    assert (load.shape, load.limits) == ("hpmt-20", Limits(read_bytes_per_second=2.5e9))
    assert load.iops_figure is None, "no operation of the clients is known"
    recorded = recorded_mount_targets(prometheus.Prometheus(of_a_mount_target_without_figures, NOW))
    assert without_load(recorded.values(), [load]) == [], "it has a load"


@answering
def renamed(query: str, is_range: bool) -> Iterator[Series]:
    """A Prometheus with a volume that was busy until its change of name, and idle afterwards."""
    if is_range and "_per_second{" in query:
        yield {"resource_id": "ocid1.a", "resource": "new"}, "10"
        yield {"resource_id": "ocid1.a", "resource": "old"}, [(NOW - 600, "40000"), (NOW - 300, "30000")]


@pytest.mark.parametrize("named", [None, "new", "old", "ocid1.a"])
def test_a_renamed_volume_is_judged_by_its_whole_week(named: str | None) -> None:
    loads = of_service(prometheus.Prometheus(renamed, NOW), "block-volume", Limits(), named)
    assert {name: load.traffic.read_bytes for name, load in loads.items()} == {named or "new": 40_000}


@pytest.mark.parametrize("iops", [None, "40000"])
def test_clients_whose_operations_do_not_explain_the_load_are_not_said_to_be_absent(iops: str | None) -> None:
    """A Prometheus with bytes written to a mount target, and clients that only read there."""

    @answering
    def server(query: str, _: bool) -> Iterator[Series]:
        mount = {"mount_target_id": "ocid1.a", "address": "10.0.0.5"}
        of_client = {"service": "oci-fss", "class": "read", "operation": "READ"}
        figures: dict[str, tuple[dict[str, str], str | None]] = {
            "_limit": (mount, None),
            "fss_mount_target_iops": (mount, iops),
            "fss_mount_target_read_bytes_per_second": (mount, "5"),
            "fss_mount_target_write_bytes_per_second": (mount, "40000"),
            "fss_mount_target_info": (mount, "1"),
            "fss_client_operations_total": (of_client, "10"),
            "fss_client_read_bytes_total": (of_client, "5"),
            "fss_client_estimated_io_operations_total": (of_client, "20"),
        }
        labels, value = next((figure for name, figure in figures.items() if name in query), ({}, None))
        if value:
            yield labels, value

    load = busiest(server, of_shape, None, NOW)["10.0.0.5"]
    assert load.traffic.written_bytes == 40_000
    assert not load.is_split
    assert "No client" not in load.remark
    assert load.remark.endswith("do not explain it, so there is no split by operation")


def at_prompt(week: processes.Prometheus, *flags: str) -> Answer:
    return ask("plan", "--prometheus", week.url, "--address", "10.0.0.3", *flags)


def test_what_a_poller_sees_is_planned_by_its_shape(week: processes.Prometheus) -> None:
    answer = at_prompt(week)
    assert answer.code == 0, answer.err
    assert "IOPS of all clients as OCI measured them. No client of this mount target is scraped" in answer.out
    assert "Against one mount target of shape hpmt-20" in answer.out
    assert "binds first: read bandwidth, at 80.0 %" in answer.out
    assert "operations/s" not in answer.out
    assert "connections      40.0 connections" in answer.out


def test_recorded_connections_are_no_number_of_clients(week: processes.Prometheus) -> None:
    """40 connections can be those of 40 clients, or of 5 clients with nconnect=8."""
    flags = ("--client-bandwidth", "10Gbit/s", "--network-rtt", "5ms", "--what-if", "nconnect=8", "--output", "json")
    (plan,) = at_prompt(week, *flags).document["plans"]
    (changed,) = plan["what_if"]

    def figures(of: dict[str, Any]) -> dict[str, tuple[float | None, float | None]]:
        return {use["resource"]: (use["demand"], use["limit"]) for use in (*of["mount_target"], *of["clients"])}

    assert figures(plan)["connections"] == (40, 100_000)
    assert figures(plan)["client network"] == (2e9, None)
    assert figures(plan)["TCP window / network RTT"] == (2e9, 40 * (3 << 20) / 0.005)
    assert figures(changed)["connections"] == (None, 100_000)
    assert figures(changed)["TCP window / network RTT"] == (2e9, None)


@answering
def of_a_new_shape(query: str, _: bool) -> Iterator[Series]:
    """A Prometheus with a mount target of a shape that this version does not know, which reads 15 of at most 20 GB/s."""
    figures = {
        "fss_mount_target_read_bytes_per_second_limit": "2e10",
        "_limit": None,
        "fss_mount_target_iops": "60000",
        "fss_mount_target_read_bytes_per_second": "1.5e10",
        "fss_mount_target_write_bytes_per_second": "5",
        "fss_mount_target_info": "1",
    }
    value = next((value for name, value in figures.items() if name in query), None)
    if value:
        yield {"mount_target_id": "ocid1.a", "address": "10.0.0.5", "shape": "hpmt-160"}, value


@pytest.mark.parametrize(
    ("flags", "shape", "count"), [((), "hpmt-160", 1), (("--shape", "hpmt-80"), "hpmt-80", 2)], ids=["own", "stated"]
)
def test_a_shape_that_is_not_known_is_planned_by_its_own_ceilings(
    flags: tuple[str, ...], shape: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "get", lambda url, *_: of_a_new_shape(url))
    (plan,) = ask("plan", "--prometheus", "http://p", *flags, "--output", "json").document["plans"]
    assert (plan["shape"], plan["mount_targets"]) == (shape, count)
    assert not any("service limit of shape standard" in sentence for sentence in plan["sentences"])
    assert {use["resource"]: use["limit"] for use in plan["mount_target"]}["IOPS"] is None


@pytest.mark.parametrize("service", [(), ("--service", "block-volume")])
def test_an_answer_from_a_part_of_the_stores_is_not_taken_for_the_whole(
    service: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thanos answers with what it has, and warns."""

    def answered(url: str, *_: object) -> str:
        return json.dumps(json.loads(of_two(url)) | {"warnings": ["No StoreAPIs matched", "store eu\x1b[31m"]})

    monkeypatch.setattr(command, "get", answered)
    answer = ask("plan", "--prometheus", "http://p", *service)
    assert answer.code == 0, answer.err
    assert answer.err.count("note: Prometheus warns: No StoreAPIs matched") == 1
    assert "\x1b" not in answer.err


@pytest.mark.parametrize("ceiling", ["1e-09", "-5", "0"])
def test_a_ceiling_that_no_mount_target_has_is_noted_and_costs_itself_alone(ceiling: str) -> None:
    values = {"info": "1", "iops_limit": ceiling, "connections_limit": "500"}

    @answering
    def server(query: str, _: bool) -> Iterator[Series]:
        for name, value in values.items():
            if f"(fss_mount_target_{name}[7d]" in query:
                yield {"mount_target_id": "ocid1.a"}, value

    notes: list[str] = []
    recorded = recorded_mount_targets(prometheus.Prometheus(server, NOW, notes.append))
    assert recorded["ocid1.a"].limits == Limits(connections=500.0)
    assert notes == [
        f"fss_mount_target_iops_limit of ocid1.a is {ceiling} and left out: no mount target has less than 1"
    ]


def test_ceilings_that_prometheus_lacks_are_those_of_the_shape(week: processes.Prometheus) -> None:
    flags = ("plan", "--prometheus", week.url, "--output", "json", "--address")

    def ceilings(address: str) -> dict[str, float | None]:
        (plan,) = ask(*flags, address).document["plans"]
        return {use["resource"]: use["limit"] for use in plan["mount_target"]}

    assert ceilings("10.0.0.6") == {
        "IOPS": 60_000,
        "read bandwidth": 1e9,
        "write bandwidth": 1e9,
        "connections": 100_000,
    }
    assert ceilings("10.0.0.3")["IOPS"] is None, "no document has a figure for hpmt-20"


@pytest.mark.parametrize("flags", [("--bytes", "1TB"), ("--latency", "2ms", "--concurrency", "8")])
def test_operations_that_oci_does_not_publish_are_not_shown_as_none(
    flags: tuple[str, ...], week: processes.Prometheus
) -> None:
    out = " ".join(at_prompt(week, *flags).out.split())
    assert "IOPS" in out
    assert " 0 operations/s" not in out
    assert "latency x concurrency 0 " not in out


def test_a_shape_that_is_asked_for_replaces_the_one_it_has(week: processes.Prometheus) -> None:
    answer = at_prompt(week, "--shape", "standard", "--output", "json", "--what-if", "shape=hpmt-40")
    (only,) = answer.document["plans"]
    assert (only["shape"], only["mount_targets"]) == ("standard", 3)
    assert (only["operations"], only["iops"]["point"]) == (None, 30_000)
    assert only["best_of_one_mount_target"]["operations_per_second"] is None
    assert only["what_if"][0]["mount_targets"] == 1


def test_the_ranked_list_has_a_figure_for_each_change(week: processes.Prometheus) -> None:
    flags = ("plan", "--prometheus", week.url, "--address", "10.0.0.1", "--advice")
    answer = ask(*flags, "--output", "json")

    assert answer.code == 0, answer.err
    assert problems(answer.document, schema_of("plan"), schema_of("plan")) == []
    assert [advice["kind"] for advice in answer.document["advice"]] == []
    assert "and 10.0.0.1 is nearest to a known ceiling, at" in " ".join(ask(*flags).out.split())
    assert "no load is known against a ceiling" in " ".join(ask(*flags, "--shape", "none").out.split())


def of_two_file_systems(query: str, _: bool, of_the_second: str, network: str = "eu-1") -> Iterator[Series]:
    """A Prometheus with a busy and a quiet mount target. Each exports a file system with the name data."""
    values = {
        "ocid1.a": ("10.0.0.5", "eu-1", "ocid1.fs-a", "45000"),
        "ocid1.b": ("10.0.0.6", network, of_the_second, "5000"),
    }
    for target, (address, own, file_system, iops) in values.items():
        labels = {"mount_target_id": target, "mount_target": target, "network": own, "address": address}
        is_figure = "fss_mount_target" in query and "limit" not in query
        if is_figure or ("fss_export_info" in query and address in query):
            yield labels | {"export": "/data", "file_system": "data", "file_system_id": file_system}, iops
        elif "fss_file_system_metadata" in query and target in query:
            yield labels | {"operation": "GETATTR", "file_system_id": file_system}, iops


@pytest.mark.parametrize(
    ("of_the_second", "network", "saves"),
    [("ocid1.fs-a", "eu-1", [pytest.approx(20_000)]), ("ocid1.fs-b", "eu-1", []), ("ocid1.fs-a", "vcn-b", [])],
    ids=["one", "two", "one in two networks"],
)
def test_load_moves_within_a_file_system_and_a_network_and_not_to_another_of_its_name(
    of_the_second: str, network: str, saves: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = answering(partial(of_two_file_systems, of_the_second=of_the_second, network=network))
    monkeypatch.setattr(command, "get", lambda url, *_: server(url))
    advice = ask("plan", "--prometheus", "http://p", "--advice", "--output", "json").document["advice"]
    moves = [change for change in advice if change["kind"] == "move"]
    assert [change["saves_iops"] for change in moves] == saves
    assert all("of the load of data from ocid1.a to ocid1.b" in change["text"] for change in moves)


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("0.95", ()),
        ("0.8", ("ocid1.a to 80 % or less", "add a mount target")),
        ("0.4", ("ocid1.a to 40 % or less", "add 2 mount targets")),
    ],
)
def test_advice_is_about_the_share_that_is_asked_for(
    target: str, wanted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = answering(partial(of_two_file_systems, of_the_second="ocid1.fs-b"))
    monkeypatch.setattr(command, "get", lambda url, *_: server(url))
    said = " ".join(ask("plan", "--prometheus", "http://p", "--advice", "--target", target).out.split())
    assert all(words in said for words in wanted), said
    assert ("or less:" in said or "or less," in said) is bool(wanted), said


def test_what_can_move_follows_from_the_sizes_of_requests_to_each_file_system() -> None:
    """The file system that both export costs 300 of 3,900: 100 READs of 4 KiB and 100 GETATTRs. The other one has large requests."""
    figures: dict[str, dict[str, dict[str, float]]] = {
        "ocid1.shared": {
            "read_requests": {"0B_to_8KiB": 100},
            "read_bytes": {"": 100 << 12},
            "metadata_operations": {"GETATTR": 100},
        },
        "ocid1.own": {
            "read_requests": {"64KiB_to_1MiB": 100},
            "read_bytes": {"": 100 << 20},
            "write_requests": {"8KiB_to_64KiB": 50},
            "write_bytes": {"": 50 << 16},
        },
    }
    exports = {"10.0.0.5": ("ocid1.a", ("ocid1.shared", "ocid1.own")), "10.0.0.6": ("ocid1.b", ("ocid1.shared",))}

    @answering
    def server(query: str, _: bool) -> Iterator[Series]:
        for address, (target, file_systems) in exports.items():
            if "fss_export_info" in query and address in query:
                for ocid in file_systems:
                    labels = {"mount_target_id": target, "mount_target": target}
                    yield labels | {"export": f"/{ocid}", "file_system_id": ocid}, "1"
        for ocid, own in figures.items():
            for name, rates in own.items():
                if "ocid1.a" in query and f"fss_file_system_{name}_per_second" in query:
                    label = "operation" if name.startswith("meta") else "size"
                    for part, rate in rates.items():
                        yield {"file_system_id": ocid, label: part}, str(rate)

    loads = {
        address: Load(
            "x",
            Traffic({"all": OperationTraffic(0.0, Bounds.exact(iops))}),
            limits=Limits(iops=50_000),
            place=place,
            moment=NOW,
        )
        for address, iops in (("10.0.0.5", 45_000.0), ("10.0.0.6", 5_000.0))
        for place in (NetworkAddress("eu-1", address),)
    }
    _, move = fleet_advice(prometheus.Prometheus(server, NOW), loads, {})
    assert move.saves_iops == pytest.approx(45_000 * 300 / 3_900)


@pytest.mark.parametrize(
    ("rsizes", "kinds"),
    [
        (("32768",), ["transfer-size"]),
        (("1048576", "32768"), []),
        (("\N{SUPERSCRIPT TWO}",), []),
        (("9" * 5000,), []),
        (("0",), []),
    ],
    ids=["one mount", "two mounts", "no digit", "no number of a kernel", "nothing"],
)
def test_mounts_of_one_export_with_different_options_get_no_advice_about_them(
    rsizes: tuple[str, ...], kinds: list[str]
) -> None:
    figures: dict[str, tuple[dict[str, str], int]] = {
        "fss_client_operations_total": ({"class": "read", "operation": "READ"}, 32_000),
        "fss_client_estimated_io": ({"class": "read"}, 64_000),
        "fss_client_read_bytes": ({}, 32_000 << 15),
    }

    @answering
    def server(query: str, _: bool) -> Iterator[Series]:
        mount = {"instance": "c1", "export": "/a", "service": "oci-fss"}
        for name, (labels, value) in figures.items():
            if name in query:
                yield mount | labels, str(value)
        if "fss_client_mount_info" in query:
            for rsize in rsizes:
                yield mount | {"rsize": rsize, "wsize": "1048576"}, "1"

    load = Load("x", Traffic(), place=NetworkAddress("eu-1", "10.0.0.1"), moment=NOW)
    advice = fleet_advice(prometheus.Prometheus(server), {"10.0.0.1": load}, {})
    assert [change.kind for change in advice] == kinds
