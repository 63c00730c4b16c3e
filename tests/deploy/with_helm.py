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


def helm(folder: Path, values: dict[str, Any], *flags: str) -> subprocess.CompletedProcess[str]:
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    command: list[str | Path] = [
        HELM,
        "template",
        "fss-exporter",
        CHART,
        "--kube-version",
        "1.31",
        "--values",
        path,
        *flags,
    ]
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
def test_probes_ask_for_health_without_client_certificates(tmp_path: Path, scheme: str) -> None:
    probe_list = probes(tmp_path, {"monitors": {"scheme": scheme, "tlsConfig": {"insecureSkipVerify": True}}})
    assert [probe["httpGet"]["path"] for probe in probe_list] == ["/-/healthy", "/-/ready"] * 2
    assert {probe["httpGet"]["scheme"] for probe in probe_list} == {scheme.upper()}


@pytest.mark.parametrize("values", [{"tcpProbes": True}, {"monitors": SCRAPED_WITH_A_CERTIFICATE}])
def test_probes_only_open_the_port_where_clients_have_to_show_a_certificate(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    for probe in probes(tmp_path, values):
        assert "httpGet" not in probe
        assert probe["tcpSocket"] == {"port": "metrics"}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"tcpProbe": True}, "tcpProbe"),
        ({"port": 80}, "port"),
        ({"agent": {"extraArgs": ["serve"]}}, "extraArgs"),
        ({"agent": {"exact": "sometimes"}}, "exact"),
    ],
)
def test_a_value_that_is_none_is_refused_by_its_name(tmp_path: Path, values: dict[str, Any], told: str) -> None:
    done = helm(tmp_path, values)
    assert done.returncode != 0
    assert told in done.stderr


