"""`fss-exporter discover`: the mount targets of an account, over the real SDK against a loopback region."""

import json
from pathlib import Path

import pytest
import yaml
from tests.prompt import ask, ask_process
from tests.region import Region, small

from fss_exporter.addresses import NetworkAddress
from fss_exporter.errors import BrokenAnswer, CredentialsRefused, NotAuthorized, UsageError
from fss_exporter.model.limits import STANDARD, Limits
from fss_exporter.oci.inventory.oci_inventory import MountTarget
from fss_exporter.settings import Settings, load
from fss_toolbox.cli.discover import _show, configuration, hides_compartments
from fss_toolbox.discovery import DiscoveredMountTarget, http_sd, sharing_an_address

Flags = tuple[str, ...]
NAMES = sorted(target.name for target in small().mount_targets)


def test_without_credentials_it_says_which_file_is_missing(tmp_path: Path) -> None:
    answer = ask("discover", "--oci.config-file", tmp_path / "none")
    assert answer.code == 2
    assert f"oci.config_file {tmp_path / 'none'}, profile DEFAULT" in answer.err


def test_a_region_that_does_not_answer_is_a_failure(keys: Path) -> None:
    answer = ask("discover", "--oci.endpoint", "http://127.0.0.1:1", "--oci.config-file", keys)
    assert answer.code == 1
    assert answer.out == ""
    assert "ListCompartments in eu-frankfurt-1: no answer" in answer.err


def test_an_account_whose_compartments_are_hidden_asks_for_the_ocid_of_one(
    region: Region, account_flags: Flags
) -> None:
    region.add_fault("deny:ListCompartments")
    answer = ask("discover", *account_flags)
    assert answer.code == 1
    assert (
        "no mount target could be listed. A policy on one compartment is enough with --oci.compartment OCID"
        in answer.err
    )
    batch = next(compartment.id for compartment in small().compartments if compartment.name == "batch")
    assert ask("discover", *account_flags, "--oci.compartment", batch).code == 0


@pytest.mark.parametrize(
    ("failure", "hidden"),
    [
        (NotAuthorized("", operation="ListCompartments", status=403), True),
        (NotAuthorized("", operation="ListCompartments", status=404), True),
        (CredentialsRefused("", operation="ListCompartments", status=401), False),
        (BrokenAnswer("ListCompartments: NotAuthorizedOrNotFound", operation="ListCompartments", status=503), False),
        (NotAuthorized("ListCompartments", operation="ListMountTargets", status=404), False),
        (UsageError("ListCompartments: NotAuthorizedOrNotFound"), False),
    ],
)
def test_compartments_are_hidden_by_the_kind_of_the_answer_and_not_by_its_words(
    failure: Exception, hidden: bool
) -> None:
    assert hides_compartments(failure) is hidden


def test_a_missing_permission_names_its_statement(region: Region, account_flags: Flags) -> None:
    region.add_fault("deny:ListMountTargets")
    answer = ask("discover", *account_flags, "--oci.compartment", "batch")
    assert answer.code == 1
    batch = next(compartment.id for compartment in small().compartments if compartment.name == "batch")
    assert f"Allow group <group> to inspect mount-targets in compartment id {batch}" in answer.err
    assert "no mount target could be listed" in answer.err


def test_missing_addresses_leave_the_rest_and_say_so(region: Region, account_flags: Flags) -> None:
    region.add_fault("deny:GetPrivateIp")
    answer = ask("discover", *account_flags, "--output", "json")
    assert answer.code == 1
    assert "incomplete: GetPrivateIp" in answer.err
    addresses = {mount_target["address"] for mount_target in answer.document["mount_targets"]}
    assert addresses == {None, "2001:db8:80:4::40"}
    (probed,) = ask("discover", *account_flags, "--output", "http_sd").document
    assert probed["targets"] == ["[2001:db8:80:4::40]:2049"]


