"""The Terraform module's policies are what the code asks for, and its README lists what there is. Needs no terraform."""

import re
from pathlib import Path

from tests.prompt import ask

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
        *needed(*OTHER_SERVICES),
    }


def test_no_statement_of_the_module_escapes_these_tests() -> None:
    written = (MODULE / "iam.tf").read_text().count('"Allow ')
    assert written == sum(
        len(statements(policy)) for policy in ("poller", "other_services", "publisher", "provisioner")
    )


def test_every_variable_is_described_and_used() -> None:
    text = (MODULE / "variables.tf").read_text()
    used = "".join((MODULE / name).read_text() for name in ("main.tf", "iam.tf", "outputs.tf"))
    for name in re.findall(r'^variable "(\w+)"', text, re.MULTILINE):
        assert f"var.{name}" in used, name
    assert text.count("description") == text.count("variable ")


def test_the_readme_lists_every_file() -> None:
    readme = (MODULE / "README.md").read_text()
    listed = {
        name for line in readme.splitlines() if line.startswith("|") for name in re.findall(r"`([\w.]+\.tf)`", line)
    }
    assert listed == {path.name for path in MODULE.glob("*.tf")}


def test_the_example_gives_the_alarms_of_render_what_render_leaves_open() -> None:
    example = (MODULE / "examples/one-compartment/main.tf").read_text()
    rendered = ask("alarms", "render", "--compartment", "ocid1.compartment.oc1..a", "--output", "terraform").out
    given = re.findall(r"^  (\w+) +=", example.partition('module "alarms" {')[2], re.MULTILINE)

    assert given == ["source", *re.findall(r'^variable "(\w+)"', rendered, re.MULTILINE)]


def test_the_example_gives_the_module_what_it_needs_and_reads_what_it_has() -> None:
    example = (MODULE / "examples/one-compartment/main.tf").read_text()
    given = set(
        re.findall(r"^  (\w+) +=", example.partition('module "fss_exporter" {')[2].partition("\n}\n")[0], re.MULTILINE)
    )
    variables = dict(
        re.findall(r'^variable "(\w+)" \{\n(.*?)\n\}', (MODULE / "variables.tf").read_text(), re.DOTALL | re.MULTILINE)
    )
    outputs = set(re.findall(r'^output "(\w+)"', (MODULE / "outputs.tf").read_text(), re.MULTILINE))

    assert given - {"source"} <= variables.keys()
    assert {name for name, body in variables.items() if "default" not in body} <= given
    assert set(re.findall(r"module\.fss_exporter\.(\w+)", example)) <= outputs
    assert set(re.findall(r"\bvar\.(\w+)", example)) == set(re.findall(r'^variable "(\w+)"', example, re.MULTILINE))
