"""The Helm chart and the plain manifests: the same rules and dashboards as the folders, and the privileges promised.

These tests need no helm; `make deploy-check` renders, lints and validates the chart where helm can be had.
"""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.generate import chart_configuration

import fss_exporter
from fss_exporter.settings import load

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/fss-exporter"
MANIFESTS = ROOT / "deploy/kubernetes"
STALE = "run: make chart"


def documents(name: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text()) if document]


def document(name: str, kind: str) -> dict[str, Any]:
    (document_of_kind,) = (document for document in documents(name) if document["kind"] == kind)
    return document_of_kind


def container(name: str, kind: str) -> dict[str, Any]:
    (only,) = document(name, kind)["spec"]["template"]["spec"]["containers"]
    assert isinstance(only, dict)
    return only


@pytest.mark.parametrize(("folder", "pattern"), [("rules", "*.yml"), ("dashboards", "*.json")])
def test_the_chart_carries_exactly_the_files_of_the_folder(folder: str, pattern: str) -> None:
    ours = {path.name: path.read_bytes() for path in (ROOT / folder).glob(pattern)}
    charts = {path.name: path.read_bytes() for path in (CHART / "files" / folder).glob(pattern)}
    assert charts == ours
    assert ours


def test_the_manifests_were_rendered_from_this_chart() -> None:
    fingerprint = runpy.run_path(str(ROOT / "tools/generate/chart.py"))["fingerprint"]()
    headers = {path.name: path.read_text().splitlines()[0] for path in MANIFESTS.glob("*.yaml")}
    assert headers
    assert [name for name, header in headers.items() if not header.endswith(f"Chart {fingerprint}.")] == [], STALE


def test_prometheusrule_objects_hold_the_groups_of_the_rule_files() -> None:
    excluded = yaml.safe_load((CHART / "values.yaml").read_text())["prometheusRule"]["exclude"]
    files = {path.stem: path for path in (ROOT / "rules").glob("*.yml") if path.name not in excluded}
    objects = {rule["metadata"]["name"].removeprefix("fss-exporter-"): rule for rule in documents("prometheusrule")}
    assert objects.keys() == {stem.replace("_", "-") for stem in files}
    for stem, path in files.items():
        linked = re.sub(r"(?m)^ +(runbook|dashboard)_url: .*\n", "", path.read_text())  # a manifest knows no address
        assert objects[stem.replace("_", "-")]["spec"] == yaml.safe_load(linked)


def test_chart_and_images_have_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (fss_exporter.__version__, fss_exporter.__version__)
    for name, kind in (("agent", "DaemonSet"), ("poller", "Deployment")):
        assert container(name, kind)["image"].endswith(f"-{name}:{fss_exporter.__version__}")


def test_the_agent_is_uid_0_and_nothing_else_that_comes_with_it() -> None:
    pod = document("agent", "DaemonSet")["spec"]["template"]["spec"]
    assert (pod["hostPID"], pod["hostNetwork"], pod["hostIPC"]) == (False, False, False)
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    context = container("agent", "DaemonSet")["securityContext"]
    assert context == {
        "runAsUser": 0,
        "runAsGroup": 0,
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_agent_sees_the_hosts_proc_and_can_write_nowhere() -> None:
    pod = document("agent", "DaemonSet")["spec"]["template"]["spec"]
    (mount,) = container("agent", "DaemonSet")["volumeMounts"]
    assert mount == {
        "name": "proc",
        "mountPath": "/host/proc",
        "readOnly": True,
        "recursiveReadOnly": "IfPossible",
    }
    assert pod["volumes"] == [{"name": "proc", "hostPath": {"path": "/proc", "type": "Directory"}}]
    assert "--path.procfs=/host/proc" in container("agent", "DaemonSet")["args"]


def test_only_the_poller_gets_a_token_and_it_is_not_root() -> None:
    pod = document("poller", "Deployment")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is True
    assert pod["serviceAccountName"] == document("poller", "ServiceAccount")["metadata"]["name"]
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 65532)
    context = container("poller", "Deployment")["securityContext"]
    assert context == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_default_configuration_of_the_poller_is_one_the_exporter_takes(tmp_path: Path) -> None:
    configuration = document("poller", "ConfigMap")["data"]["fss-exporter.yml"]
    (tmp_path / "fss-exporter.yml").write_text(configuration)
    assert load(tmp_path / "fss-exporter.yml").oci.auth == "workload_identity"


def test_the_network_policy_lets_the_agent_call_no_address() -> None:
    policies = {policy["metadata"]["name"]: policy["spec"] for policy in documents("networkpolicy")}
    assert policies["fss-exporter-agent"]["egress"] == []
    assert all(policy["policyTypes"] == ["Ingress", "Egress"] for policy in policies.values())


def test_every_value_is_described_by_the_schema_and_nothing_else() -> None:
    def keys(values: dict[str, Any], schema: dict[str, Any], place: str = "") -> list[str]:
        wrong = []
        described = schema.get("properties", {})
        for key in values.keys() | (described.keys() - {"global"}):
            where = f"{place}.{key}".lstrip(".")
            if (key in values) != (key in described) or not described[key].get("description"):
                wrong.append(where)
            elif "properties" in described[key]:
                wrong += keys(values[key], described[key], where)
        return wrong

    schema = json.loads((CHART / "values.schema.json").read_text())
    assert keys(yaml.safe_load((CHART / "values.yaml").read_text()), schema) == []


def test_the_memory_limits_hold_what_the_page_of_costs_measured() -> None:
    page = (ROOT / "docs/performance.md").read_text()
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    (agent,) = re.findall(r"^\| 1,000 \| agent \|.*? \| (?:\d+ to )?(\d+) MiB \|", page, re.MULTILINE)
    (poller,) = re.findall(r"^\| memory, polled and scraped \| (\d+) MiB \|", page, re.MULTILINE)

    assert float(agent) < int(values["agent"]["resources"]["limits"]["memory"].removesuffix("Mi"))
    assert 2 * float(poller) < int(values["poller"]["resources"]["limits"]["memory"].removesuffix("Mi"))


def test_labels_and_annotations_are_texts_as_kubernetes_wants_them() -> None:
    def maps(schema: dict[str, Any], place: str = "") -> dict[str, Any]:
        found = {}
        for name, part in schema.get("properties", {}).items():
            if name.lower().endswith(("labels", "annotations")):
                found[f"{place}{name}"] = part.get("additionalProperties")
            found |= maps(part, f"{place}{name}.")
        return found

    kinds = maps(json.loads((CHART / "values.schema.json").read_text()))
    assert kinds
    assert {name: kind for name, kind in kinds.items() if kind != {"type": "string"}} == {}


def test_the_schema_knows_every_key_of_a_configuration_and_refuses_others() -> None:
    schema = json.loads(chart_configuration.SCHEMA.read_text())
    assert chart_configuration.with_configuration(schema) == schema, STALE
    for part in ("poller", "agent"):
        config = schema["properties"][part]["properties"]["config"]
        assert config["allOf"] == [{"$ref": "#/definitions/configuration"}]
    oci = schema["definitions"]["configuration"]["properties"]["oci"]
    assert oci["additionalProperties"] is False
    assert "calls_per_second" in oci["properties"]
    assert oci["properties"]["accounts"]["items"]["additionalProperties"] is False
