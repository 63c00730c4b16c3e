"""Part of `make deploy-check`: what the chart renders from the values of its folder `ci`, and from others.

Not among the default tests: helm is no Debian package, and `tools/check/chart-tools` cannot build it everywhere.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.kube_api import OPERATOR, PLAIN, kube_api
from tests.fss_exporter.cli.test_serve import serve

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/fss-exporter"
MANIFESTS = ROOT / "deploy/kubernetes"
TOOLS = ROOT / ".tools"
HELM = TOOLS / "bin/helm"
OLDEST, NEWEST = "1.27.0", "1.37.0"  # the releases of Kubernetes whose schemas `tools/check/chart-tools` fetches

SETS = sorted(CHART.glob("ci/*-values.yaml"))
IMAGES = {"image": {"registry": "registry.example.com/team"}}

SCRAPED_WITH_A_CERTIFICATE = {
    "tlsConfig": {
        "ca": {"secret": {"name": "fss-scrape", "key": "ca.crt"}},
        "cert": {"secret": {"name": "fss-scrape", "key": "tls.crt"}},
        "keySecret": {"name": "fss-scrape", "key": "tls.key"},
    },
}


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def conform(version: str, *files: Path) -> str:
    """What Kubernetes would refuse in the files; empty if it would take them."""
    kind = "{{.ResourceKind}}{{.KindSuffix}}.json"
    schemas = [f"{TOOLS}/schemas/v{version}/{kind}", f"{TOOLS}/schemas/custom/{kind}"]
    places = [word for schema in schemas for word in ("-schema-location", schema)]
    done = run(TOOLS / "bin/kubeconform", "-strict", "-kubernetes-version", version, *places, *files)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart as a release has it."""
    folder = tmp_path_factory.mktemp("packed")
    done = run(HELM, "package", CHART, "--destination", folder)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.tgz")
    return path


@pytest.mark.parametrize("values", SETS, ids=lambda path: path.stem.removesuffix("-values"))
class TestEachSetOfValues:
    def test_it_has_no_fault_that_helm_lint_finds(self, values: Path) -> None:
        done = run(HELM, "lint", "--strict", CHART, "--values", values)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "[INFO]" not in done.stderr, "helm lint only tells of what the templates refuse"

    @pytest.mark.parametrize("version", [OLDEST, NEWEST])
    def test_kubernetes_takes_what_the_folder_renders_and_the_package_renders_the_same(
        self, values: Path, version: str, packed: Path, tmp_path: Path
    ) -> None:
        rendered = tmp_path / "rendered.yaml"
        texts = []
        for chart in (CHART, packed):
            flags = ("--namespace", "fss-exporter", "--kube-version", version, "--values", values)
            done = run(HELM, "template", "fss-exporter", chart, *flags)
            assert done.returncode == 0, done.stderr
            texts.append(done.stdout)
        assert texts[0] == texts[1]
        rendered.write_text(texts[0])
        assert conform(version, rendered) == ""

    def test_helm_installs_it_from_a_clone_in_a_cluster_with_the_operator(self, values: Path, tmp_path: Path) -> None:
        notes, created = install(tmp_path, yaml.safe_load(values.read_text()), PLAIN | OPERATOR)
        assert "fss-exporter" in notes
        assert created


