"""Three networks of 100 clients each with equal addresses, of which two are polled, in the engines that rules run on: part of `make test-engines`.

A pair of Prometheus servers of two versions scrapes all and writes to one VictoriaMetrics, to one Mimir and to one Thanos,
with a label that tells the servers apart. vmalert and the rulers of Mimir and Thanos evaluate the shipped rules there, and
each Prometheus evaluates them for itself.
"""

import json
import shutil
import urllib.parse
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from lab.engines.with_engines import answering, configuration, engine, growing, job
from tests.processes import answers, free_port, get, process, prometheus, wait_for
from tests.rules.pack import RULES
from tests.rules.test_networks import (
    BY_ADDRESS,
    BY_MOUNT_TARGET,
    EACH,
    IOPS_OF_A_CLIENT,
    MOUNT_TARGETS,
    clients,
    mount_targets,
)

SECONDS = 5

# Prometheus shows less than the rate of five minutes until it has five minutes, and the machine may be slow.
OF_A_RATE_S = 480

NETWORKS = ("eu", "us", "ap")
POLLED = ("eu", "us")
TARGETS = len(POLLED) * MOUNT_TARGETS
FILES = [str(RULES / name) for name in ("clients.yml", "load.yml", "service_level.yml", "monitoring.yml", "panels.yml")]
REPLICAS = ("__replica__", "any_other")


def answer_of() -> list[tuple[str, float]]:
    """What clients of all networks and a poller answer, with the growth of a counter each second."""
    of_clients = [(row["series"], float(IOPS_OF_A_CLIENT)) for name in NETWORKS for row in clients(name)]
    return of_clients + [(row["series"], 1.0) for name in POLLED for row in mount_targets(name)]


@dataclass(frozen=True)
class Store:
    """A server with series that answers queries as Prometheus does. It takes series at `written`, if others write to it."""

    name: str
    url: str
    written: str = ""

    def series(self, expression: str) -> dict[frozenset[tuple[str, str]], float]:
        query = urllib.parse.urlencode({"query": expression})
        document = json.loads(get(f"{self.url}/api/v1/query?{query}"))
        return {frozenset(stream["metric"].items()): float(stream["value"][1]) for stream in document["data"]["result"]}

    def value(self, expression: str) -> float:
        return next(iter(self.series(expression).values()), 0.0)


@dataclass(frozen=True)
class Engines:
    """The stores, all with the same clients."""

    stores: tuple[Store, ...]
    raw: tuple[Store, ...]  # those with two copies of each series
    evaluating: tuple[str, ...]  # URLs of what evaluates the rules


