"""History of three agents in exact mode for the pictures of the client dashboard, from recordings of a real kernel.

The clients of the demo have no kernel that counts. So the counters of the recordings grow here for some time, at a
speed of their own for each client.
"""

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lab.pictures.replay import Labels, Rules, Server
from tests import exact_recordings, latency_accuracy

from fss_exporter.catalogue import family
from fss_exporter.nfs.collector import Answer
from fss_kernel_counting.durations.request_durations import request_families

STEP_S = 15
_ADDRESS = "10.80.1.10"
NETWORK = "eu-frankfurt-1"
_CLIENTS = ("render-1:10949", "render-2:10949", "build-7:10949")
_PERIODS_S = (900, 1500, 2400)
_SHORTEST_S = 60.0  # time in which a client repeats a whole recording
_PROCESSES = (
    ("partar", "", "", "backup.service", 900.0),
    ("python3", "train", "epoch-4kz2p", "", 2600.0),
    ("mysqld", "", "", "mysqld.service", 400.0),
    ("kernel", "", "", "", 35.0),
    ("other", "", "", "", 120.0),
)
_JOBS = (("48211", 2600.0), ("48190", 400.0), ("other", 1300.0))


class Counter(NamedTuple):
    """A counter of an agent, as text with labels, and its growth in a second."""

    name: str
    labels: tuple[tuple[str, str], ...]
    per_second: float


def _recorded() -> Iterator[Counter]:
    """Counters of the recordings, as if each recording took a minute."""
    (latency,) = latency_accuracy.load_all()
    addresses = {address for address, _ in latency.replayed().requests}
    sources = [list(request_families(latency.replayed(), Answer(addresses=addresses)))]
    for recording in exact_recordings.load_all():
        with tempfile.TemporaryDirectory() as folder:
            sources.append(recording.families(recording.sysfs(Path(folder))))
    for families in sources:
        for counted in families:
            for sample in counted.samples:
                if counted.type in {"counter", "histogram"} and sample.value:
                    yield Counter(
                        sample.name, tuple({**sample.labels, "network": NETWORK}.items()), sample.value / _SHORTEST_S
                    )
    processes = family(
        "fss_client_process_io_operations_total",
        (((NETWORK, _ADDRESS, *map(str, names)), float(rate)) for *names, rate in _PROCESSES),
        labels=("network", "address", "process", "pod_namespace", "pod_name", "unit"),
    )
    rates = (((NETWORK, _ADDRESS, jobid), rate) for jobid, rate in _JOBS)
    jobs = family("fss_client_job_io_operations_total", rates, labels=("network", "address", "jobid"))
    for sample in (*processes.samples, *jobs.samples):
        yield Counter(sample.name, tuple({**sample.labels, "network": NETWORK}.items()), sample.value)


def _grown(seconds: float, period_s: float) -> float:
    """Seconds of full speed in a time, at a speed between a tenth and full that goes up and down."""
    turn = 2 * math.pi / period_s
    return 0.55 * seconds + 0.45 / turn * (1 - math.cos(turn * seconds))


def _growth() -> dict[Labels, float]:
    """Growth in a second of each counter of one client. The recordings have different servers. Here all belong to one mount target."""
    growth: dict[Labels, float] = {}
    for counter in _recorded():
        named = tuple((key, _ADDRESS if key == "address" else value) for key, value in counter.labels)
        labels = (("__name__", counter.name), *named)
        growth[labels] = growth.get(labels, 0.0) + counter.per_second
    return growth


def play(server: Server, start: int, end: int, groups: Sequence[Any]) -> None:
    """Give a Prometheus the history of three clients, with the rules of the panels evaluated once a minute."""
    growth, rules = _growth(), Rules(server, groups)
    for at in range(start, end + 1, STEP_S):
        server.write(_samples(growth, at - start), at)
        if (at - start) % 60 == 0:
            rules.evaluate(at)


def _samples(growth: Mapping[Labels, float], seconds: int) -> Iterator[tuple[Labels, float]]:
    for client, period_s in zip(_CLIENTS, _PERIODS_S, strict=True):
        of_client = (("instance", client), ("job", "fss"))
        grown = _grown(seconds, period_s)
        for labels, per_second in growth.items():
            yield (*labels, *of_client), per_second * grown
        at = (("address", _ADDRESS), ("network", NETWORK))
        yield (("__name__", "fss_client_address_estimated_io_operations_total"), *at, *of_client), 1500 * grown
        yield (("__name__", "fss_client_unanswered_seconds"), *at, *of_client), 0.0
