"""The Terraform module's policies are what the code asks for, and its README lists what there is. Needs no terraform."""

import re
from pathlib import Path

from oci.monitoring.models import AlarmOverride, CreateAlarmDetails

from fss_exporter.model.limits import SHAPES, STANDARD
from fss_exporter.oci.iam import NEEDS, statement
from fss_exporter.oci.metric_table import BLOCK, LUSTRE

MODULE = Path(__file__).parents[2] / "deploy" / "terraform"
DOCTOR = {"ListRegionSubscriptions"}  # docs/commands/doctor.md
ALARM_OPERATIONS = {"CreateAlarm", "UpdateAlarm", "DeleteAlarm", "GetAlarm", "ListAlarms", "PublishMessage"}
OTHER_SERVICES = {
    "ListLustreFileSystems",
    "ListVolumes",
    "ListBootVolumes",
}  # only where they are asked for: docs/services.md


def statements(policy: str) -> set[str]:
    """`verb resource [condition]` of every statement of a policy in iam.tf."""
    text = (MODULE / "iam.tf").read_text()
    body = text[text.index(f'resource "oci_identity_policy" "{policy}"') :]
    body = body[: body.index("\n}\n")]
    return {
        f"{verb} {resource}{condition}"
        for verb, resource, condition in re.findall(r'"Allow \S+ to (\w+) (\S+) in \S+?((?: where [^"]+)?)",', body)
    }


def needed(*operations: str) -> set[str]:
    """Without what a wider verb on the same resource includes."""
    needs = {(NEEDS[name].verb, NEEDS[name].resource, NEEDS[name].condition()) for name in operations}
    read = {resource for verb, resource, _ in needs if verb == "read"}
    return {
        " where ".join(filter(None, (f"{verb} {resource}", condition)))
        for verb, resource, condition in needs
        if (verb, resource in read) != ("inspect", True)
    }


def test_the_poller_may_what_its_operations_need_and_nothing_else() -> None:
    others = ALARM_OPERATIONS | OTHER_SERVICES | DOCTOR | {"PostMetricData"}
    assert statements("poller") == needed(*(set(NEEDS) - others))


def test_what_other_services_need_is_allowed_for_those_that_are_named() -> None:
    condition = NEEDS["ListMetrics"].condition
    assert statements("other_services") == needed(*OTHER_SERVICES) | {
        f"read metrics where {condition(namespace)}" for namespace in (LUSTRE, BLOCK)
    }


def test_the_publisher_may_write_its_own_namespace_only() -> None:
    assert statements("publisher") == needed("PostMetricData")
    assert "'fss_exporter'" in statement("PostMetricData", "instance_principal")


def test_the_provisioner_may_what_planning_and_applying_need() -> None:
    """`manage` includes reading; metrics without a condition, because alarms watch two namespaces."""
    assert statements("provisioner") == {
        "manage alarms",
        "read metrics",
        "inspect mount-targets",
        "inspect replications",
        "use ons-topics",
        "inspect compartments",
    }


def test_no_statement_of_the_module_escapes_these_tests() -> None:
    written = (MODULE / "iam.tf").read_text().count('"Allow ')
    assert written == sum(
        len(statements(policy)) for policy in ("poller", "other_services", "publisher", "provisioner")
    )


def test_the_alarm_resource_has_every_field_of_the_pack() -> None:
    text = (MODULE / "main.tf").read_text()
    resource = text[text.index('resource "oci_monitoring_alarm"') :]
    fields, rule = resource.split("dynamic", 1)
    written = set(re.findall(r"^\s+(\w+)\s+= ", fields, re.MULTILINE)) - {"for_each"}
    assert written <= set(CreateAlarmDetails().attribute_map)
    assert {"query", "severity", "pending_duration", "destinations", "freeform_tags", "body"} <= written
    assert set(re.findall(r"^\s+(\w+)\s+= overrides", rule, re.MULTILINE)) == set(AlarmOverride().attribute_map)


def test_a_mount_target_gets_the_alarms_of_its_shape_in_the_model() -> None:
    text = (MODULE / "main.tf").read_text()
    shapes = {
        name: int(gbps) for name, gbps in re.findall(r"^ +([\w-]+) += \[for .* if gbps == (\d+)\]", text, re.MULTILINE)
    }
    (others,) = re.findall(r"^ +standard += .* if !contains\(\[([\d, ]+)\], gbps\)", text, re.MULTILINE)

    assert shapes == {shape.name: shape.observed_throughput_gbps for shape in SHAPES.values() if shape != STANDARD}
    assert {int(gbps) for gbps in others.split(",")} == set(shapes.values())


def test_the_pack_takes_and_fills_in_every_shape_of_the_model() -> None:
    text = (MODULE / "pack" / "main.tf").read_text()
    lists = [set(re.findall(r'"([^"]+)"', names)) for names in re.findall(r'\[("standard", [^]]*)\]', text)]
    filled = dict(re.findall(r'(\w+)_MOUNT_TARGET_OCIDS += join\("\|", local\.ocids\["([^"]+)"\]\)', text))

    assert lists
    assert [names for names in lists if names != set(SHAPES)] == []
    assert {shape for shape in SHAPES if shape != STANDARD.name} <= set(filled.values())
    assert {name: shape.upper().replace("-", "_") for name, shape in filled.items()} == {name: name for name in filled}


def test_every_variable_is_described_and_used() -> None:
    text = (MODULE / "variables.tf").read_text()
    used = "".join((MODULE / name).read_text() for name in ("main.tf", "iam.tf", "outputs.tf"))
    for name in re.findall(r'^variable "(\w+)"', text, re.MULTILINE):
        assert f"var.{name}" in used, name
    assert text.count("description") == text.count("variable ")


def test_the_readme_lists_every_file() -> None:
    readme = (MODULE / "README.md").read_text()
    listed = {
        name
        for line in readme.splitlines()
        if line.startswith("|")
        for name in re.findall(r"`([\w.]+(?:\.tf|/))`", line)
    }
    assert listed == {path.name for path in MODULE.glob("*.tf")} | {"pack/"}