def install(folder: Path, values: dict[str, Any], kinds: dict[str, set[str]]) -> tuple[str, dict[str, dict[str, Any]]]:
    """The notes of `helm install` in a cluster with these kinds, and what it creates there, by path."""
    (folder / "install.yaml").write_text(yaml.safe_dump(values))
    with kube_api(kinds) as (kubeconfig, created):
        (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
        command: list[str | Path] = [HELM, "install", "fss-exporter", CHART, "--namespace", "fss-exporter"]
        command += ["--values", folder / "install.yaml", "--disable-openapi-validation"]
        environment = {"HOME": str(folder), "KUBECONFIG": str(folder / "kubeconfig")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, created


def test_kubernetes_takes_the_plain_manifests() -> None:
    assert conform(NEWEST, *MANIFESTS.glob("*.yaml")) == ""


def helm(folder: Path, values: dict[str, Any], *flags: str) -> subprocess.CompletedProcess[str]:
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(IMAGES | values))
    return run(HELM, "template", "fss-exporter", CHART, "--kube-version", "1.31", "--values", path, *flags)


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


WEB = {"webConfigSecret": "fss-web"}


@pytest.mark.parametrize(
    ("poller", "agent", "schemes"),
    [
        ({}, {}, ("http", "http")),
        (WEB, {}, ("https", "http")),
        ({}, WEB, ("http", "https")),
        (WEB, WEB, ("https", "https")),
        (WEB, WEB | {"scheme": "http"}, ("https", "http")),
        ({"extraArgs": ["--web.config.file=/etc/own/web.yml"]}, {}, ("https", "http")),
    ],
)
def test_each_part_is_probed_scraped_and_tried_with_what_it_answers(
    tmp_path: Path, poller: dict[str, Any], agent: dict[str, Any], schemes: tuple[str, str]
) -> None:
    monitors = {"enabled": True, "tlsConfig": {"insecureSkipVerify": True}, "basicAuth": {"username": {"name": "a"}}}
    values = {"poller": poller, "agent": agent, "monitors": monitors}
    by_part = dict(zip(("agent", "poller"), containers(tmp_path, values), strict=True))
    by_kind = objects(tmp_path, values)
    endpoints = {
        "poller": by_kind["ServiceMonitor", "fss-exporter-poller"]["spec"]["endpoints"][0],
        "agent": by_kind["PodMonitor", "fss-exporter-agent"]["spec"]["podMetricsEndpoints"][0],
    }
    for part, given, scheme in zip(("poller", "agent"), (poller, agent), schemes, strict=True):
        for probe in ("livenessProbe", "readinessProbe"):
            assert by_part[part][probe]["httpGet"]["scheme"] == scheme.upper(), (part, probe)
        assert endpoints[part]["scheme"] == scheme, part
        assert ("tlsConfig" in endpoints[part]) == (scheme == "https"), part
        assert ("basicAuth" in endpoints[part]) == bool(given), "a password for nobody goes over the wire in clear"
    assert try_arguments(by_kind)[3] == schemes[0]


def test_https_without_a_certificate_is_refused(tmp_path: Path) -> None:
    done = helm(tmp_path, {"agent": {"scheme": "https"}})
    assert done.returncode != 0
    assert "agent.scheme: https needs a certificate; set agent.webConfigSecret" in done.stderr


def test_probes_ask_for_health_and_readiness(tmp_path: Path) -> None:
    assert [probe["httpGet"]["path"] for probe in probes(tmp_path, {})] == ["/-/healthy", "/-/ready"] * 2


@pytest.mark.parametrize("values", [{"tcpProbes": True}, {"monitors": SCRAPED_WITH_A_CERTIFICATE}])
def test_probes_only_open_the_port_of_a_part_whose_clients_have_to_show_a_certificate(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    given = {**values, "poller": WEB}
    agent, poller = containers(tmp_path, given)
    for name in ("livenessProbe", "readinessProbe"):
        assert "httpGet" not in poller[name]
        assert poller[name]["tcpSocket"] == {"port": "metrics"}
        assert agent[name]["httpGet"]["scheme"] == "HTTP", "it has no certificate, and asks for none"
    assert try_arguments(objects(tmp_path, given))[3] == "tcp"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"tcpProbe": True}, "tcpProbe"),
        ({"monitors": {"scheme": "https"}}, "scheme"),
        ({"poller": {"livenessProbe": {"periods": 3}}}, "periods"),
        ({"poller": {"dnsPolicy": "None"}}, "dnsPolicy"),
        ({"namespaceOverride": "Storage_1"}, "namespaceOverride"),
        ({"port": 80}, "port"),
        ({"image": {"registry": " "}}, "registry"),
        ({"runbookUrl": "ftp://wiki.example.com/fss"}, "runbookUrl"),
        ({"grafanaUrl": "grafana.example.com"}, "grafanaUrl"),
        ({"image": {"registry": "https://registry.example.com/team"}}, "registry"),
        ({"agent": {"extraArgs": ["serve"]}}, "extraArgs"),
        ({"agent": {"exact": "sometimes"}}, "exact"),
        ({"poller": {"config": {"oci": {"call_per_second": 3}}}}, "call_per_second"),
        ({"agent": {"config": {"adress_map": {}}}}, "adress_map"),
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


def test_the_dashboards_have_the_label_that_the_sidecar_of_grafana_looks_for_and_no_indentation(tmp_path: Path) -> None:
    """`kubectl apply` and Argo CD keep a copy of each ConfigMap in an annotation, which has little room."""
    maps = [document for document in documents(tmp_path, {}) if "-dashboard-" in document["metadata"]["name"]]
    assert {document["metadata"]["labels"]["grafana_dashboard"] for document in maps} == {"1"}
    given = {name: text for document in maps for name, text in document["data"].items()}
    files = {path.name: json.loads(path.read_text()) for path in (CHART / "files/dashboards").glob("*.json")}
    assert {name: json.loads(text) for name, text in given.items()} == files
    assert not any("\n" in text for text in given.values())


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


