"""`fss-exporter doctor` on an account made of a loopback region."""

import errno
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fss_toolbox.cli.doctor_prompt import Flags, findings
from tests.json_schema import problems, schema_of
from tests.prompt import ask
from tests.region import Region, RegionLimits, large

from fss_exporter.cli import account_sessions
from fss_toolbox.cli import doctor_account
from fss_toolbox.doctor.account_probe import EVERY_SECONDS

pytestmark = pytest.mark.usefixtures("nobody_at_home", "near")


@pytest.fixture
def region(regions_in_memory: Callable[..., Region]) -> Region:
    """A region without sockets. Faults of HTTP and of signatures need `listening`."""
    return regions_in_memory()


@pytest.fixture
def listening(regions: Callable[..., Region]) -> Region:
    """A region that listens and checks signatures."""
    return regions()


@pytest.fixture
def listening_flags(listening: Region, keys: Path) -> Flags:
    """The flags of a command that asks it."""
    return ("--oci.endpoint", listening.url, "--oci.config-file", str(keys))


class Clock:
    """Stands in for the module `time`: only sleeping turns it. It begins at a whole minute."""

    def __init__(self) -> None:
        self.now = time.time() // 60 * 60

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def monotonic(self) -> float:
        """The budget of calls waits in true time."""
        return time.monotonic()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the command."""
    clock = Clock()
    monkeypatch.setattr(doctor_account, "time", clock)
    monkeypatch.setattr(account_sessions, "time", clock)
    return clock


@pytest.fixture
def turned(region: Region, clock: Clock) -> Iterator[Region]:
    """A region of the same account whose minutes go by as the clock is turned."""
    with Region(account=region.account, now=clock.time, calls_per_second={}) as running:
        yield running


def interrupt(_: float) -> None:
    raise KeyboardInterrupt


def test_an_account_that_answers_is_fine(account_flags: Flags) -> None:
    answer = ask("doctor", "--no-client", *account_flags, "--output", "json")
    assert answer.code == 0, answer.out
    assert problems(answer.document, schema_of("doctor"), schema_of("doctor")) == []
    by_check = findings(answer)
    operations = by_check["api"][0]["message"]
    for name in ("ListMountTargets", "ListExports", "GetPrivateIp", "GetSubnet", "ListMetrics", "SummarizeMetricsData"):
        assert name in operations
    assert by_check["clock"][0]["severity"] == "ok"
    assert by_check["inventory"][0]["message"] == "5 mount targets"
    assert by_check["regions"][0]["message"] == "subscribed to eu-frankfurt-1"
    assert "newest minutes ended" in by_check["ingestion-lag"][0]["message"]


def test_a_region_the_tenancy_is_not_subscribed_to_is_reported_and_not_asked(
    region: Region, account_flags: Flags
) -> None:
    more = ("--oci.region", "us-phoenix-1", "--output", "json")
    answer = ask("doctor", "--no-client", *account_flags, *more)
    assert answer.code == 2
    problem, advice = findings(answer)["regions"]
    assert (problem["severity"], problem["subject"]) == ("problem", "us-phoenix-1")
    assert advice["message"] == "not looked at, though subscribed to: eu-frankfurt-1"
    assert dict(region.calls) == {"ListRegionSubscriptions": 1}


def test_waiting_measures_how_late_a_minute_comes(turned: Region, clock: Clock, account_flags: Flags) -> None:
    """The region sends two minutes at once, up to two minutes after the second one's end; no time passes."""
    clock.sleep(600)
    turned.add_fault("late,seconds=180")
    clock.sleep(600)
    answer = ask(
        "doctor", "--no-client", *account_flags, "--oci.endpoint", turned.url, "--wait", "6m", "--output", "json"
    )
    (only,) = findings(answer)["ingestion-lag"]
    least, most = re.findall(r"(\d+) s \(", only["message"])
    assert 60 <= int(least) < int(most) <= 180 + EVERY_SECONDS
    assert only["severity"] == "ok"


@pytest.mark.parametrize(("fault", "recorded"), [("", "end"), ("by-start", "")])
def test_only_minutes_that_are_named_by_their_end_are_read_within_a_minute_of_their_time(
    turned: Region, clock: Clock, account_flags: Flags, tmp_path: Path, fault: str, recorded: str
) -> None:
    record = tmp_path / "record.json"
    if fault:
        turned.add_fault(fault)
    clock.sleep(600)
    ask("doctor", "--no-client", *account_flags, "--oci.endpoint", turned.url, "--wait", "3m", "--record", record)
    (facts,) = json.loads(record.read_text())["regions"]
    assert facts["minutes_named_by"] == recorded


