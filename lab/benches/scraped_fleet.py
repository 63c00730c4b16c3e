"""The series of a fleet, as an agent and a poller answer them: the answer of one agent, repeated for every client and its four mounts."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

from lab.benches.bench_agent import Host
from lab.benches.bench_oci import start
from lab.pictures.replay import Labels, samples_of
from tests.processes import answers, exporter, get, wait_for

from fss_toolbox.demo.region import Region

MOUNT_TARGETS, MOUNTS = 50, 4


def address_of(number: int) -> str:
    """The address of a mount target of the loopback region."""
    return f"10.96.0.{number % MOUNT_TARGETS}"


def of_agent(folder: Path, network: str) -> str:
    """What an agent with one busy mount answers."""
    host = Host(folder / "proc", 1)

    def busy() -> str:
        host.advance()
        text = get(f"{url}/metrics")
        return text if "\nfss_client_peak_estimated_iops" in text else ""

    with exporter(folder / "agent", f"--path.procfs={host.root}", f"--nfs.network={network}", "--nfs.exact=off") as url:
        return wait_for(busy, "the peak of the busiest second")


def of_poller(folder: Path, region: Region) -> str:
    """What a poller answers after its first poll."""
    running = start(region, folder)

    def polled() -> str:
        text = get(running.url)
        return text if "\nfss_oci_poll_duration_seconds{" in text else ""

    try:
        wait_for(lambda: answers(running.url), "the poller")
        return wait_for(polled, "the end of the first poll")
    finally:
        running.process.terminate()
        running.process.wait(10)


def of_clients(text: str, clients: int) -> Iterator[tuple[Labels, float]]:
    """The answer of an agent, for every client and each of its mounts."""
    pairs: dict[tuple[str, str], tuple[str, str]] = {}  # equal pairs are one object, as there are millions

    def replaced(labels: Labels, values: Mapping[str, str]) -> Labels:
        wanted = ((name, values.get(name, value)) for name, value in labels)
        return tuple(pairs.setdefault(pair, pair) for pair in wanted)

    answer = list(samples_of(text, (("instance", ""), ("job", "fss-exporter"))))
    answer += [((("__name__", name), ("instance", ""), ("job", "fss-exporter")), 1.0) for name in _OF_SCRAPES]
    for client in range(clients):
        instance = {"instance": f"client-{client}:10949"}
        for number in range(MOUNTS):
            address = address_of(client + number)
            mount = {**instance, "address": address, "server": address, "export": f"/export/{number}"}
            for labels, value in answer:
                is_of_mount = any(name == "address" for name, _ in labels)
                if is_of_mount or number == 0:
                    yield replaced(labels, mount if is_of_mount else instance), _random(labels[0][1], value)


_OF_SCRAPES = ("up", "scrape_duration_seconds", "scrape_samples_scraped")


def _random(name: str, value: float) -> float:
    return random.lognormvariate(2, 1) if name.endswith("_total") else value  # no secret
