"""A region whose hidden costs differ from the table in three rows: calibration finds those three and only those."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from tests.clock import NOW
from tests.fss_toolbox.calibrate.simulated_client import FastClock, SimulatedClient
from tests.region import Region, small
from tools.check.demo_tables import (
    PAGE,
    PLAN,
    WRONG,
    calibrated,
    idle_mount_target,
    minutes_of,
    results,
    with_table,
)

from fss_exporter.errors import CloudError
from fss_exporter.oci.cloud_client import MetricRequest, Point, Stream
from fss_toolbox.calibrate.calibration_report import document, overrides
from fss_toolbox.calibrate.calibration_rows import CalibrationRow, rows_by_iops, rows_by_requests
from fss_toolbox.calibrate.calibration_run import CountedMinute
from fss_toolbox.calibrate.calibration_steps import STEPS, CalibrationPlan, chosen_steps, costs_by_kind
from fss_toolbox.calibrate.fitted_costs import FittedCost
from fss_toolbox.calibrate.oci_minutes import OciMinutes
from fss_toolbox.cli.calibrate import measured_rows


def verdicts(rows: list[CalibrationRow]) -> dict[str, str]:
    return {row.step: row.cost.verdict for row in rows if row.step != "idle"}


def test_the_three_rows_that_differ_are_found_and_only_those() -> None:
    rows, _ = results(**WRONG)
    by_step = {row.step: row for row in rows}
    assert set(by_step) == {step.name for step in STEPS}
    assert {name for name, verdict in verdicts(rows).items() if verdict == "differs"} == set(WRONG)
    assert "uncertain" not in verdicts(rows).values()
    for name, cost in WRONG.items():
        assert by_step[name].cost.measured == pytest.approx(cost, rel=0.02)
        assert abs(by_step[name].cost.measured - cost) <= by_step[name].cost.uncertainty * 1.5


def test_a_mount_target_that_keeps_the_table_agrees_in_every_row() -> None:
    rows, _ = results()
    assert set(verdicts(rows).values()) == {"agrees"}
    assert all(row.cost.ratio is None or 0.97 < row.cost.ratio < 1.03 for row in rows)


def test_a_wrong_cost_of_lookup_is_not_blamed_on_the_operations_that_come_with_lookups() -> None:
    rows, _ = results(LOOKUP=5.0)
    assert {name for name, verdict in verdicts(rows).items() if verdict == "differs"} == {"LOOKUP"}


def test_a_cost_of_calls_outside_the_table_is_found() -> None:
    rows, _ = results(NFSACL=1.0, NLM=6.0)
    assert {name for name, verdict in verdicts(rows).items() if verdict == "differs"} == {"NFSACL", "NLM"}


def test_steady_requests_of_other_clients_are_kept_apart(region: Region, fast_clock: FastClock) -> None:
    region.set_load("mt-idle", 1)
    link = next(link for link in region.tenancy.links if link.mount_target_id == region.tenancy.named("mt-idle"))
    assert not link.requests.rates
    client = SimulatedClient(region, "mt-idle", fast_clock, costs_by_kind())
    minutes = minutes_of(PLAN, client, fast_clock)
    by_oci = {
        at: value + 6000.0 for at, value in idle_mount_target(region, fast_clock).io_operations(minutes, 900).items()
    }
    rows, _ = rows_by_iops(minutes, by_oci)
    assert set(verdicts(rows).values()) == {"agrees"}
    assert next(row for row in rows if row.step == "idle").oci_iops == pytest.approx(100, abs=1)


def test_the_load_stays_below_the_given_iops_in_every_minute(region: Region, fast_clock: FastClock) -> None:
    plan = replace(PLAN, max_iops=400.0)
    _, minutes = calibrated(region, fast_clock, {}, plan)
    published = idle_mount_target(region, fast_clock).io_operations(minutes, 900)
    assert max(published.values()) / 60 <= 400
    assert max(published.values()) / 60 > 200


def test_without_mount_target_iops_numbers_of_requests_are_compared(
    regions: Callable[..., Region], fast_clock: FastClock
) -> None:
    region = regions(replace(small(), publishes_iops=False))
    asked = idle_mount_target(region, fast_clock)
    assert not asked.publishes_iops(0)
    client = SimulatedClient(region, "mt-idle", fast_clock, costs_by_kind())
    minutes = minutes_of(PLAN, client, fast_clock)
    rows = rows_by_requests(minutes, asked.requests(minutes, 900))
    assert {row.step for row in rows} >= {"GETATTR", "CREATE", "REMOVE", "SETATTR", "READ 1 MiB", "WRITE 4 KiB"}
    assert set(verdicts(rows).values()) == {"agrees"}
    assert all(row.oci_iops is None for row in rows)


def test_minutes_that_never_arrive_are_left_out_after_the_patience(region: Region, fast_clock: FastClock) -> None:
    plan = CalibrationPlan(chosen_steps(["GETATTR"]), 3, 5000.0)
    client = SimulatedClient(region, "mt-idle", fast_clock, costs_by_kind())
    region.add_fault("gaps,share=1")
    minutes = minutes_of(plan, client, fast_clock)
    began = fast_clock.time
    assert idle_mount_target(region, fast_clock).io_operations(minutes, 300) == {}
    assert fast_clock.time - began == pytest.approx(300, abs=31)
    assert rows_by_iops(minutes, {}) == ([], None)


@pytest.mark.parametrize("step", ["READ 1 MiB buffered", "READ past the end"])
def test_a_difference_that_no_override_can_say_is_said(step: str) -> None:
    rows = [CalibrationRow(step, 10, 1, 1, FittedCost(33, 17, 0.1))]
    assert overrides(rows, "2026-11-22") == f"# {step}: 0.515 of the table, which no override can say.\n"


def test_streams_of_one_mount_target_are_merged_and_damaged_points_are_left_out() -> None:
    """OCI has a second stream after a change of a dimension, and the last of two would win."""
    asked: list[MetricRequest] = []

    def summarize(request: MetricRequest) -> list[Stream | None]:
        asked.append(request)
        stamps = ("2026-11-22T10:01:00Z", "2026-11-22T10:02:00", "soon")
        return [None, Stream({}, tuple(Point(stamp, 7.0) for stamp in stamps))]

    client, target = SimpleNamespace(summarize=summarize), SimpleNamespace(id="ocid1.mt", compartment_id="ocid1.c")
    minute = int(datetime(2026, 11, 22, 10, 1, tzinfo=UTC).timestamp()) // 60
    minutes = [CountedMinute(at, "idle", {}, at * 60 - 60, at * 60) for at in (minute, minute + 1)]
    cloud: Any = OciMinutes(client, target, FastClock(NOW))  # type: ignore[arg-type]
    assert cloud.io_operations(minutes, 0) == {minute: 7.0 * 60}
    assert asked[0].query == 'MountTargetIOPS[1m]{resourceId = "ocid1.mt"}.grouping().mean()'


def test_all_steps_share_one_patience(regions: Callable[..., Region], fast_clock: FastClock) -> None:
    region = regions(replace(small(), publishes_iops=False))
    region.add_fault("gaps,share=1")
    steps = chosen_steps(["GETATTR", "SETATTR", "CREATE", "REMOVE"])
    now = fast_clock.now()
    minutes = [CountedMinute(int(now // 60), step.name, {step.name: 1.0}, now, now) for step in steps]
    began = fast_clock.time
    published = idle_mount_target(region, fast_clock).requests(minutes, 300)
    assert int(now // 60) not in {minute for _, minute in published}
    assert fast_clock.time - began == pytest.approx(300, abs=31)


@pytest.mark.parametrize("fault", ["500", "429"])
def test_a_failed_query_after_the_work_is_asked_again(fault: str, region: Region, fast_clock: FastClock) -> None:
    plan = CalibrationPlan(chosen_steps(["GETATTR"]), 3, 5000.0)
    minutes = minutes_of(plan, SimulatedClient(region, "mt-idle", fast_clock, costs_by_kind()), fast_clock)
    region.add_fault(f"{fault}:SummarizeMetricsData,times=5")
    rows, _ = measured_rows(idle_mount_target(region, fast_clock), plan, minutes, None, 900)
    assert [row.step for row in rows] == ["idle", "GETATTR"]


def test_queries_that_fail_until_the_patience_ends_are_a_failure(region: Region, fast_clock: FastClock) -> None:
    plan = CalibrationPlan(chosen_steps(["GETATTR"]), 3, 5000.0)
    minutes = minutes_of(plan, SimulatedClient(region, "mt-idle", fast_clock, costs_by_kind()), fast_clock)
    region.add_fault("500:SummarizeMetricsData")
    with pytest.raises(CloudError):
        measured_rows(idle_mount_target(region, fast_clock), plan, minutes, None, 300)


def test_steps_without_a_published_minute_are_named(
    region: Region, fast_clock: FastClock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = CalibrationPlan(chosen_steps(["GETATTR", "LOOKUP"]), 3, 5000.0)
    client = SimulatedClient(region, "mt-idle", fast_clock, costs_by_kind())
    minutes = minutes_of(plan, client, fast_clock)
    cloud = idle_mount_target(region, fast_clock)
    whole = cloud.io_operations(minutes, 900)
    late = {minute.minute for minute in minutes if minute.step == "LOOKUP"}
    arrived = {minute: iops for minute, iops in whole.items() if minute not in late}
    monkeypatch.setattr(cloud, "publishes_iops", lambda _: True)
    monkeypatch.setattr(cloud, "io_operations", lambda *_: arrived)
    rows, _ = measured_rows(cloud, plan, minutes, None, 900)
    assert [row.step for row in rows] == ["idle", "GETATTR"]
    assert (
        "OCI has no good minute of LOOKUP, so these steps have no row. Try again, or a longer --wait"
        in capsys.readouterr().err
    )


class TestReport:
    def test_the_document_names_nothing_of_the_tenancy(self) -> None:
        rows, minutes = results(**WRONG)
        text = json.dumps(document(PLAN, rows, minutes, {"vers": "3"}, None))
        assert "ocid1" not in text
        assert "10.80." not in text
        assert json.loads(text)["rows"][1]["step"] == "GETATTR"

    def test_overrides_hold_the_operations_that_differ(self) -> None:
        rows, _ = results(**WRONG)
        operations = yaml.safe_load(overrides(rows, "2027-01-15"))["cost_model"]["operations"]
        assert set(operations) == {"LOOKUP", "RENAME", "READ"}
        assert operations["RENAME"] == {
            "io_operations": pytest.approx(9.0, abs=0.1),
            "date": "2027-01-15",
            "source": "fss-exporter calibrate",
        }
        assert 0.8 < operations["READ"]["factor"] < 1

    def test_a_table_that_holds_needs_no_override(self) -> None:
        rows, _ = results()
        assert yaml.safe_load(overrides(rows, "2027-01-15")) is None

    def test_sizes_that_no_factor_fits_are_named(self) -> None:
        """mountstats has no sizes, so that an agent has one factor for all of them."""
        rows, _ = results(**WRONG)
        text = overrides(rows, "2027-01-15")
        assert "# READ 1 MiB: 0.515 of the table. The factor of all sizes is " in text
        assert yaml.safe_load(text)

    def test_locks_have_an_override_and_acl_calls_a_remark(self) -> None:
        rows, _ = results(NFSACL=1.0, NLM=6.0)
        text = overrides(rows, "2027-01-15")
        assert yaml.safe_load(text)["cost_model"]["operations"]["NLM"]["io_operations"] == pytest.approx(6.0, abs=0.1)
        assert "# NFSACL: 1.00 I/O operations, which no override can say" in text


def test_the_page_shows_rows_that_the_demo_makes() -> None:
    page = PAGE.read_text()
    assert with_table(page) == page, "run: make pages"
    assert page.count(" differs\n") == len(WRONG)
