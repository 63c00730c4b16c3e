"""The Terraform module's policies are what the code asks for, and its README lists what there is. Needs no terraform."""

import re
from pathlib import Path

from oci.monitoring.models import AlarmOverride, CreateAlarmDetails

from fss_exporter.model.limits import SHAPES
from fss_exporter.oci.iam import NEEDS, statement
from fss_exporter.oci.metric_table import BLOCK, LUSTRE

MODULE = Path(__file__).parents[2] / "deploy" / "terraform"
READ_ALARMS = sorted((MODULE.parents[1] / "mql" / "alarms").glob("fss-mount-target-read-*.json"))
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


def test_the_module_types_no_list_of_shapes() -> None:
    """The shapes are those of the files of alarms, which are made from the model."""
    text = "".join((MODULE / name).read_text() for name in ("main.tf", "pack/main.tf"))
    in_text = set(re.findall(r"hpmt-\d+", re.sub(r'description += ".*"', "", text)))

    assert in_text == set()
    assert {file.stem.removeprefix("fss-mount-target-read-") for file in READ_ALARMS} == set(SHAPES)


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


def test_the_example_gives_the_module_what_it_needs_and_reads_what_it_has() -> None:
    example = (MODULE / "examples/one-compartment/main.tf").read_text()
    given = set(
        re.findall(
            r"^  (\w+) +=", example.partition('module "mount_target_alarms" {')[2].partition("\n}\n")[0], re.MULTILINE
        )
    )
    variables = dict(
        re.findall(r'^variable "(\w+)" \{\n(.*?)\n\}', (MODULE / "variables.tf").read_text(), re.DOTALL | re.MULTILINE)
    )
    outputs = set(re.findall(r'^output "(\w+)"', (MODULE / "outputs.tf").read_text(), re.MULTILINE))

    assert given - {"source"} <= variables.keys()
    assert {name for name, body in variables.items() if "default" not in body} <= given
    assert set(re.findall(r"module\.mount_target_alarms\.(\w+)", example)) <= outputs
    assert set(re.findall(r"\bvar\.(\w+)", example)) == set(re.findall(r'^variable "(\w+)"', example, re.MULTILINE))