def test_enough_of_waiting_shows_what_is_known(
    turned: Region, clock: Clock, account_flags: Flags, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C at the first pause; the account has been asked by then."""
    monkeypatch.setattr(clock, "sleep", interrupt)
    answer = ask("doctor", "--no-client", *account_flags, "--oci.endpoint", turned.url, "--wait", "6m")
    assert answer.code == 0
    assert "ingestion-lag: eu-frankfurt-1: no new minute came of" in answer.out


def test_credentials_that_cannot_be_used_are_a_problem(tmp_path: Path) -> None:
    answer = ask("doctor", "--no-client", "--oci.config-file", tmp_path / "none")
    assert answer.code == 2
    assert "PROBLEM credentials: oci.config_file" in answer.out


@pytest.mark.parametrize(
    ("operation", "statement", "code"),
    [
        ("ListMountTargets", "inspect mount-targets", 2),
        ("GetPrivateIp", "inspect private-ips", 1),
        ("ListLustreFileSystems", "inspect lustre-file-system", 0),
    ],
)
def test_a_missing_permission_is_reported_with_its_statement(
    region: Region, account_flags: Flags, operation: str, statement: str, code: int
) -> None:
    region.add_fault(f"deny:{operation}")
    answer = ask("doctor", "--no-client", *account_flags, "--output", "json")
    assert answer.code == code
    (only,) = findings(answer)["permissions"]
    assert only["subject"] == f"eu-frankfurt-1 {operation}"
    assert f"Allow group <group> to {statement} in " in only["message"]


def test_services_that_are_polled_as_well_are_listed_as_well(
    region: Region, account_flags: Flags, tmp_path: Path
) -> None:
    path = tmp_path / "services.yml"
    path.write_text("oci: {services: [block-volume]}\n")
    region.add_fault("deny:ListBootVolumes")
    answer = ask("doctor", "--no-client", *account_flags, "--config.file", path, "--output", "json")
    assert answer.code == 1
    assert "ListVolumes" in findings(answer)["api"][0]["message"]
    (only,) = findings(answer)["permissions"]
    assert "Allow group <group> to inspect volumes in " in only["message"]


def test_a_clock_that_is_off_is_reported(listening: Region, listening_flags: Flags) -> None:
    listening.add_fault("clock-skew,seconds=900")
    answer = ask("doctor", "--no-client", *listening_flags)
    assert answer.code == 2
    assert "PROBLEM permissions: eu-frankfurt-1 ListAvailabilityDomains" in answer.out


def test_an_unreachable_region_costs_one_call(keys: Path) -> None:
    flags = ("--oci.endpoint", "http://127.0.0.1:1", "--oci.config-file", str(keys))
    answer = ask("doctor", "--no-client", *flags, "--output", "json")
    assert answer.code == 2
    assert [finding["subject"] for finding in findings(answer)["api"]] == ["eu-frankfurt-1 ListRegionSubscriptions"]


def test_a_fault_of_one_metric_costs_only_itself(region: Region, account_flags: Flags) -> None:
    region.add_fault("not-json:SummarizeMetricsData,match=FileSystemUsage")
    answer = ask("doctor", "--no-client", *account_flags, "--output", "json")
    warnings = [metric for metric in findings(answer)["metrics"] if metric["severity"] == "warning"]
    (warning,) = warnings
    assert warning["message"].startswith("FileSystemUsage: SummarizeMetricsData in eu-frankfurt-1: ")
    assert "26 metrics answered" in str(findings(answer)["metrics"])


def test_a_question_that_is_answered_too_late_could_not_be_asked(
    listening: Region, listening_flags: Flags, tmp_path: Path
) -> None:
    path = tmp_path / "hasty.yml"
    path.write_text("oci: {read_timeout: 2s}\n")
    listening.add_fault("slow:ListMetrics,match=FileSystemUsage,times=1")
    answer = ask("doctor", "--no-client", *listening_flags, "--config.file", path, "--output", "json")
    assert answer.code == 1
    (only,) = [finding for finding in findings(answer)["api"] if finding["severity"] != "ok"]
    assert only["subject"] == "eu-frankfurt-1 ListMetrics"
    assert only["message"].startswith("could not be asked: ListMetrics in eu-frankfurt-1: no answer from ")
    assert "27 metrics answered" in str(findings(answer)["metrics"])


def test_what_the_account_has_is_written_down_without_ocids(
    region: Region, account_flags: Flags, tmp_path: Path
) -> None:
    region.add_fault("name-case")
    path = tmp_path / "record.json"
    answer = ask("doctor", "--no-client", *account_flags, "--record", path)
    assert answer.code == 0
    text = path.read_text()
    assert "ocid1." not in text
    for target in region.tenancy.mount_targets:
        assert target.name not in text
    (written,) = json.loads(text)["regions"]
    assert written["observed_throughputs"] == {"0": 1, "1": 2, "20": 1, "absent": 1}
    assert written["metric_names_ignore_case"] in {True, False}
    assert written["adding_two_metrics"]
    assert written["order_of_and_and_or"] == "&& binds tighter"
    assert written["limit_names"]
    metrics = {metric["documented"]: metric for metric in written["metrics"]}
    assert metrics["MetadataIOPS"]["dimensions"]["operation"] == ["CREATE", "GETATTR", "REMOVE", "SETATTR"]
    assert metrics["MountTargetReadThroughput"]["newest_age_seconds"] is not None
    assert metrics["MountTargetReadThroughput"]["minutes"] > 5


@pytest.mark.parametrize("place", ["none/record.json", "."])
def test_a_record_that_cannot_be_written_is_refused_before_anybody_is_asked(
    region: Region, account_flags: Flags, tmp_path: Path, place: str
) -> None:
    answer = ask("doctor", "--no-client", *account_flags, "--record", tmp_path / place)
    assert answer.code == 2
    assert "cannot be written. Give a file" in answer.err
    assert not region.calls


@pytest.mark.parametrize("read_only", ["record.json", "."])
def test_a_record_that_cannot_be_replaced_is_refused_before_anybody_is_asked(
    region: Region, account_flags: Flags, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_only: str
) -> None:
    record = tmp_path / "record.json"
    record.touch()
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path / read_only)  # root may write to every file
    answer = ask("doctor", "--no-client", *account_flags, "--record", record)
    assert (answer.code, dict(region.calls)) == (2, {})
    assert "cannot be written" in answer.err


@pytest.mark.parametrize("fault", ["no credentials", "refused", "unreachable"])
def test_an_earlier_record_stays_where_no_region_answers(
    listening: Region, listening_flags: Flags, tmp_path: Path, fault: str
) -> None:
    record = tmp_path / "record.json"
    record.write_text("earlier")
    more: Flags = ()
    if fault == "no credentials":
        more = ("--oci.config-file", str(tmp_path / "none"))
    elif fault == "refused":
        listening.add_fault("clock-skew,seconds=900")
    else:
        more = ("--oci.endpoint", "http://127.0.0.1:1")
    answer = ask("doctor", "--no-client", *listening_flags, *more, "--record", record)
    assert answer.code == 2
    assert f"{record}: not written, because no region answers" in answer.err
    assert record.read_text() == "earlier"


def test_an_earlier_record_stays_where_the_disk_is_full(
    account_flags: Flags, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, link = tmp_path / "record.json", tmp_path / "link"
    record.write_text("earlier")
    record.chmod(0o600)
    link.symlink_to(record)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert ask("doctor", "--no-client", *account_flags, "--record", link).code == 1
    assert record.read_text() == "earlier"
    assert ask("doctor", "--no-client", *account_flags, "--record", link).code == 0
    assert link.is_symlink()
    assert record.read_text() != "earlier"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600


def test_a_record_has_no_name_of_a_compartment_that_cannot_be_made_out(account_flags: Flags, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    answer = ask("doctor", "--no-client", *account_flags, "--oci.compartment", "nightingale", "--record", record)
    assert "no compartment is called 'nightingale'" in answer.out
    assert "nightingale" not in record.read_text()


def test_findings_are_printed_although_the_disk_of_the_record_is_full(account_flags: Flags) -> None:
    answer = ask("doctor", "--no-client", *account_flags, "--output", "json", "--record", "/dev/full")
    assert (answer.code, answer.err) == (
        1,
        "fss-exporter: --record=/dev/full: cannot be written: No space left on device\n",
    )
    assert findings(answer)["credentials"][0]["severity"] == "ok"


def test_an_account_larger_than_an_answer_is_judged_by_all_of_its_metrics(
    regions: Callable[..., Region], tmp_path: Path
) -> None:
    """The metric names of many mount targets once filled more pages than doctor read, and MountTargetIOPS was "not there"."""
    region = regions(large(52), limits=RegionLimits(page=40, streams=60))
    keys = region.account.write_config(tmp_path, region.tenancy.region)
    flags = ("--oci.endpoint", region.url, "--oci.config-file", str(keys), "--output", "json")
    answer = ask("doctor", "--no-client", *flags)
    calls = dict(region.calls)
    by_check = findings(answer)
    assert answer.code == 0
    (only,) = [metric for metric in by_check["metrics"] if metric["severity"] != "ok"]
    assert only["message"].startswith("cannot tell whether MountTargetReadThroughput has bytes a second")
    assert "17 metrics answered, 17 of them with points" in by_check["metrics"][-1]["message"]
    assert by_check["inventory"][0]["message"].startswith(
        "52 mount targets. Only a few of their addresses were looked up"
    )
    assert sum(calls.get(name, 0) for name in ("GetPrivateIp", "ListPrivateIps", "GetSubnet")) <= 12
    assert calls["ListMetrics"] < 45
