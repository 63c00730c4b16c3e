"""Part of `make deploy-check`: what the chart renders from values that are not the default ones.

Not among the default tests: helm is no Debian package, and `tools/chart-tools` cannot build it everywhere.
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/fss-exporter"
HELM = ROOT / ".tools/bin/helm"

SCRAPED_WITH_A_CERTIFICATE = {
    "scheme": "https",
    "tlsConfig": {
        "ca": {"secret": {"name": "fss-scrape", "key": "ca.crt"}},
        "cert": {"secret": {"name": "fss-scrape", "key": "tls.crt"}},
        "keySecret": {"name": "fss-scrape", "key": "tls.key"},
    },
}


def helm(folder: Path, values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    command = (HELM, "template", "fss-exporter", CHART, "--kube-version", "1.31", "--values", path)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def containers(folder: Path, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Of the agent and of the poller."""
    done = helm(folder, values)
    assert done.returncode == 0, done.stderr
    workloads = [
        document for document in yaml.safe_load_all(done.stdout) if document and document["kind"][0:2] in {"Da", "De"}
    ]
    assert len(workloads) == 2
    return [workload["spec"]["template"]["spec"]["containers"][0] for workload in workloads]


def probes(folder: Path, values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        container[probe] for container in containers(folder, values) for probe in ("livenessProbe", "readinessProbe")
    ]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_probes_ask_for_health_while_nobody_has_to_show_a_certificate(tmp_path: Path, scheme: str) -> None:
    found = probes(tmp_path, {"monitors": {"scheme": scheme, "tlsConfig": {"insecureSkipVerify": True}}})
    assert [probe["httpGet"]["path"] for probe in found] == ["/-/healthy", "/-/ready"] * 2
    assert {probe["httpGet"]["scheme"] for probe in found} == {scheme.upper()}


@pytest.mark.parametrize("values", [{"tcpProbes": True}, {"monitors": SCRAPED_WITH_A_CERTIFICATE}])
def test_probes_only_open_the_port_where_clients_have_to_show_a_certificate(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    for probe in probes(tmp_path, values):
        assert "httpGet" not in probe
        assert probe["tcpSocket"] == {"port": "metrics"}


@pytest.mark.parametrize(
    ("values", "told"),
    [({"tcpProbe": True}, "tcpProbe"), ({"port": 80}, "port"), ({"agent": {"extraArgs": ["serve"]}}, "extraArgs")],
)
def test_a_value_that_is_none_is_refused_by_its_name(tmp_path: Path, values: dict[str, Any], told: str) -> None:
    done = helm(tmp_path, values)
    assert done.returncode != 0
    assert told in done.stderr