def mounts(folder: Path, agent: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The agent's container, and the host's path of each volume by where it is mounted, with whether it is read-only."""
    done = helm(folder, {"agent": agent})
    assert done.returncode == 0, done.stderr
    (daemonset,) = (
        document for document in yaml.safe_load_all(done.stdout) if document and document["kind"] == "DaemonSet"
    )
    pod = daemonset["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in pod["volumes"]}
    return container, {
        mount["mountPath"]: (paths[mount["name"]], mount.get("readOnly", False)) for mount in container["volumeMounts"]
    }


@pytest.mark.parametrize("exact", ["off", False])
def test_without_exact_mode_the_agent_gets_nothing_of_tracefs(tmp_path: Path, exact: object) -> None:
    container, volumes = mounts(tmp_path, {"exact": exact})

    assert volumes == {"/host/proc": ("/proc", True)}
    assert not [argument for argument in container["args"] if "exact" in argument or "tracefs" in argument]


@pytest.mark.parametrize(("exact", "flag"), [("auto", "auto"), ("on", "on"), (True, "on")])
def test_exact_mode_brings_tracefs_with_its_instances_writable_and_no_other_privilege(
    tmp_path: Path, exact: object, flag: str
) -> None:
    container, volumes = mounts(tmp_path, {"exact": exact})
    without, _ = mounts(tmp_path, {})

    assert volumes == {
        "/host/proc": ("/proc", True),
        "/host/tracing": ("/sys/kernel/tracing", True),
        "/host/tracing/instances": ("/sys/kernel/tracing/instances", False),
    }
    assert {f"--nfs.exact={flag}", "--path.tracefs=/host/tracing"} <= set(container["args"])
    assert container["securityContext"] == without["securityContext"]


def test_the_load_by_process_brings_the_names_of_pods_and_with_the_writers_one_more_file(tmp_path: Path) -> None:
    container, volumes = mounts(tmp_path, {"exact": "auto", "exactProcesses": 10})
    assert volumes["/host/pod-logs"] == ("/var/log/pods", True)
    assert "/host/tracing/dynamic_events" not in volumes
    assert {"--nfs.exact.processes=10", "--path.pod-logs=/host/pod-logs"} <= set(container["args"])
    assert "--nfs.exact.writers" not in container["args"]

    container, volumes = mounts(tmp_path, {"exact": "on", "exactProcesses": 5, "exactWriters": True, "podLogs": ""})
    assert volumes["/host/tracing/dynamic_events"] == ("/sys/kernel/tracing/dynamic_events", False)
    assert "/host/pod-logs" not in volumes
    assert "--nfs.exact.writers" in container["args"]


def test_the_load_by_job_needs_neither_processes_nor_the_names_of_pods(tmp_path: Path) -> None:
    container, volumes = mounts(tmp_path, {"exact": "auto", "exactJobs": 20, "exactWriters": True})
    assert {"--nfs.exact.jobs=20", "--nfs.exact.writers"} <= set(container["args"])
    assert "/host/pod-logs" not in volumes


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ({"exactProcesses": 5}, "set agent.exact to auto or on"),
        ({"exactJobs": 5}, "set agent.exact to auto or on"),
        ({"exact": "auto", "exactWriters": True}, "set agent.exactProcesses"),
        ({"exact": "auto", "exactProcesses": -1}, "exactProcesses"),
    ],
)
def test_a_switch_without_the_switch_it_needs_is_refused(tmp_path: Path, agent: dict[str, Any], told: str) -> None:
    done = helm(tmp_path, {"agent": agent})
    assert done.returncode != 0
    assert told in done.stderr


def test_tracefs_may_be_below_debugfs_and_nowhere_else(tmp_path: Path) -> None:
    _, volumes = mounts(tmp_path, {"exact": "auto", "tracefs": "/sys/kernel/debug/tracing"})
    assert volumes["/host/tracing/instances"] == ("/sys/kernel/debug/tracing/instances", False)

    done = helm(tmp_path, {"agent": {"exact": "auto", "tracefs": "/etc"}})
    assert done.returncode != 0
    assert "tracefs" in done.stderr


def documents(folder: Path, values: dict[str, Any], *flags: str) -> list[dict[str, Any]]:
    done = helm(folder, values, *flags)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def kinds(folder: Path, values: dict[str, Any]) -> set[str]:
    return {document["kind"] for document in documents(folder, values)}


OPERATOR_KINDS = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}


def test_a_cluster_without_the_operator_gets_none_of_its_objects(tmp_path: Path) -> None:
    assert kinds(tmp_path, {}) & OPERATOR_KINDS == set()


def test_a_cluster_with_the_operator_gets_its_objects_without_a_setting(tmp_path: Path) -> None:
    rendered = documents(tmp_path, {}, "--api-versions", "monitoring.coreos.com/v1")
    assert {document["kind"] for document in rendered} >= OPERATOR_KINDS


def test_the_dashboards_have_the_label_that_the_sidecar_of_grafana_looks_for(tmp_path: Path) -> None:
    maps = [document for document in documents(tmp_path, {}) if "-dashboard-" in document["metadata"]["name"]]
    assert len(maps) == len(list((CHART / "files/dashboards").glob("*.json")))
    assert {document["metadata"]["labels"]["grafana_dashboard"] for document in maps} == {"1"}


@pytest.mark.parametrize("component", ["agent", "poller"])
def test_scheduling_and_arguments_reach_the_pod(tmp_path: Path, component: str) -> None:
    toleration = {"key": "dedicated", "operator": "Exists"}
    given = {"priorityClassName": "high", "tolerations": [toleration], "extraArgs": ["--log.format=json"]}
    (pod,) = (
        document["spec"]["template"]["spec"]
        for document in documents(tmp_path, {component: given})
        if document["kind"] in {"DaemonSet", "Deployment"} and document["metadata"]["name"].endswith(component)
    )
    assert (pod["priorityClassName"], pod["tolerations"]) == ("high", [toleration])
    assert pod["containers"][0]["args"][-1] == "--log.format=json"


def test_the_objects_of_the_operator_can_be_demanded(tmp_path: Path) -> None:
    values = {"monitors": {"enabled": True}, "prometheusRule": {"enabled": True}}
    assert kinds(tmp_path, values) >= OPERATOR_KINDS


def test_links_to_the_runbook_get_the_given_base(tmp_path: Path) -> None:
    values = {"prometheusRule": {"enabled": True}, "runbookUrl": "https://wiki.example.com/fss"}
    rules = [document for document in documents(tmp_path, values) if document["kind"] == "PrometheusRule"]
    links = {
        rule["annotations"]["runbook_url"].partition("#")[0]
        for document in rules
        for group in document["spec"]["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }
    assert links == {"https://wiki.example.com/fss"}


def test_a_secret_can_be_mounted_and_named(tmp_path: Path) -> None:
    given: dict[str, list[dict[str, Any]]] = {
        "extraVolumes": [{"name": "api-key", "secret": {"secretName": "oci-api-key"}}],
        "extraVolumeMounts": [{"name": "api-key", "mountPath": "/etc/oci", "readOnly": True}],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    }
    for container in containers(tmp_path, {"poller": given, "agent": given}):
        assert given["extraVolumeMounts"][0] in container["volumeMounts"]
        assert given["extraEnv"][0] in container["env"]


def test_an_image_without_a_registry_is_one_that_the_node_holds(tmp_path: Path) -> None:
    assert all("/" not in container["image"] for container in containers(tmp_path, {}))
    registry = {"image": {"registry": "registry.example.com/team"}}
    assert all(
        container["image"].startswith("registry.example.com/team/fss-exporter-")
        for container in containers(tmp_path, registry)
    )


def test_helm_test_asks_the_poller_for_its_health(tmp_path: Path) -> None:
    (pod,) = (document for document in documents(tmp_path, {}) if document["kind"] == "Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert "/-/healthy" in pod["spec"]["containers"][0]["args"][0]


def objects(folder: Path, values: dict[str, Any], *flags: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What the chart renders, by kind and name."""
    done = helm(folder, values, *flags)
    assert done.returncode == 0, done.stderr
    rendered = [document for document in yaml.safe_load_all(done.stdout) if document]
    return {(document["kind"], document["metadata"]["name"]): document for document in rendered}


def test_a_digest_replaces_the_tag_of_one_image(tmp_path: Path) -> None:
    digest = "sha256:" + "ab" * 32
    values = {"image": {"registry": "registry.example.com/team", "tag": "1"}, "agent": {"image": {"digest": digest}}}
    agent, poller = (container["image"] for container in containers(tmp_path, values))
    assert agent == f"registry.example.com/team/fss-exporter-agent@{digest}"
    assert poller == "registry.example.com/team/fss-exporter-poller:1"


def test_common_labels_are_on_every_object_and_in_no_selector(tmp_path: Path) -> None:
    by_kind = objects(tmp_path, {"commonLabels": {"cost-centre": "storage"}})
    assert [
        name for name, document in by_kind.items() if document["metadata"]["labels"].get("cost-centre") != "storage"
    ] == []
    selectors = [
        document["spec"]["selector"]["matchLabels"]
        for document in by_kind.values()
        if "template" in document.get("spec", {})
    ]
    assert selectors
    assert not any("cost-centre" in selector for selector in selectors)


def test_the_agent_can_have_an_account_of_its_own_and_still_gets_no_token(tmp_path: Path) -> None:
    by_kind = objects(tmp_path, {"agent": {"serviceAccount": {"create": True}}})
    pod = by_kind["DaemonSet", "fss-exporter-agent"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == by_kind["ServiceAccount", "fss-exporter-agent"]["metadata"]["name"]
    assert pod["automountServiceAccountToken"] is False


def test_relabelings_run_after_those_of_the_chart(tmp_path: Path) -> None:
    drop = {"sourceLabels": ["__name__"], "regex": "fss_client_queue_.*", "action": "drop"}
    zone = {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "zone"}
    values = {"monitors": {"enabled": True, "relabelings": [zone], "metricRelabelings": [drop]}}
    by_kind = objects(tmp_path, values)
    (agent,) = by_kind["PodMonitor", "fss-exporter-agent"]["spec"]["podMetricsEndpoints"]
    (poller,) = by_kind["ServiceMonitor", "fss-exporter-poller"]["spec"]["endpoints"]
    assert agent["relabelings"][0]["targetLabel"] == "instance"
    assert agent["relabelings"][-1] == zone
    assert poller["relabelings"] == [zone]
    assert agent["metricRelabelings"] == poller["metricRelabelings"] == [drop]


def test_further_objects_are_templates(tmp_path: Path) -> None:
    extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-more", "labels": {}}}
    assert ("ConfigMap", "fss-exporter-more") in objects(tmp_path, {"extraManifests": [extra]})


def test_two_pollers_share_a_claim_and_one_of_them_stands_by(tmp_path: Path) -> None:
    by_kind = objects(
        tmp_path, {"poller": {"standbyClaim": "shared-files", "config": {"oci": {"auth": "config_file"}}}}
    )
    deployment = by_kind["Deployment", "fss-exporter-poller"]["spec"]
    assert deployment["replicas"] == 2
    assert deployment["strategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    config = yaml.safe_load(by_kind["ConfigMap", "fss-exporter-poller"]["data"]["fss-exporter.yml"])["oci"]
    pod = deployment["template"]["spec"]
    (mount,) = (
        volume_mount for volume_mount in pod["containers"][0]["volumeMounts"] if volume_mount["name"] == "shared"
    )
    assert config == {"auth": "config_file", "standby": True, "ledger_directory": mount["mountPath"]}
    assert {"name": "shared", "persistentVolumeClaim": {"claimName": "shared-files"}} in pod["volumes"]