def test_an_address_that_the_configuration_states_is_shown_as_serve_exports_it(
    account_flags: Flags, tmp_path: Path
) -> None:
    idle = next(target for target in small().mount_targets if target.name == "mt-idle")
    path = tmp_path / "config.yml"
    path.write_text(f"addresses:\n  {idle.id}: 2001:DB8::7\n")
    rows = ask("discover", *account_flags, "--config.file", path, "--output", "json").document["mount_targets"]
    (row,) = (row for row in rows if row["name"] == "mt-idle")
    assert (row["address"], row["further_addresses"]) == ("2001:db8::7", [])
    assert "10.80.4.40, 2001:db8:80:4::40" in ask("discover", *account_flags).out


def test_every_misspelled_compartment_is_named(account_flags: Flags) -> None:
    answer = ask("discover", *account_flags, "--oci.compartment", "nope", "--oci.compartment", "nada")
    assert answer.code == 1
    assert "'nope'" in answer.err
    assert "'nada'" in answer.err


def test_what_is_not_shown_may_be_missing(region: Region, account_flags: Flags) -> None:
    region.add_fault("deny:ListReplications")
    answer = ask("discover", *account_flags)
    assert answer.code == 0
    assert answer.err == ""


def test_the_table_has_every_mount_target_with_its_ceilings(account_flags: Flags) -> None:
    answer = ask("discover", *account_flags)
    assert answer.code == 0
    rows = {line.split()[0]: line for line in answer.out.splitlines()[1:-1]}
    assert sorted(rows) == NAMES
    assert "10.80.1.10" in rows["mt-home"]
    assert "/export/a (homes), /export/b (projects)" in rows["mt-home"]
    assert "50,000" in rows["mt-home"]
    assert "hpmt-20" in rows["mt-media"]
    assert "50,000" not in rows["mt-media"]


def test_an_address_of_several_lines_stays_a_comment_of_the_configuration() -> None:
    two = [
        DiscoveredMountTarget(
            tenancy="acme",
            region="eu-frankfurt-1",
            target=MountTarget(
                id=f"ocid1.mounttarget.oc1..{name}",
                name=name,
                compartment_id="c",
                availability_domain="z",
                state="ACTIVE",
                address="10.0.0.1\noci: {auth: resource_principal}",
            ),
            places=(NetworkAddress("eu-frankfurt-1", "10.0.0.1\noci: {auth: resource_principal}"),),
            compartment="c",
            shape="standard",
            limits=STANDARD.limits,
            exports={},
        )
        for name in "ab"
    ]
    text = configuration(Settings(), {None: ["eu-frankfurt-1"]}, two)
    assert yaml.safe_load(text)["oci"]["auth"] == "config_file"
    assert text.count("\noci:") == 1


def test_json_has_the_same_with_units(account_flags: Flags) -> None:
    by_name = {
        mount_target["name"]: mount_target
        for mount_target in ask("discover", *account_flags, "--output", "json").document["mount_targets"]
    }
    assert sorted(by_name) == NAMES
    home = by_name["mt-home"]
    assert home["limits"] == {
        "iops": 50_000,
        "read_bytes_per_second": 1e9,
        "write_bytes_per_second": 1e9,
        "connections": 100_000,
        "encrypted_connections": 4096,
    }
    assert home["fqdn"] == "mt-home.office.fssdemo.oraclevcn.com"
    assert by_name["mt-media"]["limits"]["iops"] is None
    assert by_name["mt-media"]["fqdn"] is None


def test_prometheus_can_read_the_targets(account_flags: Flags) -> None:
    groups = ask("discover", *account_flags, "--output", "http_sd").document
    assert sorted(group["targets"][0] for group in groups) == sorted(
        f"{target.address}:2049" for target in small().mount_targets
    )
    for group in groups:
        assert all(name.startswith("__meta_fss_") for name in group["labels"])
        assert all(isinstance(value, str) for value in group["labels"].values())


def test_the_configuration_can_be_used_as_it_is(region: Region, account_flags: Flags, tmp_path: Path) -> None:
    made = tmp_path / "made.yml"
    made.write_text(ask("discover", *account_flags, "--output", "config").out)
    settings = load(made)
    assert settings.oci.regions == ("eu-frankfurt-1",)
    assert settings.oci.endpoint == region.url
    again = ask("discover", "--config.file", made)
    assert again.code == 0
    assert sorted(line.split()[0] for line in again.out.splitlines()[1:-1]) == NAMES


