"""Minutes of the calibration against minutes of OCI: preparations, other programs, namings and clocks that differ."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
import yaml
from tests.fss_toolbox.calibrate.simulated_client import FastClock, SimulatedClient
from tests.region import Region, small
from tools.check.demo_tables import idle_mount_target, minutes_of

from fss_toolbox.calibrate.calibration_rows import CalibrationRow, rows_by_iops, rows_by_requests
from fss_toolbox.calibrate.calibration_run import CountedMinute, WallClock
from fss_toolbox.calibrate.calibration_steps import CalibrationPlan, CalibrationStep, chosen_steps, costs_by_kind
from fss_toolbox.calibrate.fitted_costs import FittedCost
from fss_toolbox.calibrate.oci_clock import ClockFit
from fss_toolbox.cli.calibrate import _print, measured_rows

STEPS = chosen_steps(["GETATTR", "LOOKUP", "RENAME", "WRITE 64 KiB", "READ 4 KiB", "READ 1 MiB"])
PLAN = CalibrationPlan(STEPS, 2, 2000.0)
HIDDEN = {**costs_by_kind(), "RENAME": 6.0, "READ 1 MiB": 17.0}


def measured(
    region: Region, clock: FastClock, plan: CalibrationPlan = PLAN, client: SimulatedClient | None = None
) -> tuple[dict[str, CalibrationRow], ClockFit, list[CountedMinute]]:
    """Rows by step, the clock and the minutes of a calibration of the hidden costs."""
    client = client or SimulatedClient(region, "mt-idle", clock, HIDDEN)
    minutes = minutes_of(plan, client, clock)
    client.clean_up()
    rows, fit = rows_by_iops(minutes, idle_mount_target(region, clock).io_operations(minutes, 900))
    assert fit is not None
    return {row.step: row for row in rows}, fit, minutes


def assert_inside_the_stated_errors(rows: Mapping[str, CalibrationRow]) -> None:
    for step in STEPS[1:]:
        cost = rows[step.name].cost
        assert abs(cost.measured - HIDDEN[step.name]) <= cost.uncertainty, step.name


@pytest.mark.parametrize("minutes", [1, 2])
def test_the_files_of_the_next_step_are_charged_to_no_step(minutes: int, region: Region, fast_clock: FastClock) -> None:
    """The 16 WRITEs of 1 MiB before each READ cost 1,056 I/O operations, at 10 IOPS more than the step itself."""
    rows, _, _ = measured(region, fast_clock, CalibrationPlan(STEPS, minutes, 10.0))
    assert_inside_the_stated_errors(rows)
    assert rows["WRITE 64 KiB"].cost.measured == pytest.approx(6, abs=1)


def test_the_minutes_leave_no_gap_and_preparations_have_minutes_of_their_own(
    region: Region, fast_clock: FastClock
) -> None:
    _, _, minutes = measured(region, fast_clock)
    first = minutes[0].minute
    assert [minute.minute for minute in minutes] == list(range(first, first + len(STEPS) * 3))
    assert [minute.is_preparation for minute in minutes] == [True, False, False] * len(STEPS)


def test_the_clean_up_falls_into_the_middle_of_a_further_minute(region: Region, fast_clock: FastClock) -> None:
    minutes = minutes_of(PLAN, SimulatedClient(region, "mt-idle", fast_clock, HIDDEN), fast_clock)
    assert 15 <= fast_clock.time - minutes[-1].minute * 60 <= 45


def test_minutes_that_oci_names_by_their_end_are_found(region: Region, fast_clock: FastClock) -> None:
    rows, fit, _ = measured(region, fast_clock)
    assert (fit.clock.named_by, fit.clock.ahead_s, fit.is_certain) == ("end", 0, True)
    assert "OCI names each minute by its end" in str(fit)
    assert_inside_the_stated_errors(rows)


@pytest.mark.parametrize("minutes", [1, 3])
def test_minutes_that_oci_names_by_their_start_are_found(minutes: int, region: Region, fast_clock: FastClock) -> None:
    region.add_fault("by-start")
    rows, fit, _ = measured(region, fast_clock, CalibrationPlan(STEPS, minutes, 2000.0))
    assert (fit.clock.named_by, fit.is_certain) == ("start", True)
    assert "OCI names each minute by its start" in str(fit)
    assert_inside_the_stated_errors(rows)
    assert rows["RENAME"].cost.verdict == "differs"


def test_a_recorded_naming_decides_where_the_minutes_cannot(region: Region, fast_clock: FastClock) -> None:
    """An idle step alone costs the same in each minute."""
    minutes = minutes_of(
        CalibrationPlan(STEPS[:1], 2, 2000.0), SimulatedClient(region, "mt-idle", fast_clock, HIDDEN), fast_clock
    )
    io_operations = idle_mount_target(region, fast_clock).io_operations(minutes, 900)
    for recorded, taken, words in (
        (None, "end", "taken as the end"),
        ("end", "end", "taken as the end, as recorded"),
        ("start", "start", "taken as the start, as recorded"),
    ):
        _, fit = rows_by_iops(minutes, io_operations, recorded=recorded)  # type: ignore[arg-type]  # a table of the test
        assert fit is not None
        assert (fit.clock.named_by, fit.is_certain) == (taken, False)
        assert str(fit).endswith(words)


def test_minutes_that_contradict_the_record_win_and_tell_it(region: Region, fast_clock: FastClock) -> None:
    region.add_fault("by-start")
    minutes = minutes_of(PLAN, SimulatedClient(region, "mt-idle", fast_clock, HIDDEN), fast_clock)
    io_operations = idle_mount_target(region, fast_clock).io_operations(minutes, 900)
    _, fit = rows_by_iops(minutes, io_operations, recorded="end")
    assert fit is not None
    assert fit.clock.named_by == "start"
    assert "The record says end: make a new record" in str(fit)


@pytest.mark.parametrize("ahead_s", [-3, 3])
def test_a_clock_that_is_three_seconds_off_moves_no_request_into_another_minute(
    ahead_s: float, region: Region, fast_clock: FastClock
) -> None:
    client = SimulatedClient(region, "mt-idle", fast_clock, HIDDEN, ahead_s)
    rows, fit, _ = measured(region, fast_clock, client=client)
    assert fit.clock.ahead_s == 0
    assert_inside_the_stated_errors(rows)


@pytest.mark.parametrize("ahead_s", [-16, 12])
def test_a_clock_that_is_further_off_is_found_and_costs_no_row(
    ahead_s: int, region: Region, fast_clock: FastClock
) -> None:
    client = SimulatedClient(region, "mt-idle", fast_clock, HIDDEN, ahead_s)
    rows, fit, _ = measured(region, fast_clock, client=client)
    assert (fit.clock.named_by, fit.clock.ahead_s) == ("end", ahead_s)
    assert f"about {abs(ahead_s)} s {'ahead of' if ahead_s > 0 else 'behind'} this host's" in str(fit)
    assert_inside_the_stated_errors(rows)


class AnotherProgram(SimulatedClient):
    """A client on which another program works in the last quiet seconds of the first minute of RENAME."""

    kind, size = "READ 1 MiB", 1 << 20
    looks_after_rename = 0

    def operations(self) -> Mapping[str, int]:
        self.looks_after_rename += self._counts["RENAME"] > 0
        if self.looks_after_rename == 2:  # the first look comes at the end of the work, the second at the edge
            for _ in range(60):
                self.request(self.kind, self.size)
        return super().operations()


def test_a_minute_with_requests_of_another_program_is_left_out(region: Region, fast_clock: FastClock) -> None:
    client = AnotherProgram(region, "mt-idle", fast_clock, HIDDEN)
    rows, _, minutes = measured(region, fast_clock, client=client)
    (refused,) = [minute for minute in minutes if minute.refusal]
    assert "requests of other programs on this host: 60 READ" in refused.refusal
    assert_inside_the_stated_errors(rows)


def test_a_few_cheap_requests_of_another_program_cost_no_minute(region: Region, fast_clock: FastClock) -> None:
    """node_exporter asks for the size of each file system with each scrape, and the kernel counts the request."""
    client = AnotherProgram(region, "mt-idle", fast_clock, HIDDEN)
    client.kind, client.size = "FSSTAT", 0
    _, _, minutes = measured(region, fast_clock, client=client)
    assert not any(minute.refusal for minute in minutes)


class UnknownSizes(SimulatedClient):
    """A client without exact mode, where another program READs between the requests of a step."""

    counts_sizes = False

    def send(self, step: CalibrationStep) -> Counter[str]:
        if step.name == "GETATTR" and len(self.sent) % 10 == 0:
            self.request("READ 4 KiB", 4096)
        return super().send(step)


def test_without_exact_mode_reads_of_another_program_have_no_size_and_cost_the_minute(
    region: Region, fast_clock: FastClock
) -> None:
    rows, _, minutes = measured(region, fast_clock, client=UnknownSizes(region, "mt-idle", fast_clock, HIDDEN))
    assert {minute.step for minute in minutes if minute.refusal} == {"GETATTR"}
    assert "GETATTR" not in rows
    assert rows["RENAME"].cost.measured == pytest.approx(6, rel=0.03)


class Suspended(SimulatedClient):
    """A host that sleeps for two minutes in the middle of a request."""

    has_slept = False

    def send(self, step: CalibrationStep) -> Counter[str]:
        if step.name == "RENAME" and not self.has_slept:
            self.has_slept = True
            self._clock.time += 120
        return super().send(step)


def test_a_request_that_outlasts_its_minute_costs_the_minutes_it_touched(region: Region, fast_clock: FastClock) -> None:
    rows, _, minutes = measured(region, fast_clock, client=Suspended(region, "mt-idle", fast_clock, HIDDEN))
    refused = [minute for minute in minutes if minute.refusal]
    assert [minute.refusal for minute in refused] == ["a request took longer than the minute"] * len(refused)
    assert len(refused) >= 3
    first = minutes[0].minute
    assert [minute.minute for minute in minutes] == list(range(first, minutes[-1].minute + 1))
    assert_inside_the_stated_errors(rows)


@pytest.mark.parametrize("publishes_iops", [True, False], ids=["IOPS", "requests alone"])
@pytest.mark.parametrize("connected", [9.0, None], ids=["other clients", "unknown"])
def test_minutes_with_connections_of_other_clients_or_an_unknown_number_are_left_out(
    connected: float | None,
    publishes_iops: bool,
    regions: Callable[..., Region],
    fast_clock: FastClock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    region = regions(replace(small(), publishes_iops=publishes_iops))
    minutes = minutes_of(PLAN, SimulatedClient(region, "mt-idle", fast_clock, HIDDEN), fast_clock)
    cloud = idle_mount_target(region, fast_clock)
    visited = {minute.minute for minute in minutes if minute.step == "GETATTR"}
    gauge = cloud._gauge

    def with_visit(metric: str, first: int, last: int) -> dict[int, float]:
        points = gauge(metric, first, last)
        if "Connections" not in metric:
            return points
        by_minute = {name: connected if name in visited else 1.0 for name in points}
        return {name: number for name, number in by_minute.items() if number is not None}

    monkeypatch.setattr(cloud, "_gauge", with_visit)
    rows, _ = measured_rows(cloud, PLAN, minutes, 1, 900)
    assert "GETATTR" not in {row.step for row in rows}
    assert "3 minutes are left out: other clients were connected" in capsys.readouterr().err


def test_minutes_without_load_cannot_tell_the_naming(region: Region, fast_clock: FastClock) -> None:
    minutes = minutes_of(
        CalibrationPlan(STEPS[:1], 2, 2000.0), SimulatedClient(region, "mt-idle", fast_clock, {}), fast_clock
    )
    _, fit = rows_by_iops(minutes, idle_mount_target(region, fast_clock).io_operations(minutes, 900))
    assert fit is not None
    assert "cannot tell whether OCI names a minute by its end or start" in str(fit)


def test_requests_of_minutes_named_by_their_start_are_compared_with_the_right_minutes() -> None:
    minutes = [CountedMinute(at, "CREATE", {"CREATE": 600.0}, at * 60 - 56, at * 60 - 4) for at in (100, 101)]
    published = {("CREATE", 98): 0.0, ("CREATE", 99): 600.0, ("CREATE", 100): 600.0, ("CREATE", 101): 0.0}
    (row,) = rows_by_requests(minutes, published)
    assert row.cost.measured == pytest.approx(1)


def test_requests_that_oci_rounds_down_in_each_of_many_minutes_are_not_said_to_differ() -> None:
    """A rate of 10.4 a second has 624 requests a minute. OCI publishes 10, which are 600."""
    minutes = [CountedMinute(at, "CREATE", {"CREATE": 624.0}, at * 60 - 56, at * 60 - 4) for at in range(100, 110)]
    (row,) = rows_by_requests(minutes, {("CREATE", at): 600.0 for at in range(99, 111)})

    assert row.cost.measured == pytest.approx(600 / 624)
    assert abs(row.cost.measured - 1) <= row.cost.uncertainty
    assert row.cost.verdict == "uncertain"


@pytest.mark.parametrize(
    ("measured_cost", "uncertainty", "verdict"),
    [
        (8.0, 0.1, "agrees"),
        (8.1, 0.1, "agrees"),
        (8.0, 0.25, "uncertain"),  # 3.1 %
        (8.2, 0.1, "uncertain"),
        (8.4, 0.1, "differs"),
        (9.0, 2.0, "uncertain"),
    ],
)
def test_a_cost_agrees_only_if_all_it_can_be_is_within_three_percent(
    measured_cost: float, uncertainty: float, verdict: str
) -> None:
    assert FittedCost(8.0, measured_cost, uncertainty).verdict == verdict


def test_a_cost_that_differs_is_printed_as_a_row_of_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    _print([CalibrationRow("RENAME", 600.0, 80.0, 90.0, FittedCost(8.0, 9.0, 0.1))], "{}", "config")
    assert yaml.safe_load(capsys.readouterr().out)["cost_model"]["operations"]["RENAME"]["io_operations"] == 9.0


def test_kinds_that_always_come_together_are_uncertain_and_not_shared_out(
    region: Region, fast_clock: FastClock
) -> None:
    """Without the step LOOKUP nothing tells a RENAME from the LOOKUP that comes with it."""
    plan = CalibrationPlan(chosen_steps(["RENAME"]), 2, 2000.0)
    rows, _ = rows_by_iops(
        minutes := minutes_of(plan, SimulatedClient(region, "mt-idle", fast_clock, HIDDEN), fast_clock),
        idle_mount_target(region, fast_clock).io_operations(minutes, 900),
    )
    cost = {row.step: row.cost for row in rows}["RENAME"]
    assert cost.verdict == "uncertain"
    assert abs(cost.measured - HIDDEN["RENAME"]) <= cost.uncertainty


@pytest.mark.parametrize("step_s", [-3600.0, 3600.0])
def test_a_clock_that_is_set_during_the_run_moves_no_minute(step_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, epoch = WallClock(), time.time
    monkeypatch.setattr("time.time", lambda: epoch() + step_s)
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    assert abs(clock.now() - epoch()) < 60.0
    clock.wait_until(epoch() + 300.0)
    assert 200.0 < slept[0] <= 301.0
