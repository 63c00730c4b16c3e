"""What doctor records of an account, each answer of the region once, and what doctor, alarms and calibrate make of the record."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.fss_toolbox.calibrate.fake_procfs import procfs_with_mount
from tests.fss_toolbox.cli.doctor_prompt import findings
from tests.prompt import Answer, ask
from tests.region import Region, Tenancy, large, small

from fss_toolbox.demo.region.metric_streams import PublishedMetric, PublishedStream
from fss_toolbox.doctor.account_record import AccountRecord, read_record, record_json
from fss_toolbox.mql import JoinOrder

pytestmark = pytest.mark.usefixtures("nobody_at_home", "near")

ONE, TWO, THREE = ("MountTargetReadThroughput[5m].mean() >= " + bound for bound in ("1", "2", "3"))


@dataclass
class Account:
    """An account in a region, and a folder for its record."""

    region: Region
    folder: Path

    @property
    def record(self) -> Path:
        return self.folder / "facts.json"

    def ask(self, *arguments: object) -> Answer:
        keys = self.region.account.write_config(self.folder, self.region.tenancy.region)
        return ask(*arguments, "--oci.endpoint", self.region.url, "--oci.config-file", str(keys))

    def recorded(self) -> dict[str, Any]:
        """Let doctor record the account. Return the only region of the record."""
        self.ask("doctor", "--no-client", "--record", self.record)
        (region,) = json.loads(self.record.read_text())["regions"]
        return dict(region)

    def compared(self) -> list[tuple[str, str, str]]:
        """Severity, subject and message of what doctor finds in the record."""
        answer = self.ask("doctor", "--no-client", "--facts", self.record, "--output", "json")
        return [(finding["severity"], finding["subject"], finding["message"]) for finding in findings(answer)["record"]]


@pytest.fixture
def account(regions_in_memory: Callable[..., Region], tmp_path: Path) -> Callable[..., Account]:
    def made(tenancy: Tenancy | None = None) -> Account:
        return Account(regions_in_memory(tenancy or small()), tmp_path)

    return made


AccountOf = Callable[..., Account]


@pytest.mark.parametrize(
    ("scale", "factor", "verdict"),
    [
        (1, "1", ("ok", "MountTargetReadThroughput has bytes a second (1)")),
        (60, "60", ("problem", "MountTargetReadThroughput has the bytes of a minute (60)")),
        (7, "cannot tell", ("advice", "cannot tell whether MountTargetReadThroughput has bytes a second (1)")),
    ],
)
def test_the_unit_of_bandwidth_is_told_and_bytes_a_minute_are_a_problem(
    account: AccountOf, scale: float, factor: str, verdict: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = account(large(1, 1))
    streams = asked.region.store.streams

    def larger(stream: PublishedStream, minute: int) -> float:
        return (stream.value(minute) or 0.0) * scale

    def scaled(metric: PublishedMetric) -> list[PublishedStream]:
        if metric.name != "MountTargetReadThroughput":
            return streams(metric)
        return [replace(stream, value=partial(larger, stream)) for stream in streams(metric)]

    monkeypatch.setattr(asked.region.store, "streams", scaled)
    answer = asked.ask("doctor", "--no-client", "--record", asked.record, "--output", "json")

    (recorded,) = json.loads(asked.record.read_text())["regions"]
    assert recorded["throughput_factor"] == factor
    severity, words = verdict
    (told,) = (finding for finding in findings(answer)["metrics"] if words in finding["message"])
    assert told["severity"] == severity


def test_without_a_mount_target_that_alone_serves_its_only_file_system_the_unit_cannot_be_told(
    account: AccountOf,
) -> None:
    assert account(large(1, 2)).recorded()["throughput_factor"] == "cannot tell"


@pytest.mark.parametrize(
    "order", ["&& binds tighter", "|| binds tighter", "read from left to right", "read from right to left", None]
)
def test_the_order_of_and_and_or_is_recorded_as_the_region_reads_it(
    account: AccountOf, order: JoinOrder | None
) -> None:
    recorded = account(replace(small(), join_order=order)).recorded()["order_of_and_and_or"]
    if order is None:
        assert recorded.startswith("refused: ")
        assert "no document gives the order of && and ||" in recorded
    else:
        assert recorded == order


@pytest.mark.parametrize("names", [("mount-target-count",), ("file-system-count", "standard-mount-target-count"), ()])
def test_the_names_of_limits_are_recorded(account: AccountOf, names: tuple[str, ...]) -> None:
    assert account(replace(small(), limit_names=names)).recorded()["limit_names"] == sorted(names)


def test_a_refused_call_of_limits_is_recorded_as_refused_and_not_as_no_limits(account: AccountOf) -> None:
    tenancy = account()
    tenancy.region.add_fault("deny:ListLimitValues")
    recorded = tenancy.recorded()
    assert recorded["limit_names"] is None
    assert recorded["operations"]["ListLimitValues"]["outcome"] == "refused"
    assert "inspect limits" in recorded["operations"]["ListLimitValues"]["error"]


def test_limits_without_one_about_mount_targets_are_told_beside_the_known_one(account: AccountOf) -> None:
    answer = account(replace(small(), limit_names=("file-system-count",))).ask(
        "doctor", "--no-client", "--output", "json"
    )
    unknown, known = findings(answer)["limits"]
    assert unknown["severity"] == "advice"
    assert "none of the names of limits is that of mount targets: file-system-count" in unknown["message"]
    assert (known["severity"], known["message"]) == ("ok", "file-system-count is the service limit of file systems")


def test_an_account_that_did_not_change_is_as_recorded(account: AccountOf) -> None:
    tenancy = account()
    tenancy.recorded()
    ((severity, subject, message),) = tenancy.compared()
    assert (severity, subject) == ("ok", "eu-frankfurt-1")
    assert message.startswith("the account answers as recorded on 20")


def test_what_changed_since_the_record_is_told(account: AccountOf) -> None:
    tenancy = account()
    tenancy.recorded()
    record = read_record("a", tenancy.record.read_bytes())
    (facts,) = record.regions
    earlier = replace(
        facts,
        order_of_and_and_or="|| binds tighter",
        minutes_named_by="start",
        metrics=(replace(facts.metrics[0], spelling="Gone"), *facts.metrics[1:]),
        operations={name: tried for name, tried in facts.operations.items() if name != "ListExports"},
    )
    tenancy.record.write_text(record_json(replace(record, regions=(earlier,))))
    tenancy.region.add_fault("deny:GetSubnet")
    told = {
        (severity, subject.removeprefix("eu-frankfurt-1 ")): message
        for severity, subject, message in tenancy.compared()
    }
    assert told["warning", "GetSubnet"].endswith("and is refused now")
    assert told["warning", "Gone"].startswith("listed on ")
    assert told["ok", facts.metrics[0].spelling].endswith("and is listed now")
    assert told["warning", "eu-frankfurt-1"].startswith("&& and || without parentheses: && binds tighter. On ")
    assert told["ok", "eu-frankfurt-1"].startswith("OCI names a minute by its: start, as recorded on ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("doctor", "--no-client", "--no-account"), "--facts is about the account"),
        (("alarms", "render", "--oci.region", "us-phoenix-1"), "the record has no region us-phoenix-1"),
    ],
)
def test_a_record_of_something_else_is_refused(account: AccountOf, arguments: tuple[str, ...], words: str) -> None:
    tenancy = account()
    tenancy.recorded()
    answer = ask(*arguments, "--facts", tenancy.record)
    assert answer.code == 2
    assert words in " ".join(answer.err.split())


def pack_with(query: str, folder: Path) -> Path:
    """A pack of one alarm."""
    shipped = Path("mql/templates/alarms/fss-mount-target-connections.json")
    body = json.loads((Path(__file__).parents[3] / shipped).read_text())
    body["freeformTags"]["fss-exporter-alarm"] = "mine"
    pack = folder / "pack"
    pack.mkdir()
    (pack / "mine.json").write_text(json.dumps({**body, "query": query}))
    return pack


def test_a_mixture_of_and_and_or_in_a_pack_needs_parentheses_or_a_record(account: AccountOf) -> None:
    tenancy = account(replace(small(), join_order="|| binds tighter"))
    pack = pack_with(f"{ONE} || {TWO} && {THREE}", tenancy.folder)
    refused = ask("alarms", "render", "--pack", pack)
    assert refused.code == 2
    assert "no document gives the order of && and ||: add parentheses" in " ".join(refused.err.split())
    tenancy.recorded()
    rendered = ask("alarms", "render", "--pack", pack, "--facts", tenancy.record)
    assert rendered.code == 0, rendered.err
    assert f"{ONE} || {TWO} && {THREE}" in json.loads(rendered.out)[0]["query"]


def test_render_without_an_account_takes_spellings_and_errors_from_the_record(account: AccountOf) -> None:
    tenancy = account()
    tenancy.region.add_fault("name-case")
    tenancy.recorded()
    rendered = ask("alarms", "render", "--facts", tenancy.record)
    assert "FileSystemReadRequestsBySize[5m]" in rendered.out
    assert "FileSystemReadRequestsbySize[5m]" not in rendered.out


def test_render_tells_which_alarms_are_blind_in_the_recorded_account(account: AccountOf) -> None:
    tenancy = account(replace(small(), publishes_iops=False))
    tenancy.recorded()
    rendered = ask("alarms", "render", "--facts", tenancy.record)
    assert "no metric MountTargetIOPS, so the alarm never fires" in " ".join(rendered.err.split())
    assert "never fires" not in ask("alarms", "render").err


def test_a_calibration_says_before_it_begins_that_the_recorded_account_has_no_iops(account: AccountOf) -> None:
    tenancy = account(replace(small(), publishes_iops=False))
    tenancy.recorded()
    mount = tenancy.folder / "mount"
    mount.mkdir()
    procfs = procfs_with_mount(tenancy.folder / "proc", mount, "10.80.4.40")
    where = ("--path.procfs", str(procfs), "--facts", tenancy.record, "--dry-run")
    answer = tenancy.ask("calibrate", mount, *where)
    assert answer.code == 0, answer.err
    assert "has no MountTargetIOPS: the table compares numbers of requests" in " ".join(answer.err.split())


def test_a_record_names_its_day() -> None:
    assert AccountRecord(1, "1.0", "2026-11-25T22:00:00Z", ()).day == "2026-11-25"
