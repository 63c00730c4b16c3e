"""What is written down for a bug report."""

import json
from dataclasses import replace

from hypothesis import given, strategies as st

from fss_toolbox.doctor.account_facts import CallOutcome, Lag, MetricFacts, RegionFacts, Tried, record

ONE = "ocid1.mounttarget.oc1.eu_frankfurt_1.aaaaaaaafuyipt4am32q"
TWO = "ocid1.mounttarget.oc1.eu_frankfurt_1.bbbbbbbbfuyipt4am32q"
SYSTEM = "ocid1.filesystem.oc1.eu_frankfurt_1.cccc"
DIMENSIONS = {
    "mountTargetId": (ONE, TWO),
    "resourceId": (SYSTEM,),
    "mtResourceName": ("mt-home",),
    "size": ("0B_to_8KiB",),
}
FACTS = RegionFacts(
    "eu-frankfurt-1",
    {
        "ListMountTargets": Tried(
            CallOutcome.REFUSED, f"Allow group <group> to inspect mount-targets in compartment id {SYSTEM}"
        )
    },
    metrics=(MetricFacts("MetadataIOPS", "MetadataIOPS", 2, DIMENSIONS), MetricFacts("X", "", 1, DIMENSIONS)),
    lags=(Lag("MetadataIOPS", 66.0, 71.0),),
)


def test_ocids_and_names_have_stand_ins_that_stay_the_same() -> None:
    document = json.loads(record("1.0", (FACTS,)))
    (region,) = document["regions"]
    first, second = region["metrics"]
    assert first["dimensions"]["mountTargetId"] == ["<mounttarget 1>", "<mounttarget 2>"]
    assert first["dimensions"] == second["dimensions"]
    assert region["ingestion_lag_seconds"] == [{"metric": "MetadataIOPS", "at_least": 66.0, "at_most": 71.0}]
    assert first["dimensions"]["mtResourceName"] == ["<name 1>"]
    assert first["dimensions"]["size"] == ["0B_to_8KiB"]
    assert region["operations"]["ListMountTargets"]["error"].endswith("in compartment id <filesystem 1>")


def test_an_ocid_at_the_end_of_a_sentence_keeps_its_stand_in() -> None:
    tried = {"A": Tried(CallOutcome.FAILED, f"{ONE} is gone. Look for {ONE}.")}
    document = json.loads(record("1.0", (RegionFacts("r", tried),)))
    assert document["regions"][0]["operations"]["A"]["error"] == ("<mounttarget 1> is gone. Look for <mounttarget 1>.")


@given(st.from_regex(r"ocid1\.[a-z]{1,12}\.oc1\.[a-z_0-9]{0,10}\.[a-z0-9]{1,20}", fullmatch=True), st.text(max_size=20))
def test_the_record_has_no_ocid_in_any_text(ocid: str, around: str) -> None:
    facts = RegionFacts(
        "r",
        {"GetSubnet": Tried(CallOutcome.FAILED, f"{around} {ocid} {around}")},
        metrics=(MetricFacts("X", "", 1, {ocid: (ocid,), "resourceName": (ocid,)}, error=f"'{ocid}'"),),
        arithmetic=ocid,
    )
    assert ocid not in record("1", (facts,))


def test_the_record_says_how_minutes_are_named_only_where_a_wait_told_it() -> None:
    """A point that comes 70 s after its time stamp is late, or stamped with the start of its minute."""

    def named_by(*lags: Lag) -> str:
        document = json.loads(record("1", (replace(FACTS, lags=lags),)))
        name: str = document["regions"][0]["minutes_named_by"]
        return name

    assert named_by() == ""
    assert named_by(Lag("A", 66.0, 71.0)) == ""
    assert named_by(Lag("A", 66.0, 71.0), Lag("B", 10.0, 15.0)) == "end"
