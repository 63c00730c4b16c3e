"""`plan --prometheus` of many mount targets: which moment of each counts, and how much a Prometheus is asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from tests import processes
from tests.local_server import Quiet, serving
from tests.prompt import ask

from fss_exporter.model.limits import SHAPES, Limits
from fss_toolbox import fetch
from fss_toolbox.plan import prometheus_api
from fss_toolbox.plan.fleet import fleet_advice
from fss_toolbox.plan.history import of_mount_targets, of_service, with_growth
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import DAY_S, STEP_S, WEEK_S, Prometheus
from fss_toolbox.plan.recorded_mount_targets import other_services, recorded_mount_targets

NOW = 1_790_000_000
MOUNT_TARGETS = 40
STANDARD = SHAPES["standard"].limits


# Addresses with the storage services that clients named, and the ages of the names in seconds.
SERVICES = [
    ("10.0.0.2", "lustre", DAY_S),
    ("10.0.0.2", "oci-fss", 60),
    ("10.0.0.20", "lustre", 60),
    ("10.0.0.9", "lustre", 60),
    ("10.0.3.1", "oci-fss", DAY_S),
    ("10.0.3.1", "apsara-nas", 60),
    ("10.0.3.2", "apsara-nas", DAY_S),
    ("10.0.3.2", "oci-fss", 60),
    ("10.0.3.3", "oci-fss", 60),
    ("10.0.3.3", "none", 60),
    ("10.0.3.4", "none", DAY_S),
    ("10.0.3.5", "none", 60),
    ("10.0.3.5", "lustre", 60),
    ("", "none", 60),
]


def busy_until(number: int) -> int:
    """The end of the busiest five minutes of a mount target, each at another time of the week."""
    return NOW - WEEK_S + 3600 + number * 3 * 3600 // 2 // STEP_S * STEP_S


def of_mount_target(number: int) -> str:
    return f'mount_target="mt-{number}",mount_target_id="ocid1.{number}"'


def _history() -> Iterator[str]:
    """Mount target n does 1,000 + n GETATTRs a second, all of its two scraped clients."""
    gauges = {"iops": 1000.0, "read_bytes_per_second": 0.0, "write_bytes_per_second": 0.0}
    yield "# TYPE fss_mount_target_info gauge\n"
    for number in range(MOUNT_TARGETS):
        labels = f'{of_mount_target(number)},network="eu-1",address="10.0.0.{number}",shape="standard"'
        yield f"fss_mount_target_info{{{labels}}} 1 {NOW - 60}\n"
    # The last mount target was a standard one until yesterday.
    changed = f'{of_mount_target(MOUNT_TARGETS)},network="eu-1",address="10.0.1.0"'
    yield f'fss_mount_target_info{{{changed},shape="standard"}} 1 {NOW - DAY_S}\n'
    yield f'fss_mount_target_info{{{changed},shape="hpmt-20"}} 1 {NOW - 60}\n'
    # Another one, that a dead poller saw, has its last known shape.
    lost = 'mount_target="lost",mount_target_id="ocid1.lost",network="eu-1",address="10.0.2.0",shape="hpmt-40"'
    yield f"fss_mount_target_info{{{lost}}} 1 {NOW - 2 * DAY_S}\n"
    for name, value in gauges.items():
        yield f"# TYPE fss_mount_target_{name} gauge\n"
        for number in range(MOUNT_TARGETS):
            for minute in range(10):
                at = busy_until(number) - 60 * (9 - minute) - 30
                share = 1.0 if minute > 4 else 0.5
                more = number if name == "iops" else 0
                yield f"fss_mount_target_{name}{{{of_mount_target(number)}}} {(value + more) * share} {at}\n"
    limits = {"iops_limit": (50_000, NOW - DAY_S), "read_bytes_per_second_limit": (2.5e9, NOW - 60)}
    for name, (ceiling, at) in limits.items():
        yield f"# TYPE fss_mount_target_{name} gauge\n"
        yield f"fss_mount_target_{name}{{{of_mount_target(MOUNT_TARGETS)}}} {ceiling} {at}\n"
        yield f'fss_mount_target_{name}{{mount_target="lost",mount_target_id="ocid1.lost"}} 5 {NOW - 2 * DAY_S}\n'
    counters = {
        "operations": (',class="metadata_read",operation="GETATTR"', 1.0),
        "estimated_io_operations": (',class="metadata_read"', 1.0),
        "read_bytes": ("", 0.0),
    }
    for name, (labels, share) in counters.items():
        yield f"# TYPE fss_client_{name} counter\n"
        for number in range(MOUNT_TARGETS):
            for client in range(2):
                mount = f'network="eu-1",instance="c{client}",address="10.0.0.{number}",server="s",export="/{number}"'
                for minute in range(10):
                    value = (1000 + number) / 2 * share * 60 * minute
                    at = busy_until(number) - 60 * (9 - minute) - 30
                    yield f'fss_client_{name}_total{{{mount},service="oci-fss"{labels}}} {value} {at}\n'
    yield from _busy_networks()
    yield from _named_services()
    yield "# EOF\n"


def _busy_networks() -> Iterator[str]:
    """At a busy moment, two hosts use more than 80 % of their network in both directions. Two hosts of one name send 60 % each."""
    rates = {
        "received": {'instance="full",job="a"': 9e5, 'instance="writer",job="a"': 8.5e5, 'instance="two",job="a"': 1.0},
        "sent": {'instance="full",job="a"': 8.2e5, 'instance="writer",job="a"': 9.7e5, 'instance="two",job="a"': 6e5},
    }
    for by_host in rates.values():
        by_host['instance="two",job="b"'] = by_host['instance="two",job="a"']
    for way, by_host in rates.items():
        yield f"# TYPE fss_nfs_{way}_bytes counter\n"
        for minute in range(10):
            at = busy_until(0) - 60 * (9 - minute) - 30
            for host, rate in by_host.items():
                yield f"fss_nfs_{way}_bytes_total{{{host}}} {rate * 60 * minute} {at}\n"
    yield "# TYPE fss_client_network_bytes_per_second_limit gauge\n"
    for instance in ("full", "writer", "two"):
        yield f'fss_client_network_bytes_per_second_limit{{instance="{instance}"}} 1e6 {busy_until(0) - 30}\n'


def _named_services() -> Iterator[str]:
    yield "# TYPE fss_client_service_info gauge\n"
    for address, service, age in SERVICES:
        labels = f'network="eu-1",address="{address}",service="{service}"'
        yield f"fss_client_service_info{{{labels}}} 1 {NOW - age}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[processes.Prometheus]:
    with processes.prometheus_of(_history(), tmp_path_factory.mktemp("fleet")) as running:
        yield running


class Asked:
    """A real Prometheus, and the paths that it was asked for."""

    def __init__(self, server: processes.Prometheus) -> None:
        self.paths: list[str] = []
        self._url = server.url
        self.prometheus = Prometheus(self._get, NOW)

    def _get(self, path: str) -> str:
        self.paths.append(path)
        return processes.get(f"{self._url}{path}")

    def loads(self) -> dict[str, Load]:
        recorded = recorded_mount_targets(self.prometheus)
        return of_mount_targets(self.prometheus, recorded, lambda *_: STANDARD, None, ())


def test_each_mount_target_has_its_own_moment_and_the_mix_of_its_own_clients(server: processes.Prometheus) -> None:
    loads = Asked(server).loads()

    for number in range(MOUNT_TARGETS):
        load = loads[f"10.0.0.{number}"]
        assert load.moment == busy_until(number)
        assert load.traffic.operations["GETATTR"].operations == pytest.approx(1000 + number)
        assert load.iops_figure is not None
        assert load.iops_figure.coverage == pytest.approx(1.0)


def test_many_mount_targets_share_requests_that_every_proxy_passes_on(server: processes.Prometheus) -> None:
    asked = Asked(server)
    loads = asked.loads()
    of_week = [path for path in asked.paths if "query_range" in path]
    with_growth(asked.prometheus, loads)
    of_growth = len(asked.paths)
    fleet_advice(asked.prometheus, loads, {})

    assert len(of_week) < MOUNT_TARGETS * 2, "whatever their number"
    assert len(asked.paths) - len(of_week) < MOUNT_TARGETS * 3, "of 30 queries for each"
    assert of_growth < len(asked.paths)
    assert max(map(len, asked.paths)) < 8 * 1024


def test_one_mount_target_of_many_asks_for_its_own_week(server: processes.Prometheus) -> None:
    asked = Asked(server)
    recorded = recorded_mount_targets(asked.prometheus, "10.0.0.7")
    loads = of_mount_targets(asked.prometheus, recorded, lambda *_: STANDARD, "10.0.0.7", ())

    assert {name: load.moment for name, load in loads.items()} == {"10.0.0.7": busy_until(7)}
    of_week = [
        query for path in asked.paths if "query_range" in path for query in parse_qs(urlsplit(path).query)["query"]
    ]
    assert of_week
    assert all("ocid1" in query or "10.0.0.7" in query for query in of_week)


def test_a_full_network_is_that_of_one_host_in_its_busier_direction(server: processes.Prometheus) -> None:
    asked = Asked(server)
    advice = fleet_advice(asked.prometheus, asked.loads(), {})

    networks = {change.client: change.text for change in advice if change.kind == "network"}
    assert networks.keys() == {"full", "writer"}
    assert networks["full"].endswith("are used, 90%")
    assert networks["writer"].endswith("are used, 97%")


def test_an_address_is_of_the_service_that_clients_name_now(server: processes.Prometheus) -> None:
    services = other_services(Asked(server).prometheus)

    assert {place.address: service for place, service in services.items()} == {
        "10.0.0.20": "lustre",
        "10.0.0.9": "lustre",
        "10.0.3.1": "apsara-nas",
        "10.0.3.4": "none",
        # One client names the service of this address and another one does not know the service.
        "10.0.3.5": "lustre",
    }


def test_the_load_of_a_service_is_that_of_the_addresses_which_clients_name_now(server: processes.Prometheus) -> None:
    """In the order of the names, whichever was busy first in the week."""
    assert list(of_service(Asked(server).prometheus, "lustre", Limits(), None)) == ["10.0.0.20", "10.0.0.9"]


def test_the_note_about_an_address_of_no_known_service_names_no_flag(
    server: processes.Prometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus_api, "time", SimpleNamespace(time=lambda: NOW))
    said = " ".join(ask("plan", "--prometheus", server.url).err.split())

    assert "10.0.3.1 is of apsara-nas: ask with --service apsara-nas --prometheus" in said
    assert "10.0.3.4 is of no known service" in said
    assert "--service none" not in said


def test_an_earlier_shape_and_its_ceilings_do_not_count(server: processes.Prometheus) -> None:
    recorded = recorded_mount_targets(Asked(server).prometheus)

    changed = recorded[f"ocid1.{MOUNT_TARGETS}"]
    assert (changed.shape, changed.limits) == ("hpmt-20", Limits(read_bytes_per_second=2.5e9))
    lost = recorded["ocid1.lost"]
    assert (lost.shape, lost.limits) == ("hpmt-40", Limits(iops=5, read_bytes_per_second=5))


def week_of(figure: Callable[[float], float], spans: list[tuple[float, float]]) -> Callable[[str], str]:
    """A Prometheus with a series whose value is a function of the moment. `spans` get the first and last asked moments."""

    def answer(path: str) -> str:
        query = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        begin, end, step = (float(query[name]) for name in ("start", "end", "step"))
        moments = [begin + number * step for number in range(int((end - begin) // step) + 1)]
        spans.append((moments[0], moments[-1]))
        values = [[moment, str(figure(moment))] for moment in moments]
        return json.dumps({"status": "success", "data": {"result": [{"metric": {}, "values": values}]}})

    return answer


@pytest.mark.parametrize("peak", [NOW - WEEK_S + STEP_S, NOW - 3 * DAY_S, NOW - 3 * DAY_S + STEP_S, NOW])
def test_the_busiest_moment_of_any_day_counts(peak: int) -> None:
    prometheus = Prometheus(week_of(lambda moment: float(moment == peak), []), NOW)
    (busiest,) = prometheus.busiest({"a": "a"}, lambda _: "", lambda _, figures: (figures["a"],)).values()

    assert (busiest.moment, busiest.figures, busiest.newest) == (peak, {"a": 1.0}, NOW)


@pytest.mark.parametrize("days", [28, 15, 7, 1])
def test_each_of_the_last_days_is_there_once(days: int) -> None:
    prometheus = Prometheus(week_of(lambda moment: moment, []), NOW)

    assert prometheus.daily("a", days, lambda _: "")[""] == [
        (moment / DAY_S, moment) for moment in range(NOW - (days - 1) * DAY_S, NOW + 1, DAY_S)
    ]


def test_of_equal_moments_the_latest_counts() -> None:
    prometheus = Prometheus(week_of(lambda _: 5.0, []), NOW)

    assert prometheus.busiest({"a": "a"}, lambda _: "", lambda _, figures: (figures["a"],))[""].moment == NOW


def test_an_answer_has_a_day_because_a_week_of_a_thousand_mount_targets_is_too_long() -> None:
    spans: list[tuple[float, float]] = []
    Prometheus(week_of(lambda _: 5.0, spans), NOW).busiest({"a": "a"}, lambda _: "", lambda *_: (0.0,))

    assert all(end - begin < DAY_S for begin, end in spans)
    assert [begin for begin, _ in spans[1:]] == [end + STEP_S for _, end in spans[:-1]]
    assert (spans[0][0], spans[-1][1]) == (NOW - WEEK_S + STEP_S, NOW)


@pytest.mark.parametrize(("slow", "why"), [("query_range", "Prometheus has no fss_client_"), ("query?", "no answer")])
def test_a_server_may_take_its_time_for_a_day_and_not_for_the_first_question(
    slow: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_TIMEOUT_S", 0.5)
    pauses = iter([1.0])

    class Busy(Quiet):
        def get(self) -> None:
            if slow in self.path:
                threading.Event().wait(next(pauses, 0.0))
            with suppress(OSError):  # the client may be gone
                self.answer('{"status": "success", "data": {"result": []}}')

    with serving(Busy) as address:
        answer = ask("plan", "--prometheus", f"http://{address}")
    assert answer.code == 1
    assert why in " ".join(answer.err.split())
