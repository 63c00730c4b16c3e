"""Calibration in the demo region, with a model that is right and with one that is wrong in three rows.

`make calibrate-demo` prints both tables. `make pages` puts them into docs/commands/calibrate.md, and a test compares. The client is
simulated and its clock jumps, so that the 80 minutes of a calibration pass at once. The region, the reading of its minutes
and the arithmetic are those of the command.
"""

import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

from tests.calibrate.simulated_client import FastClock, SimulatedClient
from tests.clock import NOW
from tests.demo.sdk import clients
from tests.oci.world import reach
from tests.region import Region, shared_account, small

from fss_exporter.oci.calls import CallBudget
from fss_exporter.oci.client import Credentials, SdkClient, Session
from fss_exporter.oci.oci_inventory import MountTarget
from fss_exporter.settings import Endpoints
from fss_toolbox.calibrate.calibration_run import CalibrationRow, CountedMinute, rows_by_iops, work_through
from fss_toolbox.calibrate.calibration_steps import STEPS, CalibrationPlan, costs_by_kind
from fss_toolbox.calibrate.oci_minutes import OciMinutes
from fss_toolbox.cli.calibrate import show_rows

PAGE = Path(__file__).parents[2] / "docs" / "commands" / "calibrate.md"
PLAN = CalibrationPlan(STEPS, 3, 5000.0)
WRONG: Mapping[str, float] = {"RENAME": 9.0, "LOOKUP": 1.0, "READ 1 MiB": 17.0}
"""Three costs that are not the table's 8, 2 and 33."""

_BLOCK = re.compile(r"<!-- calibrated: (right|wrong) -->\n.*?<!-- end of calibrated -->", re.DOTALL)


def idle_mount_target(region: Region, clock: FastClock) -> OciMinutes:
    """The minutes of the region's idle mount target, as the command reads them."""
    held = clients(region).config
    signer = clients(region).monitoring.base_client.signer
    credentials = Credentials(held, signer, region.tenancy.id, region.tenancy.region, "config_file")
    budget = CallBudget(1000, clock=lambda: 0.0, wait=lambda _: False)
    where = reach(dict.fromkeys(Endpoints.model_fields, region.url))
    session = Session(credentials, region.tenancy.region, where, budget=budget, jitter=lambda: 0.0)
    idle = next(one for one in region.tenancy.mount_targets if one.name == "mt-idle")
    target = MountTarget(
        id=idle.id, name=idle.name, compartment_id=idle.compartment_id, availability_domain="AD", state="ACTIVE"
    )
    return OciMinutes(SdkClient(session), target, clock)


def calibrated(
    region: Region, clock: FastClock, hidden: Mapping[str, float], plan: CalibrationPlan = PLAN
) -> tuple[list[CalibrationRow], list[CountedMinute]]:
    """Results and minutes of a calibration of a mount target with hidden costs."""
    client = SimulatedClient(region, "mt-idle", clock, {**costs_by_kind(), **hidden})
    minutes = work_through(plan, client, clock, lambda _: None)
    return rows_by_iops(minutes, idle_mount_target(region, clock).io_operations(minutes, 900)), minutes


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


def with_tables(page: str) -> str:
    """A page with both tables in place of what it has."""
    made = {"right": table({}), "wrong": table(WRONG)}
    return _BLOCK.sub(
        lambda found: f"<!-- calibrated: {found[1]} -->\n```text\n{made[found[1]]}```\n<!-- end of calibrated -->", page
    )


def main() -> None:
    """Print both tables, or with --write put them into the page."""
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(with_tables(PAGE.read_text()))
        return
    wrong = ", ".join(f"{name} {cost:g}" for name, cost in WRONG.items())
    sys.stdout.write(
        f"A mount target that keeps the table\n{table({})}\nA mount target with other costs: {wrong}\n{table(WRONG)}"
    )


if __name__ == "__main__":
    main()