def test_a_missing_ceiling_waits_for_a_figure_in_the_configuration(account_flags: Flags, tmp_path: Path) -> None:
    out = ask("discover", *account_flags, "--output", "config").out
    assert "#     hpmt-20: {iops: FIGURE}" in out
    made = tmp_path / "made.yml"
    hint = out[out.index("# limits:") :].replace("# ", "", 1).replace("\n# ", "\n").replace("FIGURE", "150000")
    made.write_text(out[: out.index("# limits:")] + hint.replace("\n#", "\n"))
    assert load(made).limits.shapes["hpmt-20"].iops == 150_000


def test_ceilings_and_tags_of_the_configuration_hold(account_flags: Flags, tmp_path: Path) -> None:
    settings = tmp_path / "own.yml"
    settings.write_text(
        "oci: {include: {tags: {team: it}}, exclude: {tags: {a: b}}}\nlimits: {mount_targets: {mt-home: {iops: 80000}}}\n"
    )
    flags = ("--config.file", settings, *account_flags)
    (only,) = ask("discover", *flags, "--output", "json").document["mount_targets"]
    assert only["name"] == "mt-home"
    assert only["limits"]["iops"] == 80_000
    made = yaml.safe_load(ask("discover", *flags, "--output", "config").out)
    assert (made["oci"]["include"], made["oci"]["exclude"]) == ({"tags": {"team": "it"}}, {"tags": {"a": "b"}})


def test_one_compartment_can_be_chosen(account_flags: Flags) -> None:
    listed = ask("discover", *account_flags, "--oci.compartment", "batch", "--output", "json").document["mount_targets"]
    assert {row["name"] for row in listed} == {"mt-idle", "mt-scratch"}


def test_it_runs_as_a_process(account_flags: Flags) -> None:
    answer = ask_process("discover", *account_flags, "--oci.compartment", "batch", COLUMNS="70")
    assert answer.code == 0
    assert all(name in answer.out for name in ("mt-idle", "mt-scratch"))
    assert "left out, the terminal is too narrow" in answer.out


def discovered(name: str, address: str, state: str = "ACTIVE") -> DiscoveredMountTarget:
    target = MountTarget(
        id=f"ocid1.mounttarget.oc1..{name}",
        name=name,
        compartment_id="c",
        availability_domain="AD-1",
        state=state,
        address=address,
    )
    return DiscoveredMountTarget(
        "acme", "r", target, (NetworkAddress("r", address),), "c", STANDARD.name, STANDARD.limits, {}
    )


def test_only_active_mount_targets_with_an_address_are_probed() -> None:
    given = [
        discovered("a", "10.0.0.1"),
        discovered("b", ""),
        discovered("c", "10.0.0.3", "CREATING"),
        discovered("d", "fd00::4"),
    ]
    assert [group["targets"] for group in http_sd(given)] == [["10.0.0.1:2049"], ["[fd00::4]:2049"]]


def test_mount_targets_that_share_an_address_wait_for_the_operator(capsys: pytest.CaptureFixture[str]) -> None:
    given = [discovered("a", "10.0.0.1"), discovered("b", "10.0.0.1"), discovered("c", ""), discovered("d", "")]
    assert [shared.target.name for shared in sharing_an_address(given)] == ["a", "b"]
    text = configuration(Settings(), {None: ["r"]}, given)
    assert "#   OCID_OF_THE_VCN: NAME  # a at 10.0.0.1, b at 10.0.0.1\n" in text
    assert yaml.safe_load(text).keys() == {"oci"}
    _show(given)
    assert capsys.readouterr().err.count("an address of 10.0.0.1 in network r is also that of") == 2


