"""What is written down for a bug report."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from fss_exporter.errors import NotAuthorized, UsageError
from fss_toolbox.doctor.account_facts import CallOutcome, Lag, MetricFacts, RegionFacts, Tried, minutes_named_by
from fss_toolbox.doctor.account_record import AccountRecord, read_record, record_json

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
    ingestion_lags=(Lag("MetadataIOPS", 66.0, 71.0),),
)


def written(*regions: RegionFacts) -> str:
    return record_json(AccountRecord(1, "1.0", "2026-11-25T22:00:00Z", regions))


def test_a_record_reads_back_as_it_was_written_but_for_names_and_addresses() -> None:
    facts = replace(FACTS, availability_domains={"10.0.0.1": "AD-1"}, limit_names=("mount-target-count",))
    text = written(facts)
    assert "10.0.0.1" not in text
    (read,) = read_record("a", text.encode()).regions
    assert read == replace(facts, availability_domains={}, operations=read.operations, metrics=read.metrics)
    assert read.operations["ListMountTargets"].outcome is CallOutcome.REFUSED
    assert written(read) == text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', "\x00", '{"version": 1, "regions": [7]}'])
def test_a_file_that_is_no_record_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(UsageError, match=r"facts\.json: not a record of doctor --record"):
        read_record("facts.json", text.encode())


def test_ocids_and_names_have_stand_ins_that_stay_the_same() -> None:
    document = json.loads(written(FACTS))
    (region,) = document["regions"]
    first, second = region["metrics"]
    assert first["dimensions"]["mountTargetId"] == ["<mounttarget 1>", "<mounttarget 2>"]
    assert first["dimensions"] == second["dimensions"]
    assert region["ingestion_lags"] == [{"metric": "MetadataIOPS", "at_least": 66.0, "at_most": 71.0}]
    assert first["dimensions"]["mtResourceName"] == ["<name 1>"]
    assert first["dimensions"]["size"] == ["0B_to_8KiB"]
    assert region["operations"]["ListMountTargets"]["error"].endswith("in compartment id <filesystem 1>")


def test_an_error_of_the_settings_is_recorded_without_its_words() -> None:
    mistake = UsageError("oci.compartments: 2 compartments are called 'batch': root:batch, root:merger:batch")
    refused = NotAuthorized("ListExports in r: 404", operation="ListExports", status=404)
    tried = {"ListCompartments": Tried.of(mistake), "ListExports": Tried.of(refused)}
    operations = json.loads(written(RegionFacts("r", tried)))["regions"][0]["operations"]
    assert operations["ListCompartments"]["outcome"] == "failed"
    assert "batch" not in str(operations["ListCompartments"])
    assert operations["ListExports"]["error"] == "ListExports in r: 404"


def test_an_ocid_at_the_end_of_a_sentence_keeps_its_stand_in() -> None:
    tried = {"A": Tried(CallOutcome.FAILED, f"{ONE} is gone. Look for {ONE}.")}
    document = json.loads(written(RegionFacts("r", tried)))
    assert document["regions"][0]["operations"]["A"]["error"] == ("<mounttarget 1> is gone. Look for <mounttarget 1>.")


@given(st.from_regex(r"ocid1\.[a-z]{1,12}\.oc1\.[a-z_0-9]{0,10}\.[a-z0-9]{1,20}", fullmatch=True), st.text(max_size=20))
def test_the_record_has_no_ocid_in_any_text(ocid: str, around: str) -> None:
    facts = RegionFacts(
        "r",
        {"GetSubnet": Tried(CallOutcome.FAILED, f"{around} {ocid} {around}")},
        metrics=(MetricFacts("X", "", 1, {ocid: (ocid,), "resourceName": (ocid,)}, error=f"'{ocid}'"),),
        adding_two_metrics=ocid,
    )
    assert ocid not in written(facts)


def test_a_wait_says_how_minutes_are_named_only_if_a_point_came_within_a_minute() -> None:
    """A point that comes 70 s after its time stamp is late, or stamped with the start of its minute."""
    assert minutes_named_by(()) == ""
    assert minutes_named_by([Lag("A", 66.0, 71.0)]) == ""
    assert minutes_named_by([Lag("A", 66.0, 71.0), Lag("B", 10.0, 15.0)]) == "end"
