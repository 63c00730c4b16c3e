"""vmagent, the OpenTelemetry Collector and Grafana Alloy, with the texts of docs/collecting.md, send on what a direct scrape has.

`make test-collectors` runs the tests. The distribution has vmagent, and Go builds the collector and Alloy in some minutes.
"""

import shlex
from pathlib import Path

from tests.e2e.with_collecting import (
    assert_sends_what_a_direct_scrape_has,
    documented,
    scraped,
)
from tests.processes import free_port, require


def test_vmagent_sends_the_metrics_on(tmp_path: Path) -> None:
    with scraped(tmp_path) as agent:
        scraping = agent.replaced(documented("Prometheus in agent mode")).partition("remote_write:")[0]
        (tmp_path / "prometheus.yml").write_text(scraping)
        shown = shlex.split(agent.replaced(documented("vmagent")).replace("\\\n", " "))
        flags = [flag.replace("=prometheus.yml", f"={tmp_path / 'prometheus.yml'}") for flag in shown[1:]]
        own = ["-httpListenAddr=127.0.0.1:0", f"-remoteWrite.tmpDataPath={tmp_path / 'data'}"]
        command = [require("vmagent", "victoria-metrics"), *flags, *own]
        assert_sends_what_a_direct_scrape_has(command, tmp_path, agent)


def test_the_opentelemetry_collector_sends_the_metrics_on(tmp_path: Path) -> None:
    with scraped(tmp_path) as agent:
        configuration = tmp_path / "otelcol.yml"
        configuration.write_text(agent.replaced(documented("OpenTelemetry Collector")))
        quiet = "--set=service::telemetry::metrics::level=none"  # else the collector listens on a fixed port
        command = [require("otelcol", "the collector: lab/collectors/otelcol"), f"--config={configuration}", quiet]
        assert_sends_what_a_direct_scrape_has(command, tmp_path, agent)


def test_grafana_alloy_sends_the_metrics_on(tmp_path: Path) -> None:
    with scraped(tmp_path) as agent:
        configuration = tmp_path / "config.alloy"
        second = 'scrape_interval = "1s"'
        shown = agent.replaced(documented("Grafana Alloy"))
        assert second in shown
        configuration.write_text(shown.replace(second, f'{second}\n scrape_timeout = "1s"'))  # Alloy keeps 10 s
        listening = f"--server.http.listen-addr=127.0.0.1:{free_port()}"  # Alloy refuses port 0
        own = ["--disable-reporting", listening, f"--storage.path={tmp_path / 'data'}"]
        command = [require("alloy", "Alloy: lab/collectors/alloy"), "run", *own, str(configuration)]
        assert_sends_what_a_direct_scrape_has(command, tmp_path, agent)
