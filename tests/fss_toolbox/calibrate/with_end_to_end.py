"""The whole command against a mount target whose costs it does not know: every row is inside its stated error."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.clock import NOW
from tests.fss_toolbox.calibrate.fake_kernel import MeteredClock, calibrated_in, hidden_costs, is_inside, true_cost
from tests.prompt import call_without_pause
from tests.region import Region

from fss_toolbox.calibrate.calibration_steps import STEPS
from fss_toolbox.demo.region.charges import ChargeTable


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    call_without_pause(monkeypatch)


@pytest.mark.parametrize(
    ("seed", "minutes", "max_iops", "fault"),
    [(1, 2, 1000, ""), (2, 1, 300, ""), (3, 2, 300, "by-start")],
)
def test_every_row_is_inside_its_stated_error_of_a_hidden_table(
    seed: int, minutes: int, max_iops: int, fault: str, regions: Callable[..., Region], tmp_path: Path
) -> None:
    clock, table = MeteredClock(NOW + 17), ChargeTable(hidden_costs(seed))
    region = regions(now=clock, charges=table, calls_per_second={})
    if fault:
        region.add_fault(fault)
    work = ("--minutes", str(minutes), "--max-iops", str(max_iops))
    answer = calibrated_in(tmp_path, region, clock, *work)
    assert answer.code == 1, answer.err
    document: dict[str, Any] = json.loads(answer.out)
    assert document["oci_clock"]["minutes_named_by"] == ("start" if fault else "end")
    rows = {row["step"]: row for row in document["rows"]}
    assert rows.keys() == {step.name for step in STEPS}
    wrong = {}
    for step in STEPS[1:]:
        row, truth = rows[step.name], true_cost(table, step)
        if not is_inside(row, truth):
            wrong[step.name] = row, truth
        if row["verdict"] == "agrees":
            assert truth == pytest.approx(row["io_operations_by_table"], rel=0.031, abs=0.031)
    assert not wrong