def victoria(folder: Path, stack: ExitStack) -> Store:
    """An empty VictoriaMetrics."""
    port = free_port()
    command = [engine("victoria-metrics"), f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={folder / 'data'}"]
    folder.mkdir()
    stack.enter_context(process([*command, "-search.latencyOffset=1s"], folder / "log"))
    wait_for(lambda: answers(f"http://127.0.0.1:{port}/health"), "VictoriaMetrics")
    url = f"http://127.0.0.1:{port}"
    return Store("VictoriaMetrics", url, f"{url}/api/v1/write")


def mimir(folder: Path, stack: ExitStack) -> Store:
    """An empty Mimir of a single process, with the default limits of a tenant. Its ruler evaluates the rules."""
    rules = folder / "rules" / "anonymous"  # the tenant of a Mimir without tenants
    rules.mkdir(parents=True)
    for name in FILES:
        shutil.copy(name, rules)
    port, alone = free_port(), {"kvstore": {"store": "inmemory"}, "instance_addr": "127.0.0.1"}
    settings = {
        "multitenancy_enabled": False,
        "usage_stats": {"enabled": False},
        "activity_tracker": {"filepath": str(folder / "activity")},
        "server": {
            "http_listen_address": "127.0.0.1",
            "http_listen_port": port,
            "grpc_listen_address": "127.0.0.1",
            "grpc_listen_port": free_port(),
            "log_level": "warn",
        },
        "distributor": {"ring": alone},
        "frontend": {"address": "127.0.0.1"},
        "query_scheduler": {"ring": alone},
        "querier": {"ring": alone},
        "ingester": {"ring": {**alone, "replication_factor": 1}},
        "store_gateway": {"sharding_ring": {**alone, "replication_factor": 1}},
        "compactor": {"data_dir": str(folder / "compactor"), "sharding_ring": alone},
        "blocks_storage": {
            "backend": "filesystem",
            "filesystem": {"dir": str(folder / "blocks")},
            "tsdb": {"dir": str(folder / "tsdb")},
            "bucket_store": {"sync_dir": str(folder / "sync")},
        },
        "ruler": {"rule_path": str(folder / "ruled"), "evaluation_interval": f"{SECONDS}s", "ring": alone},
        "ruler_storage": {"backend": "local", "local": {"directory": str(rules.parent)}},
    }
    path = folder / "mimir.yml"
    path.write_text(yaml.safe_dump(settings))
    stack.enter_context(process([engine("mimir"), f"-config.file={path}"], folder / "log"))
    wait_for(lambda: answers(f"http://127.0.0.1:{port}/ready"), "Mimir", 120)
    return Store("Mimir", f"http://127.0.0.1:{port}/prometheus", f"http://127.0.0.1:{port}/api/v1/push")


def thanos(folder: Path, stack: ExitStack) -> Store:
    """An empty Thanos: a receiver, a ruler with the rules, and the querier over both.

    Receiver and ruler each need a label of their own, which the querier removes.
    """
    folder.mkdir()
    label = "part_of_thanos"
    written, queried = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"

    def start(part: str, *flags: str, http: str = "") -> str:
        """Start a part. Returns the address at which the querier asks it."""
        grpc = f"127.0.0.1:{free_port()}"
        addresses = [f"--http-address={http or f'127.0.0.1:{free_port()}'}", f"--grpc-address={grpc}"]
        command = [engine("thanos"), part, *addresses, "--log.level=warn", *flags]
        stack.enter_context(process(command, folder / f"{part}.log"))
        return grpc

    data = f"--tsdb.path={folder / 'received'}"
    receiver = start("receive", data, f"--remote-write.address={written}", f'--label={label}="receiver"')
    rules = [f"--rule-file={name}" for name in FILES]
    data, interval = f"--data-dir={folder / 'ruled'}", f"--eval-interval={SECONDS}s"
    ruler = start("rule", data, interval, f"--query={queried}", f'--label={label}="ruler"', *rules)
    asked = [f"--endpoint={receiver}", f"--endpoint={ruler}", f"--query.replica-label={label}"]
    start("query", *asked, http=queried)
    wait_for(lambda: answers(f"http://{queried}/-/ready"), "Thanos", 60)
    return Store("Thanos", f"http://{queried}", f"http://{written}/api/v1/receive")


def vmalert(store: Store, folder: Path, stack: ExitStack) -> str:
    """Evaluates the rules in a store, and writes what they record there. Its URL."""
    own = f"127.0.0.1:{free_port()}"
    flags = ["-notifier.blackhole", f"-evaluationInterval={SECONDS}s", f"-httpListenAddr={own}"]
    urls = [f"-datasource.url={store.url}", f"-remoteWrite.url={store.url}"]
    stack.enter_context(
        process([engine("vmalert"), *(f"-rule={name}" for name in FILES), *urls, *flags], folder / "vmalert.log")
    )
    wait_for(lambda: answers(f"http://{own}/health"), "vmalert")
    return f"http://{own}"


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """The engines, with clients of three networks and mount targets of two."""
    folder = tmp_path_factory.mktemp("stores")
    with ExitStack() as stack:
        port = stack.enter_context(answering(growing({"/metrics": answer_of()})))
        raw = (victoria(folder / "victoria", stack), mimir(folder / "mimir", stack), thanos(folder / "thanos", stack))
        stores = list(raw)
        for label, program in zip(REPLICAS, ("", engine("prometheus")), strict=True):
            text = configuration(
                [job("fleet", port, scrape_interval=f"{SECONDS}s", scrape_timeout=f"{SECONDS}s")],
                rule_files=FILES,
                external_labels={label: "a"},
                remote_write=[
                    {
                        "url": store.written,
                        "write_relabel_configs": [
                            {"source_labels": ["__name__"], "regex": "fss_[a-z_]+", "action": "keep"}
                        ],
                    }
                    for store in raw
                ],
            ).replace("evaluation_interval: 15s", f"evaluation_interval: {SECONDS}s")
            running = stack.enter_context(prometheus(text, folder / label, program=program))
            stores.append(Store(program.rpartition("/")[2] or "Prometheus of the distribution", running.url))
        evaluating = (*(store.url for store in stores[1:]), vmalert(raw[0], folder, stack))
        yield Engines(tuple(stores), raw, evaluating)


def test_each_mount_target_has_the_load_of_its_own_clients_in_each_engine(engines: Engines) -> None:
    for store in engines.stores:
        near = f"count(abs({BY_MOUNT_TARGET} - {EACH}) < {EACH / 20})"
        wait_for(lambda: store.value(near) == TARGETS, f"{store.name}: {near}", OF_A_RATE_S)  # noqa: B023  # waits here
        assert store.value(f"count({BY_MOUNT_TARGET})") == TARGETS, store.name
        assert store.value(f"count({BY_ADDRESS})") == len(NETWORKS) * MOUNT_TARGETS, store.name


def test_the_store_of_a_pair_has_each_series_twice_and_each_load_once(engines: Engines) -> None:
    of_a_client = 'count by (instance) (fss_client_address_estimated_io_operations_total{instance="eu-7"})'
    for store in engines.raw:
        wait_for(lambda: store.value(of_a_client) == len(REPLICAS), f"both servers to write to {store.name}")  # noqa: B023  # waits here
        largest = f"max({BY_ADDRESS})"
        wait_for(lambda: (store.value(largest) or 0) > 0.95 * EACH, f"a rate in {store.name}", OF_A_RATE_S)  # noqa: B023  # waits here
        assert store.value(largest) == pytest.approx(EACH, rel=0.05), store.name


def test_each_engine_records_the_same_series(engines: Engines) -> None:
    names = '{__name__=~".+:.+", __name__!~"slo:.*:age|.*:left"}'

    def labels(store: Store) -> set[frozenset[tuple[str, str]]]:
        return set(store.series(names))

    first, *others = engines.stores
    for other in others:
        wait_for(lambda: labels(first) == labels(other), f"equal series in {other.name}", OF_A_RATE_S)  # noqa: B023  # waits here
    assert len(labels(first)) > 4 * MOUNT_TARGETS


def test_no_rule_fails_in_an_engine(engines: Engines) -> None:
    for url in engines.evaluating:
        groups = json.loads(get(f"{url}/api/v1/rules"))["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert {rule["health"] for rule in rules} >= {"ok"}
        assert {rule["name"]: rule["lastError"] for rule in rules if rule["health"] == "err"} == {}