def test_the_links_of_alerts_get_the_given_bases_and_are_left_out_without(tmp_path: Path) -> None:
    bases = {"runbookUrl": "https://wiki.example.com/fss", "grafanaUrl": "https://grafana.example.com"}

    def annotations(values: dict[str, object]) -> list[dict[str, str]]:
        rules = documents(tmp_path, {"prometheusRule": {"enabled": True}, **values})
        groups = [group for rule in rules if rule["kind"] == "PrometheusRule" for group in rule["spec"]["groups"]]
        return [rule["annotations"] for group in groups for rule in group["rules"] if "alert" in rule]

    for alert in annotations({**bases}):
        assert alert["runbook_url"].startswith("https://wiki.example.com/fss#")
        assert re.match(r"https://grafana\.example\.com(/d/|\{\{)", alert["dashboard_url"])
    assert {frozenset(alert) for alert in annotations({})} == {frozenset({"summary", "description"})}


def test_a_secret_can_be_mounted_and_named(tmp_path: Path) -> None:
    given: dict[str, list[dict[str, Any]]] = {
        "extraVolumes": [{"name": "api-key", "secret": {"secretName": "oci-api-key"}}],
        "extraVolumeMounts": [{"name": "api-key", "mountPath": "/etc/oci", "readOnly": True}],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    }
    for container in containers(tmp_path, {"poller": given, "agent": given}):
        assert given["extraVolumeMounts"][0] in container["volumeMounts"]
        assert given["extraEnv"][0] in container["env"]


def test_an_image_without_a_registry_is_refused_unless_the_nodes_hold_it(tmp_path: Path) -> None:
    for component in ("agent", "poller"):
        others = {name: {"enabled": name == component} for name in ("agent", "poller")}
        done = helm(tmp_path, {"image": {}, **others})
        assert done.returncode != 0
        assert "image.registry: it is empty, so no node can pull the images" in done.stderr
        assert "image.pullPolicy=Never" in done.stderr
    held = containers(tmp_path, {"image": {"pullPolicy": "Never"}})
    assert all("/" not in container["image"] for container in held)
    assert all(
        container["image"].startswith("registry.example.com/team/fss-exporter-")
        for container in containers(tmp_path, {})
    )


def try_arguments(by_kind: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """What the pod of `helm test` gives to Python: script, host, port, scheme and seconds."""
    arguments = by_kind["Pod", "fss-exporter-test"]["spec"]["containers"][0]["args"]
    assert [type(argument) for argument in arguments] == [str] * 5
    return list(arguments)


def helm_test(script: str, url: str, seconds: str) -> subprocess.CompletedProcess[str]:
    """Run the script of `helm test` against a poller."""
    scheme, _, place = url.partition("://")
    host, _, port = place.partition(":")
    return run(sys.executable, "-c", script, host, port, scheme, seconds)


def test_helm_test_fails_with_a_poller_that_never_signed_in_and_says_what_it_waits_for(tmp_path: Path) -> None:
    script, host, port, scheme, seconds = try_arguments(objects(tmp_path, {}, "--namespace", "storage"))
    assert (host, port, scheme) == ("fss-exporter-poller.storage.svc", "10949", "http")
    assert 60 <= float(seconds) < 300, "the first poll takes its time, and helm itself waits for five minutes"
    flags = ["--no-collector.nfs", "--collector.oci", f"--oci.config-file={tmp_path / 'none'}"]
    with serve(tmp_path, *flags) as (_, url, _):
        done = helm_test(script, url, "0")
    assert done.returncode == 1, done.stdout
    assert "fss-exporter waits for a first answer of OCI in every region." in done.stdout


def test_helm_test_passes_with_a_part_that_is_ready_with_each_scheme_and_fails_where_nothing_answers(
    tmp_path: Path,
) -> None:
    script = try_arguments(objects(tmp_path, {}))[0]
    with serve(tmp_path) as (_, url, _):
        assert helm_test(script, url, "60").returncode == 0
        assert helm_test(script, url.replace("http", "tcp"), "60").returncode == 0
        gone = url
    for scheme in ("http", "https", "tcp"):
        done = helm_test(script, gone.replace("http", scheme), "0")
        assert done.returncode == 1
        assert "ConnectionRefusedError" in done.stdout
    done = helm_test(script, "http://no.such.name.invalid:80", "0")
    assert (done.returncode, "no poller has this name" in done.stdout) == (1, True)


def test_a_network_policy_with_sources_of_its_own_lets_helm_test_in_and_no_further_pod(tmp_path: Path) -> None:
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    by_kind = objects(tmp_path, {"networkPolicy": {"from": [monitoring]}})
    (poller,), (agent,) = (
        by_kind["NetworkPolicy", f"fss-exporter-{part}"]["spec"]["ingress"] for part in ("poller", "agent")
    )
    test_pod = by_kind["Pod", "fss-exporter-test"]["metadata"]["labels"]
    assert agent["from"] == [monitoring]
    assert poller["from"][0] == monitoring
    (ours,) = poller["from"][1:]
    labels = ours["podSelector"]["matchLabels"]
    assert labels.items() <= test_pod.items()
    assert labels["app.kubernetes.io/component"] == "test"


def test_the_service_leads_to_each_poller_also_to_one_that_is_not_ready(tmp_path: Path) -> None:
    service = objects(tmp_path, {})["Service", "fss-exporter-poller"]["spec"]
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)


