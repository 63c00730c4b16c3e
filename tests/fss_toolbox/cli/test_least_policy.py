"""Commands that ask OCI, with the policy of one compartment and everything else refused."""

from collections.abc import Callable

import pytest
from tests.fss_toolbox.cli.alarms_operator import COMPARTMENTS, HOME, STORAGE, Operator
from tests.fss_toolbox.cli.doctor_prompt import Flags, findings
from tests.prompt import ask
from tests.region import Region, small
from tests.region.policed import PolicedRegion, least_policy

pytestmark = pytest.mark.usefixtures("nobody_at_home", "near")


@pytest.fixture
def region(regions: Callable[..., Region]) -> Region:
    policed = regions(kind=PolicedRegion)
    assert isinstance(policed, PolicedRegion)
    policed.grant(least_policy(STORAGE, COMPARTMENTS["network"]))
    return policed


def test_discover_lists_the_compartment(account_flags: Flags) -> None:
    answer = ask("discover", *account_flags, "--oci.compartment", STORAGE, "--output", "json")
    assert answer.code == 0, answer.err
    assert {target["name"] for target in answer.document["mount_targets"]} == {
        target.name for target in small().mount_targets if target.compartment_id == STORAGE
    }


def test_doctor_finds_no_problem_and_names_what_only_the_tenancy_grants(account_flags: Flags) -> None:
    answer = ask("doctor", "--no-client", *account_flags, "--oci.compartment", STORAGE, "--output", "json")
    assert answer.code == 0, answer.out
    refused = {(finding["subject"].split()[-1], finding["severity"]) for finding in findings(answer)["permissions"]}
    optional = ("ListLimitValues", "ListRegionSubscriptions", "ListLustreFileSystems")
    assert refused == {(operation, "advice") for operation in optional}


def test_alarms_are_planned_and_applied_with_rights_on_the_compartment(region: Region, operator: Operator) -> None:
    assert isinstance(region, PolicedRegion)
    region.grant(
        f"Allow group g to {permission} in compartment id {STORAGE}"
        for permission in (
            "inspect compartments",
            "inspect mount-targets",
            "inspect replications",
            "manage alarms",
            "read metrics",
            "use ons-topics",
        )
    )
    answer = operator.alarms("apply")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize(
    ("compartment", "says"),
    [
        ("storage:", "must be the OCID, the name or the path of a compartment, as in storage:batch"),
        ("storage/batch", "must be the OCID, the name or the path of a compartment, as in storage:batch"),
        ("storage:*", "must be the OCID, the name or the path of a compartment, as in storage:batch"),
        ("", "must be the OCID, the name or the path of a compartment, as in storage:batch"),
        (HOME, "must be the OCID of a compartment or of the tenancy"),
        ("ocid1.compartment.oc1..a b", "must be the OCID of a compartment or of the tenancy"),
    ],
)
def test_what_can_name_no_compartment_is_refused(account_flags: Flags, compartment: str, says: str) -> None:
    answer = ask("discover", *account_flags, "--oci.compartment", compartment)
    assert (answer.code, answer.out) == (2, "")
    assert f"oci.compartments[0]: {says}" in answer.err


def test_discover_takes_the_compartments_below_as_well(account_flags: Flags) -> None:
    answer = ask("discover", *account_flags, "--oci.compartment", STORAGE, "--oci.in-subtree", "--output", "config")
    assert answer.code == 0, answer.err
    assert "in_subtree: true" in answer.out
