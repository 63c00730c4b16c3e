"""History of three agents in exact mode for the pictures of the client dashboard, from recordings of a real kernel.

The clients of the demo have no kernel that counts. So the counters of the recordings grow here for some time, at a
speed of their own for each client, and promtool writes a database of Prometheus from them.
"""

import math
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests import exact_recordings, latency_accuracy
from tests.processes import require

from fss_exporter.catalogue import family
from fss_exporter.model.cost_overrides import NO_OVERRIDES
from fss_exporter.nfs.collector import Answer
from fss_kernel_counting.durations.request_durations import request_families
from fss_kernel_counting.sizes.counted_costs import counted_families

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
            sources.append(list(counted_families(recording.counted(recording.sysfs(Path(folder))), NO_OVERRIDES)))
    for families in sources:
        for one in families:
            for sample in one.samples:
                if one.metric.kind in {"counter", "histogram"} and sample.value:
                    yield Counter(
                        sample.name, tuple({**sample.labels, "network": NETWORK}.items()), sample.value / _SHORTEST_S
                    )
    processes = family("fss_client_process_io_operations_total")
    for *names, rate in _PROCESSES:
        processes.add_metric((NETWORK, _ADDRESS, *(str(name) for name in names)), float(rate))
    for sample in processes.samples:
        yield Counter(sample.name, tuple({**sample.labels, "network": NETWORK}.items()), sample.value)


def _grown(seconds: float, period_s: float) -> float:
    """Seconds of full speed in a time, at a speed between a tenth and full that goes up and down."""
    turn = 2 * math.pi / period_s
    return 0.55 * seconds + 0.45 / turn * (1 - math.cos(turn * seconds))


def history(start: int, end: int) -> Iterator[str]:
    """Lines of OpenMetrics with every counter of every client from start to end, in epoch seconds."""
    growth: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for counter in _recorded():
        place = counter.name, tuple((key, _ADDRESS if key == "address" else value) for key, value in counter.labels)
        growth[place] = growth.get(place, 0.0) + counter.per_second
    # The recordings have different servers. Here all belong to the chosen mount target.
    for (name, labels), per_second in sorted(growth.items()):
        for client, period_s in zip(_CLIENTS, _PERIODS_S, strict=True):
            text = ",".join(f'{key}="{value}"' for key, value in (*labels, ("instance", client), ("job", "fss")))
            for at in range(start, end + 1, STEP_S):
                yield f"{name}{{{text}}} {per_second * _grown(at - start, period_s):.6g} {at}\n"
    yield from _chosen(end)
    yield "# EOF\n"


def _chosen(end: int) -> Iterator[str]:
    """The series from which the dashboard takes mount target and clients."""
    yield f'address:fss_client_estimated_iops:rate5m{{address="{_ADDRESS}"}} 4000 {end}\n'
    for client in _CLIENTS:
        labels = f'address="{_ADDRESS}",instance="{client}",job="fss"'
        yield f"fss_client_address_requests_total{{{labels}}} 1 {end}\n"


def write_database(folder: Path, start: int, end: int) -> None:
    """Write a database of Prometheus with the history."""
    text = folder / "history.txt"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(history(start, end))
    command = [
        require("promtool", "prometheus"),
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        str(text),
        str(folder / "data"),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
