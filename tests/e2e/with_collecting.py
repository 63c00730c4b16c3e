"""Prometheus in agent mode, with the configuration of docs/collecting.md, sends on what a direct scrape has."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fss_exporter.nfs.records import mountinfo, mountstats, write_procfs
from tests.processes import Prometheus, exporter, process, prometheus, require, wait_for

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "collecting.md"

DIRECT = """
scrape_configs:
  - job_name: direct
    scrape_interval: 1s
    static_configs:
      - targets: ["{target}"]
"""

# Series whose values rest while the counters of the kernel rest. Those of an address count its seconds, and a collector sends some seconds at once.
OF_MOUNTS = '__name__=~"fss_client_.+", __name__!~"fss_client_(peak_estimated_iops|address_seconds_total|address_state_age_seconds)"'


def documented(section: str) -> str:
    """The first code of a section."""
    text = DOCUMENT.read_text().partition(f"## {section}\n")[2]
    return text.partition("```")[2].partition("\n")[2].partition("```")[0]


def host(root: Path, count: int) -> Path:
    """A procfs with a mount: so many READs, LOOKUPs and REMOVEs."""
    operations = dict.fromkeys(("READ", "LOOKUP", "REMOVE"), count)
    write_procfs(root, mountstats(operations, age=1000 + count, read_bytes=count * 4096), mountinfo())
    return root


def series(server: Prometheus, job: str, selector: str = OF_MOUNTS) -> dict[frozenset[tuple[str, str]], str]:
    """Values of the series of a job, by all labels except the job."""
    series = server.query(f'{{job="{job}", {selector}}}')
    return {frozenset({**stream["metric"], "job": ""}.items()): stream["value"][1] for stream in series}


def names(server: Prometheus, job: str) -> set[str]:
    """Names of the metrics of the exporter that a job has."""
    return {
        stream["metric"]["__name__"]
        for stream in server.query(f'count by (__name__) ({{job="{job}", __name__=~"fss_.+"}})')
    }


def agree(server: Prometheus) -> bool:
    """Whether both jobs have the same series, among them those of a scrape that succeeded."""
    return (
        series(server, "fss") == series(server, "direct")
        and names(server, "fss") == names(server, "direct")
        and series(server, "fss", '__name__="up"') == series(server, "direct", '__name__="up"')
        and server.value('up{job="fss"}') == 1
    )


@dataclass(frozen=True)
class Scraped:
    """An agent, and a server that scrapes the agent and takes remote writes."""

    agent: str
    server: Prometheus
    stop_agent: Callable[[], None]

    def replaced(self, text: str) -> str:
        """A documented text with the addresses of the test and an interval of a second."""
        text = text.replace("127.0.0.1:10949", self.agent.removeprefix("http://")).replace("60s", "1s")
        return text.replace("http://prometheus.example.com:9090", self.server.url)


@contextmanager
def scraped(folder: Path) -> Iterator[Scraped]:
    """A scraped agent."""
    root = host(folder / "proc", 100)
    with ExitStack() as agent:
        flags = (f"--path.procfs={root}", "--nfs.scrapers=2", "--nfs.exact=off")
        url = agent.enter_context(exporter(folder / "agent", *flags))
        direct = DIRECT.format(target=url.removeprefix("http://"))
        with prometheus(direct, folder / "server", "--web.enable-remote-write-receiver") as server:
            yield Scraped(url, server, agent.close)


def assert_sends_what_a_direct_scrape_has(command: list[str], folder: Path, agent: Scraped) -> None:
    """Names, labels and values of the job `fss` are those of the job `direct`: after the counters moved, and after the end of
    the agent.
    """
    server = agent.server
    with process(command, folder / "sender.log"):
        wait_for(lambda: series(server, "fss"), f"the sent samples, see {folder / 'sender.log'}")
        host(folder / "proc", 350)
        moved = 'fss_client_operations_total{job="direct", operation="REMOVE"}'
        wait_for(lambda: server.value(moved) == 250, "the counters to move")
        # A scrape that a busy machine lets take longer than a second has none of these.
        wait_for(lambda: agree(server), "the same names and values on both ways")
        agent.stop_agent()
        wait_for(lambda: server.value('up{job="fss"}') == 0, "the end of the agent")
        wait_for(lambda: not series(server, "fss"), "the series to end")


def test_prometheus_in_agent_mode_sends_the_metrics_on(tmp_path: Path) -> None:
    with scraped(tmp_path) as agent:
        configuration = tmp_path / "agent.yml"
        configuration.write_text(agent.replaced(documented("Prometheus in agent mode")))
        command = [
            require("prometheus", "prometheus"),
            "--enable-feature=agent",
            f"--config.file={configuration}",
            f"--storage.agent.path={tmp_path / 'data'}",
            "--web.listen-address=127.0.0.1:0",
        ]
        assert_sends_what_a_direct_scrape_has(command, tmp_path, agent)
