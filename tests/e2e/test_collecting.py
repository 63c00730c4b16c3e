"""The configuration for Prometheus in agent mode, as docs/collecting.md gives it, sends everything on."""

from pathlib import Path

from tests.processes import exporter, process, prometheus, require, wait_for

from fss_exporter.demo.recorded_clients import Clients

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "collecting.md"


def documented() -> str:
    """The YAML of the document's section."""
    section = DOCUMENT.read_text().partition("## Prometheus in agent mode")[2]
    return section.partition("```yaml\n")[2].partition("```")[0]


def test_prometheus_in_agent_mode_sends_the_metrics_on(tmp_path: Path) -> None:
    clients = Clients(tmp_path / "proc")
    with (
        exporter(tmp_path / "exporter", f"--path.procfs={clients.root}") as url,
        prometheus("scrape_configs: []\n", tmp_path / "server", "--web.enable-remote-write-receiver") as server,
    ):
        configuration = tmp_path / "agent.yml"
        text = documented().replace("127.0.0.1:10949", url.removeprefix("http://")).replace("60s", "1s")
        configuration.write_text(text.replace("http://prometheus.example.com:9090", server.url))
        command = [
            require("prometheus", "prometheus"),
            "--enable-feature=agent",
            f"--config.file={configuration}",
            f"--storage.agent.path={tmp_path / 'agent'}",
            "--web.listen-address=127.0.0.1:0",
        ]
        with process(command, tmp_path / "agent.log"):
            wait_for(lambda: server.query('fss_client_operations_total{job="fss",class="read"}'), "the sent samples")
            assert server.query('fss_client_mount_info{job="fss"}')
            assert server.value('fss_collector_success{collector="nfs"}') == 1