@pytest.mark.parametrize(
    ("oci", "has_token"),
    [
        ({"auth": "workload_identity"}, True),
        ({"auth": "config_file"}, False),
        ({"auth": "instance_principal"}, False),
        ({"auth": "config_file", "accounts": [{"name": "a"}, {"name": "b", "auth": "workload_identity"}]}, True),
        ({"auth": "workload_identity", "accounts": [{"name": "a", "auth": "config_file"}]}, False),
        ({"auth": "workload_identity", "accounts": [{"name": "a"}]}, True),
    ],
)
def test_only_a_poller_with_workload_identity_gets_a_token(
    tmp_path: Path, oci: dict[str, Any], has_token: bool
) -> None:
    by_kind = objects(tmp_path, {"poller": {"config": {"oci": oci}}})
    pod = by_kind["Deployment", "fss-exporter-poller"]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is has_token


@pytest.mark.parametrize(("auth", "has_token"), [("config_file", False), ("workload_identity", True)])
def test_a_flag_with_the_way_to_sign_in_decides_about_the_token_as_it_does_in_the_poller(
    tmp_path: Path, auth: str, has_token: bool
) -> None:
    other = "workload_identity" if auth == "config_file" else "config_file"
    poller = {"config": {"oci": {"auth": other}}, "extraArgs": [f"--oci.auth={auth}"]}
    by_kind = objects(tmp_path, {"poller": poller})
    pod = by_kind["Deployment", "fss-exporter-poller"]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is has_token


@pytest.mark.parametrize("config", [None, {"oci": None}])
def test_a_poller_without_a_configuration_has_that_of_the_ledger(tmp_path: Path, config: object) -> None:
    by_kind = objects(tmp_path, {"poller": {"config": config}})
    written = yaml.safe_load(by_kind["ConfigMap", "fss-exporter-poller"]["data"]["fss-exporter.yml"])
    assert written == {"oci": {"ledger_directory": "/var/lib/fss-exporter"}}


def test_a_poller_without_a_volume_keeps_its_ledger_for_the_life_of_the_pod(tmp_path: Path) -> None:
    by_kind = objects(tmp_path, {})
    pod = by_kind["Deployment", "fss-exporter-poller"]["spec"]["template"]["spec"]
    config = yaml.safe_load(by_kind["ConfigMap", "fss-exporter-poller"]["data"]["fss-exporter.yml"])["oci"]
    (mount,) = (place for place in pod["containers"][0]["volumeMounts"] if place["name"] == "ledger")
    (volume,) = (volume for volume in pod["volumes"] if volume["name"] == "ledger")
    assert config["ledger_directory"] == mount["mountPath"]
    assert volume == {"name": "ledger", "emptyDir": {"sizeLimit": "64Mi"}}


def test_the_ledger_directory_of_the_values_stays(tmp_path: Path) -> None:
    by_kind = objects(tmp_path, {"poller": {"config": {"oci": {"ledger_directory": "/srv/own"}}}})
    config = yaml.safe_load(by_kind["ConfigMap", "fss-exporter-poller"]["data"]["fss-exporter.yml"])["oci"]
    assert config["ledger_directory"] == "/srv/own"


def test_one_poller_keeps_its_ledger_on_a_volume_without_a_standby(tmp_path: Path) -> None:
    by_kind = objects(tmp_path, {"poller": {"ledgerClaim": "ledger"}})
    deployment = by_kind["Deployment", "fss-exporter-poller"]["spec"]
    pod = deployment["template"]["spec"]
    config = yaml.safe_load(by_kind["ConfigMap", "fss-exporter-poller"]["data"]["fss-exporter.yml"])["oci"]
    (mount,) = (place for place in pod["containers"][0]["volumeMounts"] if place["name"] == "ledger")
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    assert config == {"auth": "workload_identity", "ledger_directory": mount["mountPath"]}
    assert {"name": "ledger", "persistentVolumeClaim": {"claimName": "ledger"}} in pod["volumes"]

    done = helm(tmp_path, {"poller": {"ledgerClaim": "ledger", "standbyClaim": "shared"}})
    assert done.returncode != 0
    assert "poller.ledgerClaim" in done.stderr


