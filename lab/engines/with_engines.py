"""Native histograms and start timestamps in a Prometheus 3: `make test-engines`, which builds it with Go.

An agent in exact mode, from recordings of a kernel, is scraped by the Prometheus of the distribution and by a Prometheus 3.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from lab.pictures.scenes import panels_of
from tests import exact_recordings, latency_accuracy
from tests.artefacts.promql import substituted
from tests.exposition_text import written
from tests.local_server import Quiet, serving
from tests.processes import Prometheus, get, prometheus, wait_for
from tests.rules.pack import ROOT, RULES

from fss_exporter.addresses import NetworkAddress
from fss_exporter.nfs.collector import Answer
from fss_kernel_counting.durations.request_durations import request_families
from fss_toolbox.plan import prometheus_api
from fss_toolbox.plan.client_moments import ClientsMoment, client_sizes
from fss_toolbox.plan.load import SizeShare

INTERVAL_S = 15
HISTOGRAM = "fss_client_request_duration_seconds"


def engine(name: str) -> str:
    """The program that `make test-engines` has built."""
    return str(Path(os.environ["ENGINES"]) / name)


@contextmanager
def answering(answer: Callable[[str], str], content_type: str = "text/plain; version=0.0.4") -> Iterator[str]:
    """A server that answers each path with a text; its port."""

    class Answering(Quiet):
        def get(self) -> None:
            self.answer(answer(self.path), content_type=content_type)

    with serving(Answering) as address:
        yield address.rpartition(":")[2]


def growing(texts: Mapping[str, Sequence[tuple[str, float]]]) -> Callable[[str], str]:
    """Answers by path, whose counters grow. A line has its growth a second, or its value."""
    began = time.time()

    def answer(path: str) -> str:
        grown = time.time() - began
        lines = (
            (line, "") if line[0] == "#" else (line, f" {_value(line, value, grown)}") for line, value in texts[path]
        )
        return "".join(f"{line}{value}\n" for line, value in lines)

    return answer


def _value(series: str, value: float, grown: float) -> float:
    name = series.partition("{")[0]
    if name.endswith(("_total", "_bucket", "_sum", "_count")):
        return value * grown
    return time.time() if name.endswith("_timestamp_seconds") else value


def of_exact_mode(folder: Path) -> list[tuple[str, float]]:
    """What an agent in exact mode answers of durations and sizes, from recordings of a kernel. A comment has no value."""
    (latency,) = latency_accuracy.load_all()
    recording = exact_recordings.load_all()[0]
    totals = latency.replayed()
    families = [
        *request_families(totals, Answer(addresses={address for address, _ in totals.requests})),
        *recording.families(recording.sysfs(folder)),
    ]
    lines = written(families).splitlines()
    return [(line, 0.0) if line[0] == "#" else _parted(line) for line in lines]


def _parted(line: str) -> tuple[str, float]:
    series, _, value = line.rpartition(" ")
    return series, float(value)


def job(name: str, port: int | str, path: str = "/metrics", **settings: object) -> dict[str, object]:
    """A scrape job. The clients of the fleet are in one answer, with a label `instance` each."""
    target = {"static_configs": [{"targets": [f"127.0.0.1:{port}"]}], "metrics_path": path}
    return {"job_name": name, "honor_labels": True, **target, **settings}


def configuration(jobs: Sequence[object], **settings: object) -> str:
    times = {"scrape_interval": f"{INTERVAL_S}s", "evaluation_interval": f"{INTERVAL_S}s"}
    labels = settings.pop("external_labels", {})
    return yaml.safe_dump({"global": {**times, "external_labels": labels}, "scrape_configs": jobs, **settings})


@dataclass(frozen=True)
class Forms:
    """Two servers with the same agent in exact mode: one keeps the buckets, a Prometheus 3 makes native histograms of them."""

    buckets: Prometheus
    native: Prometheus


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forms]:
    """Both servers, with what the rules record of the histograms."""
    folder = tmp_path_factory.mktemp("native")
    rules = [str(RULES / "panels.yml")]
    with ExitStack() as stack:
        port = stack.enter_context(answering(growing({"/metrics": of_exact_mode(folder / "sysfs")})))
        text = configuration([job("exact", port)], rule_files=rules)
        buckets = stack.enter_context(prometheus(text, folder / "buckets"))
        text = configuration([job("exact", port, convert_classic_histograms_to_nhcb=True)], rule_files=rules)
        native = stack.enter_context(prometheus(text, folder / "native", program=engine("prometheus")))
        wait_for(lambda: buckets.query(f"address_class_le:{HISTOGRAM}_bucket:rate5m > 0"), "recorded buckets")
        wait_for(lambda: native.query(f"address_class:{HISTOGRAM}:rate5m"), "recorded native histograms")
        yield Forms(buckets, native)


def quantiles(server: Prometheus, expression: str) -> dict[str, float]:
    streams = server.query(f"histogram_quantile(0.95, {expression})")
    return {stream["metric"]["class"]: float(stream["value"][1]) for stream in streams if stream["value"][1] != "NaN"}


def test_native_histograms_have_the_quantiles_of_the_buckets(forms: Forms) -> None:
    buckets = quantiles(forms.buckets, f"sum by (class, le) (address_class_le:{HISTOGRAM}_bucket:rate5m)")

    assert buckets
    assert not forms.native.query(f"{HISTOGRAM}_bucket")
    assert quantiles(forms.native, f"sum by (class) (address_class:{HISTOGRAM}:rate5m)") == pytest.approx(
        buckets, rel=0.02
    )


def heat_map(title: str) -> str:
    """The query of a heat map of the client dashboard, with all clients chosen."""
    dashboard = json.loads((ROOT / "dashboards/clients.json").read_text("utf-8"))
    (panel,) = (panel for panel in panels_of(dashboard) if panel["title"] == title)
    (target,) = panel["targets"]
    return substituted(target["expr"])


def shares(counts: Mapping[float, float]) -> dict[float, float]:
    """Counts as shares of all. Two servers do not scrape at the same moments, so their rates differ."""
    whole = sum(counts.values())
    return {edge: count / whole for edge, count in counts.items() if count > 0}


@pytest.mark.parametrize("title", ["Durations of requests", "READ sizes", "WRITE sizes"])
def test_a_heat_map_has_the_same_buckets_of_native_histograms_as_of_series(forms: Forms, title: str) -> None:
    query = heat_map(title)
    at_most = {float(stream["metric"]["le"]): float(stream["value"][1]) for stream in forms.buckets.query(query)}
    (native,) = forms.native.query(query)
    of_native = {float(edge): float(count) for _, _, edge, count in native["histogram"][1]["buckets"]}

    edges, upto = zip(*sorted(at_most.items()), strict=True)
    counts = (count - below for below, count in zip((0.0, *upto), upto, strict=False))
    of_buckets = shares(dict(zip(edges, counts, strict=True)))
    assert len(of_buckets) > 1
    assert shares(of_native) == pytest.approx(of_buckets, rel=0.02)


def test_a_native_histogram_takes_one_series_in_place_of_its_buckets(forms: Forms) -> None:
    scraped = 'count({{__name__=~"fss_client_(io_size_bytes|request_duration_seconds){}"}})'
    series = forms.buckets.value(scraped.format("_(bucket|sum|count)")), forms.native.value(scraped.format(""))
    print("series of the histograms of an agent: buckets, native", series)

    edges = forms.buckets.value(f"max(count by (address, class) ({HISTOGRAM}_bucket))")
    assert edges
    assert series[0]
    assert series[1]
    assert series[0] / series[1] > edges / 2


def test_plan_finds_the_sizes_in_native_histograms(forms: Forms) -> None:
    (address, network) = next(
        (stream["metric"]["address"], stream["metric"]["network"])
        for stream in forms.buckets.query("rate(fss_client_io_size_bytes_count[5m]) > 0")
    )
    subject = ClientsMoment(NetworkAddress(network, address), time.time())

    def sizes(server: Prometheus) -> dict[str, tuple[SizeShare, ...]]:
        return client_sizes(prometheus_api.Prometheus(lambda path: get(f"{server.url}{path}")), [subject])[subject]

    of_buckets, of_histograms = sizes(forms.buckets), sizes(forms.native)

    assert of_buckets
    assert of_histograms.keys() == of_buckets.keys()
    for operation, shares in of_buckets.items():
        assert [tuple(row) for row in of_histograms[operation]] == [
            pytest.approx(tuple(share), rel=0.05) for share in shares
        ]


FEATURES = ("", "created-timestamp-zero-ingestion", "st-storage,use-start-timestamps")


@pytest.mark.parametrize("features", FEATURES)
def test_a_zero_and_a_start_timestamp_together_count_the_first_operations_once(tmp_path: Path, features: str) -> None:
    born, asked = time.time(), []

    def answer(path: str) -> str:
        asked.append(path)
        series = f"new_total {0 if len(asked) == 1 else 5000}\nnew_created {born}\n"
        return f"# TYPE new counter\n{series}# EOF\n"

    flags = [f"--enable-feature={features}"] if features else []
    with answering(answer, "application/openmetrics-text; version=1.0.0; charset=utf-8") as port:
        text = configuration([job("new", port, scrape_interval="1s", scrape_timeout="1s")])
        with prometheus(text, tmp_path, *flags, program=engine("prometheus")) as server:
            wait_for(lambda: (server.value("count_over_time(new_total[1m])") or 0) >= 10, "ten samples")
            counted = server.value("increase(new_total[1m])")

    assert counted
    assert 4_900 < counted < 7_500, (
        "5,000, extrapolated to at most an interval before the first and after the last sample"
    )
