"""docs/security.md: the policy it prints is the one the poller's calls need."""

import re
from pathlib import Path

import pytest

from fss_exporter.oci.iam import NEEDS, statement

DOC = Path(__file__).parents[2] / "docs/security.md"
VERBS = ("inspect", "read", "use", "manage")

# Calls of alarms, doctor, publishing and of other storage services, which their own pages are about.
ELSEWHERE = {
    "ListAlarms",
    "GetAlarm",
    "CreateAlarm",
    "UpdateAlarm",
    "DeleteAlarm",
    "PublishMessage",
    "PostMetricData",
    "ListRegionSubscriptions",
    "ListLustreFileSystems",
    "ListVolumes",
    "ListBootVolumes",
}


def documented() -> dict[str, str]:
    """Resource to verb and everything behind it."""
    lines = re.findall(
        r"^Allow dynamic-group <dynamic group> to (\w+) ([\w-]+) (in .*)$", DOC.read_text(), flags=re.MULTILINE
    )
    assert len(lines) == len({resource for _, resource, _ in lines})
    return {resource: f"{verb} {rest}" for verb, resource, rest in lines}


@pytest.mark.parametrize("operation", sorted(NEEDS.keys() - ELSEWHERE))
def test_a_call_of_the_poller_is_allowed_by_the_documented_policy(operation: str) -> None:
    needed = re.fullmatch(
        r"Allow dynamic-group <dynamic group> to (\w+) ([\w-]+) (in .*)", statement(operation, "instance_principal")
    )
    assert needed
    verb, _, rest = documented()[needed[2]].partition(" ")
    assert rest == needed[3]
    assert VERBS.index(verb) >= VERBS.index(needed[1])


def test_page_chart_and_code_list_the_same_permissions() -> None:
    notes = (DOC.parents[1] / "deploy/helm/fss-exporter/templates/NOTES.txt").read_text()
    listed = re.search(r"range list (.*?) \}\}", notes)
    assert listed
    chart = {*re.findall(r'"([^"]+)"', listed[1])} | {
        " ".join(text) for text in re.findall(r"Allow any-user to (\w+) ([\w-]+) in", notes)
    }
    page = {f"{text.split()[0]} {resource}" for resource, text in documented().items()}
    needs = {need.permission for operation, need in NEEDS.items() if operation not in ELSEWHERE}
    needs -= {"inspect export-sets"}  # read includes inspect
    assert page == chart == needs


def test_what_only_doctor_needs_is_on_its_page() -> None:
    need = NEEDS["ListRegionSubscriptions"]
    page = (DOC.parent / "commands/doctor.md").read_text()
    assert f"`{need.verb} {need.resource} in {need.where}`" in page


def test_workload_identity_has_the_documented_condition() -> None:
    condition = re.search(r"^where all \{(.*)\}$", DOC.read_text(), flags=re.MULTILINE)
    assert condition
    assert condition[1] in statement("ListFileSystems", "workload_identity")