@pytest.mark.parametrize("name", ['x"\n- evil: true', "x\x1b[2J", "{{x}}"])
def test_a_hostile_name_stays_a_name(name: str) -> None:
    mount_target = discovered(name, "10.0.0.1")
    assert json.loads(json.dumps(http_sd([mount_target])))[0]["labels"]["__meta_fss_mount_target"] == name
    assert yaml.safe_load(configuration(Settings(), {None: ["r"]}, [mount_target])).keys() == {"oci"}


def test_a_shape_without_a_ceiling_of_iops_is_all_that_is_hinted_at() -> None:
    target = discovered("a", "10.0.0.1").target
    fast = DiscoveredMountTarget("acme", "r", target, (NetworkAddress("r", "10.0.0.1"),), "c", "hpmt-80", Limits(), {})
    assert "hpmt-80" in configuration(Settings(), {None: ["r"]}, [fast])
    assert "limits" not in configuration(Settings(), {None: ["r"]}, [discovered("a", "10.0.0.1")])


def two_accounts(folder: Path, region: Region, config: str) -> Path:
    """A configuration of an account that answers and of one whose credentials are missing."""
    path = folder / "two.yml"
    path.write_text(
        f"oci:\n  config_file: {config}\n  endpoint: {region.url}\n  accounts:\n"
        "  - {name: acme}\n  - {name: beta, profile: NOBODY}\n"
    )
    return path


def test_of_several_accounts_the_one_that_fails_is_named_and_the_others_are_listed(
    region: Region, account_flags: Flags, tmp_path: Path
) -> None:
    path = two_accounts(
        tmp_path, region, dict(zip(account_flags[::2], account_flags[1::2], strict=True))["--oci.config-file"]
    )
    answer = ask("discover", "--config.file", path, "--output", "json")
    assert answer.code == 1
    assert "incomplete: beta: " in answer.err
    listed = answer.document["mount_targets"]
    assert {row["tenancy"] for row in listed} == {"acme"}
    assert len(listed) == len(NAMES)
    prompt = ask("discover", "--config.file", path, "--oci.account", "acme", "--output", "config")
    assert prompt.code == 0
    assert [account["name"] for account in yaml.safe_load(prompt.out)["oci"]["accounts"]] == ["acme"]


def test_a_command_that_asks_one_account_wants_to_know_which(
    region: Region, account_flags: Flags, tmp_path: Path
) -> None:
    path = two_accounts(
        tmp_path, region, dict(zip(account_flags[::2], account_flags[1::2], strict=True))["--oci.config-file"]
    )
    answer = ask(
        "alarms",
        "plan",
        "--config.file",
        path,
        "--compartment",
        "ocid1.compartment.oc1..a",
        "--topic",
        "ocid1.onstopic.oc1..a",
    )
    assert answer.code == 2
    assert "--oci.account: say which of acme, beta" in answer.err


def test_doctor_says_which_account_a_finding_is_about(region: Region, account_flags: Flags, tmp_path: Path) -> None:
    path = two_accounts(
        tmp_path, region, dict(zip(account_flags[::2], account_flags[1::2], strict=True))["--oci.config-file"]
    )
    answer = ask("doctor", "--no-client", "--config.file", path, "--output", "json")
    assert answer.code == 2
    about = {(finding["subject"].split()[0], finding["check"]) for finding in answer.document["findings"]}
    assert {("beta", "credentials"), ("acme", "credentials"), ("acme", "clock")} <= about


@pytest.mark.parametrize("limits", ["observed", "{}"])
@pytest.mark.parametrize("command", ["discover", "calibrate", "alarms"])
def test_a_command_without_a_poller_says_that_it_knows_no_observed_ceiling(
    limits: str, command: str, tmp_path: Path
) -> None:
    settings = tmp_path / "settings.yml"
    settings.write_text(f"limits: {limits}\n")
    without_account = {
        "discover": ["--oci.config-file", tmp_path / "none"],
        "calibrate": ["--oci.config-file", tmp_path / "none", tmp_path],
        "alarms": ["render", "--out", tmp_path / "alarms"],
    }
    answer = ask(command, *without_account[command], "--config.file", settings)
    assert ("limits: observed works in the poller alone" in answer.err) == (limits == "observed")
    assert answer.code == (0 if command == "alarms" else 2)
