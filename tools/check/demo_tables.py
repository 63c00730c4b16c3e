"""Calibration in the demo region, with a model that is right, with one that is wrong in three rows, and with a hidden one.

`make calibrate-demo` prints all tables. `make pages` puts rows of the second into docs/commands/calibrate.md, and a test compares. The client is
simulated and its clock jumps, so that the 80 minutes of a calibration pass at once. The region, the reading of its minutes
and the arithmetic are those of the command.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.clock import NOW
from tests.fss_exporter.oci.world import reach
from tests.fss_toolbox.calibrate.fake_kernel import MeteredClock, calibrated_in, hidden_costs, is_inside, true_cost
from tests.fss_toolbox.calibrate.simulated_client import FastClock, SimulatedClient
from tests.fss_toolbox.demo.sdk import clients
from tests.region import Region, shared_account, small
from tools.generate.written_part import rewritten

from fss_exporter.oci.calls import CallBudget
from fss_exporter.oci.client import Credentials, SdkClient, Session
from fss_exporter.oci.inventory.oci_inventory import MountTarget
from fss_exporter.settings import Endpoints
from fss_toolbox.calibrate.calibration_rows import CalibrationRow, rows_by_iops
from fss_toolbox.calibrate.calibration_run import CalibrationRun, CountedMinute
from fss_toolbox.calibrate.calibration_steps import STEPS, CalibrationPlan, costs_by_kind
from fss_toolbox.calibrate.oci_minutes import OciMinutes
from fss_toolbox.cli.calibrate import show_rows
from fss_toolbox.demo.region.charges import ChargeTable

PAGE = Path(__file__).parents[2] / "docs" / "commands" / "calibrate.md"
PLAN = CalibrationPlan(STEPS, 3, 5000.0)

# Three costs that are not the table's 8, 2 and 33.
WRONG: Mapping[str, float] = {"RENAME": 9.0, "LOOKUP": 1.0, "READ 1 MiB": 17.0}

_MARKS = ("<!-- calibrated -->\n", "<!-- end of calibrated -->")

# Rows of the page, its heading first.
_SHOWN = ("request ", "GETATTR ", "LOOKUP ", "RENAME ", "WRITE 1 MiB  ", "READ 64 KiB  ", "READ 1 MiB  ", "NLM ")


def idle_mount_target(region: Region, clock: FastClock) -> OciMinutes:
    """The minutes of the region's idle mount target, as the command reads them."""
    held = clients(region).config
    signer = clients(region).monitoring.base_client.signer
    credentials = Credentials(held, signer, region.tenancy.id, region.tenancy.region, "config_file")
    budget = CallBudget(1000, clock=lambda: 0.0, wait=lambda _: False)
    where = reach(dict.fromkeys(Endpoints.model_fields, region.url))
    session = Session(credentials, region.tenancy.region, where, budget=budget, jitter=lambda: 0.0)
    idle = next(mount_target for mount_target in region.tenancy.mount_targets if mount_target.name == "mt-idle")
    target = MountTarget(
        id=idle.id, name=idle.name, compartment_id=idle.compartment_id, availability_domain="AD", state="ACTIVE"
    )
    return OciMinutes(SdkClient(session), target, clock)


def calibrated(
    region: Region, clock: FastClock, hidden: Mapping[str, float], plan: CalibrationPlan = PLAN
) -> tuple[list[CalibrationRow], list[CountedMinute]]:
    """Results and minutes of a calibration of a mount target with hidden costs."""
    client = SimulatedClient(region, "mt-idle", clock, {**costs_by_kind(), **hidden})
    minutes = minutes_of(plan, client, clock)
    client.clean_up()
    rows, _ = rows_by_iops(minutes, idle_mount_target(region, clock).io_operations(minutes, 900))
    return rows, minutes


def minutes_of(plan: CalibrationPlan, client: SimulatedClient, clock: FastClock) -> list[CountedMinute]:
    """The minutes of a calibration with a simulated client."""
    return CalibrationRun(plan, client, clock, lambda _: None).minutes()


@cache
def results(**hidden: float) -> tuple[list[CalibrationRow], list[CountedMinute]]:
    """Results and minutes in a new region. Tests share an answer, because no test changes it."""
    clock = FastClock(NOW + 17)
    with Region(small(), account=shared_account(), now=clock, calls_per_second={}) as region:
        return calibrated(region, clock, hidden)


def table(hidden: Mapping[str, float]) -> str:
    """The table of the command."""
    shown = StringIO()
    with redirect_stdout(shown):
        show_rows(results(**hidden)[0])
    return "".join(f"{line.rstrip()}\n" for line in shown.getvalue().splitlines())


def with_table(page: str) -> str:
    """The page with rows of a mount target with wrong costs in place of what it has."""
    rows = [line for line in table(WRONG).splitlines() if line.startswith(_SHOWN)]
    return rewritten(page, *_MARKS, "\n".join(("```text", *rows, "```", "")))


def hidden_table(seed: int) -> str:
    """The command against a table that it does not know: each row with the hidden cost."""
    costs = ChargeTable(hidden_costs(seed))
    clock = MeteredClock(NOW + 17)
    with (
        TemporaryDirectory() as folder,
        Region(small(), account=shared_account(), now=clock, charges=costs, calls_per_second={}) as region,
    ):
        answer = calibrated_in(Path(folder), region, clock, "--minutes=1", "--max-iops=1000")
    rows = {row["step"]: row for row in json.loads(answer.out)["rows"]}
    lines = [f"{'request':21}{'hidden cost':>12}{'measured':>10}{'+/-':>8}  verdict    inside"]
    for step in STEPS[1:]:
        row, truth = rows[step.name], true_cost(costs, step)
        measured, error = row["io_operations_measured"], row["uncertainty"] * (row["io_operations_by_table"] or 1)
        inside = "yes" if is_inside(row, truth) else "NO"
        lines.append(f"{step.name:21}{truth:12.2f}{measured:10.2f}{error:8.2f}  {row['verdict']:11}{inside}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print all tables, or with --write put rows of one into the page."""
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(with_table(PAGE.read_text()))
        return
    wrong = ", ".join(f"{name} {cost:g}" for name, cost in WRONG.items())
    sys.stdout.write(
        f"A mount target that keeps the table\n{table({})}\nA mount target with other costs: {wrong}\n{table(WRONG)}\n"
        f"A mount target whose costs the command does not know, in one minute for each step\n{hidden_table(1)}"
    )


if __name__ == "__main__":
    main()