def test_every_object_is_in_the_namespace_that_replaces_the_one_of_the_release(tmp_path: Path) -> None:
    values = {"namespaceOverride": "storage", "monitors": {"enabled": True}, "prometheusRule": {"enabled": True}}
    by_kind = objects(tmp_path, values, "--namespace", "other")
    assert {document["metadata"]["namespace"] for document in by_kind.values()} == {"storage"}
    assert try_arguments(by_kind)[1] == "fss-exporter-poller.storage.svc"


@pytest.mark.parametrize("component", ["agent", "poller"])
def test_probes_names_and_old_revisions_can_be_set(tmp_path: Path, component: str) -> None:
    given = {
        "dnsPolicy": "Default",
        "revisionHistoryLimit": 3,
        "livenessProbe": {"failureThreshold": 6},
        "readinessProbe": {"timeoutSeconds": 10},
    }
    kind = {"agent": "DaemonSet", "poller": "Deployment"}[component]
    workload = objects(tmp_path, {component: given})[kind, f"fss-exporter-{component}"]["spec"]
    pod = workload["template"]["spec"]
    (container,) = pod["containers"]
    assert (workload["revisionHistoryLimit"], pod["dnsPolicy"]) == (3, "Default")
    assert {"failureThreshold": 6, "periodSeconds": 20}.items() <= container["livenessProbe"].items()
    assert container["livenessProbe"]["httpGet"]["path"] == "/-/healthy"
    assert {"timeoutSeconds": 10, "periodSeconds": 5}.items() <= container["readinessProbe"].items()


SECOND_RELEASE = yaml.safe_load((CHART / "ci/second-release-values.yaml").read_text())


def test_a_second_release_brings_neither_rules_nor_dashboards_nor_agents_and_the_notes_of_the_first_say_how(
    tmp_path: Path,
) -> None:
    first, _ = install(tmp_path, IMAGES, PLAIN | OPERATOR)
    second, created = install(tmp_path, SECOND_RELEASE, PLAIN | OPERATOR)
    flags = [word.partition("=") for word in first.split() if word.endswith("=false")]
    assert {f"{part}.enabled" for part in ("prometheusRule", "dashboards", "agent")} == {name for name, _, _ in flags}
    assert all(SECOND_RELEASE[name.partition(".")[0]]["enabled"] is False for name, _, _ in flags)
    assert {document["kind"] for document in created.values()}.isdisjoint({"PrometheusRule", "DaemonSet"})
    assert not any("-dashboard-" in path for path in created)
    assert "A second release" not in second


def test_the_notes_say_that_the_operator_selects_by_label_while_no_label_is_set(tmp_path: Path) -> None:
    labelled = {"enabled": True, "labels": {"release": "prometheus"}}
    notes, _ = install(tmp_path, IMAGES, PLAIN | OPERATOR)
    assert "The Prometheus operator selects by label" in notes
    assert "--set monitors.labels.release=" in notes
    assert "--set prometheusRule.labels.release=" in notes
    notes, _ = install(tmp_path, IMAGES | {"monitors": labelled, "prometheusRule": labelled}, PLAIN | OPERATOR)
    assert "selects by label" not in notes


def test_the_notes_say_what_is_left_out_in_a_cluster_without_the_operator(tmp_path: Path) -> None:
    notes, created = install(tmp_path, IMAGES, PLAIN)
    assert "monitors: left out" in notes
    assert "prometheusRule: left out" in notes
    assert {document["kind"] for document in created.values()} & OPERATOR_KINDS == set()


def test_the_notes_have_the_policy_of_workload_identity_only_where_it_signs_in(tmp_path: Path) -> None:
    assert "request.principal.type" in install(tmp_path, IMAGES, PLAIN)[0]
    with_key = {"poller": {"config": {"oci": {"auth": "config_file"}}}}
    assert "request.principal.type" not in install(tmp_path, IMAGES | with_key, PLAIN)[0]


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
        volume_mount for volume_mount in pod["containers"][0]["volumeMounts"] if volume_mount["name"] == "ledger"
    )
    assert config == {"auth": "config_file", "standby": True, "ledger_directory": mount["mountPath"]}
    assert {"name": "ledger", "persistentVolumeClaim": {"claimName": "shared-files"}} in pod["volumes"]
