"""OCIDs of today and of 2016, and the regions in them."""

import base64
import json
from pathlib import Path

import pytest

from fss_exporter.errors import UsageError
from fss_exporter.oci.client import read_credentials, region_of
from fss_exporter.oci.client.credentials import SessionToken, full_region
from fss_exporter.oci.client.listed_records import mount_target
from fss_exporter.oci.iam import statement
from fss_exporter.oci.inventory.selection import CompartmentTree, TagFilter, defined_tag, unused_tags
from fss_exporter.ocid import OCID, kind_of, looks_like_ocid
from fss_exporter.settings import Oci

OLD = "ocidv1:tenancy:oc1:phx:1460406592660:aaaaaaaab4faofrfkxecohhjuivjq262pu"
NEW = "ocid1.mounttarget.oc1.fra.aaaaaaaaxt7jwi"


@pytest.mark.parametrize(("ocid", "kind"), [(OLD, "tenancy"), (NEW, "mounttarget"), ("storage", ""), ("ocid", "")])
def test_the_type_of_both_forms_is_known_and_a_name_has_none(ocid: str, kind: str) -> None:
    assert kind_of(ocid) == kind
    assert looks_like_ocid(ocid) == bool(kind)


def test_both_forms_are_found_in_a_text_without_the_stop_of_the_sentence() -> None:
    assert OCID.findall(f"see {OLD}, and {NEW}. Or not") == [OLD, NEW]


def test_the_settings_take_a_tenancy_of_2016_and_a_policy_names_it() -> None:
    assert Oci(tenancy=OLD, compartments=(OLD,)).tenancy == OLD
    assert statement("ListMetrics", "config_file", OLD).split(" where ")[0].endswith("in tenancy")


@pytest.mark.parametrize(
    ("ocid", "region"),
    [
        (OLD, "us-phoenix-1"),
        (NEW, "eu-frankfurt-1"),
        ("ocid1.onstopic.oc1.us_boardman_1.aaaa", "us-boardman-1"),
        ("ocid1.onstopic.oc1.xyz.aaaa", ""),
        ("ocid1.tenancy.oc1..aaaa", ""),
        ("storage", ""),
    ],
)
def test_a_code_that_nobody_knows_is_no_region(ocid: str, region: str) -> None:
    assert region_of(ocid) == region


@pytest.mark.parametrize("name", ["FRA", "fra", "eu-frankfurt-1", "EU-FRANKFURT-1"])
def test_a_short_code_is_the_full_name_of_the_region(name: str) -> None:
    assert full_region(name) == "eu-frankfurt-1"
    assert full_region("us-boardman-1") == "us-boardman-1"


def test_keys_of_defined_tags_have_no_case_and_freeform_keys_have() -> None:
    row = {
        "id": NEW,
        "compartmentId": "c",
        "exportSetId": "e",
        "lifecycleState": "ACTIVE",
        "freeformTags": {"Team": "a"},
        "definedTags": {"Operations": {"CostCenter": "42"}},
    }
    tags = mount_target(row).tags
    assert TagFilter({"operations.COSTCENTER": "42"}).includes(tags)
    assert not TagFilter(exclude={"operations.costcenter": "4*"}).includes(tags)
    assert TagFilter({"Team": "a"}).includes(tags)
    assert not TagFilter({"team": "a"}).includes(tags)
    assert TagFilter({"team": "a"}, {"Team": "a"}).without_match([tags]) == [
        "oci.include.tags: none of 1 mount targets has team: a"
    ]
    assert TagFilter({"team": "a"}).without_match([]) == []
    assert unused_tags(("team", "Cost.Unit", "owner"), [{}, {"Team": "a", defined_tag("cost.unit"): ""}]) == [
        "oci.tags_as_labels: none of 2 mount targets and file systems has team",
        "oci.tags_as_labels: none of 2 mount targets and file systems has owner",
    ]


def test_an_ended_session_token_says_when_it_ended_and_how_to_sign_in_again() -> None:
    token = SessionToken("DEFAULT", 1_795_770_000.0)
    assert token.advice(1_795_769_999.0) == ""
    assert "ended at 2026-11-27T09:00:00Z. Sign in again: oci session authenticate --profile-name DEFAULT" in (
        token.advice(1_795_770_001.0)
    )
    assert SessionToken("DEFAULT", None).advice(9e9) == ""


def _profile(folder: Path, key: str, more: str = "") -> Oci:
    file = folder / "config"
    file.write_text(
        f"[DEFAULT]\nuser=ocid1.user.oc1..a\nfingerprint={':'.join(['aa'] * 16)}\ntenancy={OLD}\nregion=FRA\n"
        f"key_file={folder / key}\n{more}"
    )
    return Oci(config_file=file)


def _write_keys(folder: Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    for name, key in (("rsa", rsa.generate_private_key(65537, 2048)), ("ec", ec.generate_private_key(ec.SECP256R1()))):
        pem = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        (folder / name).write_bytes(pem)


def test_a_key_that_is_not_rsa_is_refused_and_the_token_of_a_session_tells_its_end(tmp_path: Path) -> None:
    _write_keys(tmp_path)
    with pytest.raises(UsageError, match="a key of the type EC, and OCI takes RSA only"):
        read_credentials(_profile(tmp_path, "ec"))
    held = read_credentials(_profile(tmp_path, "rsa"))
    assert (held.region, held.tenancy_id, held.token) == ("eu-frankfurt-1", OLD, None)

    payload = base64.urlsafe_b64encode(json.dumps({"exp": 7}).encode()).decode().rstrip("=")
    (tmp_path / "token").write_text(f"e30.{payload}.c2ln")
    held = read_credentials(_profile(tmp_path, "rsa", f"security_token_file={tmp_path / 'token'}\n"))
    assert held.token == SessionToken("DEFAULT", 7.0)
    (tmp_path / "token").write_text("no token")
    held = read_credentials(_profile(tmp_path, "rsa", f"security_token_file={tmp_path / 'token'}\n"))
    assert held.token == SessionToken("DEFAULT", None)


def test_a_changed_file_of_oci_config_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_keys(tmp_path)
    _profile(tmp_path, "rsa")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OCI_CONFIG_FILE", str(tmp_path / "config"))
    held = read_credentials(Oci())
    assert not held.are_outdated
    (tmp_path / "config").write_text((tmp_path / "config").read_text() + "\n# changed\n")
    assert held.are_outdated


@pytest.mark.parametrize("auth", ["resource_principal", "workload_identity"])
def test_a_missing_region_of_a_principal_is_named(auth: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCI_RESOURCE_PRINCIPAL_VERSION", "2.2")
    monkeypatch.delenv("OCI_RESOURCE_PRINCIPAL_REGION", raising=False)
    with pytest.raises(UsageError, match="the environment has no OCI_RESOURCE_PRINCIPAL_REGION"):
        read_credentials(Oci(auth=auth))


def test_a_compartment_of_2016_is_wanted_by_its_ocid_and_not_by_a_name() -> None:
    old = "ocidv1:compartment:oc1:phx:1460166241454:aaaaexample"

    assert CompartmentTree("ocid1.tenancy.oc1..t", ()).choose([old]) == ({old: old}, [])
