"""What a calibration found: a table, a JSON document without names of the tenancy, and overrides for the configuration."""

import platform
from collections.abc import Sequence
from typing import Any

import yaml

from fss_exporter import __version__
from fss_exporter.calibrate.calibration_run import CalibrationRow, CountedMinute
from fss_exporter.calibrate.calibration_steps import IDLE, CalibrationPlan
from fss_exporter.model.operations import NFS3_OPERATIONS, READ, WRITE

SOURCE = "fss-exporter calibrate"


def document(
    plan: CalibrationPlan, rows: Sequence[CalibrationRow], minutes: Sequence[CountedMinute], mount: dict[str, str]
) -> dict[str, Any]:
    """The report as a user sends it: no OCID, address, host name or path.

    Args:
        plan: the load.
        rows: results.
        minutes: requests by minute, for other statistics.
        mount: options of the mount that say how requests were sent.
    """
    return {
        "version": __version__,
        "kernel": platform.release(),
        "mount_options": mount,
        "minutes_per_step": plan.minutes,
        "max_iops": plan.max_iops,
        "rows": [_row(one) for one in rows],
        "minutes": [{"minute": one.minute, "step": one.step, "requests": one.counts} for one in minutes],
    }


def _row(one: CalibrationRow) -> dict[str, Any]:
    return {
        "step": one.step,
        "requests": one.requests,
        "iops_by_table": round(one.table_iops, 2),
        "iops_by_oci": None if one.oci_iops is None else round(one.oci_iops, 2),
        "io_operations_by_table": one.cost.table,
        "io_operations_measured": round(one.cost.measured, 4) if one.oci_iops is not None else None,
        "ratio": None if one.cost.ratio is None else round(one.cost.ratio, 4),
        "uncertainty": round(one.cost.uncertainty / (one.cost.table or 1.0), 4),
        "verdict": "" if one.step == IDLE.name else one.cost.verdict,
    }


def overrides(rows: Sequence[CalibrationRow], date: str) -> str:
    """`cost_model:` of the configuration for the operations that differ, as YAML. A comment where none differs.

    READ and WRITE become a factor on the table's cost: the mean ratio of the measured sizes.
    """
    operations: dict[str, dict[str, Any]] = {}
    for one in rows:
        if one.step in NFS3_OPERATIONS and one.cost.verdict == "differs" and one.oci_iops is not None:
            operations[one.step] = {"io_operations": round(one.cost.measured, 2)}
    for name in (READ, WRITE):
        sizes = [one.cost for one in rows if one.step.startswith(f"{name} ") and one.step.endswith("iB")]
        ratios = [cost.ratio for cost in sizes if cost.ratio is not None]
        if any(cost.verdict == "differs" for cost in sizes) and all(one.oci_iops is not None for one in rows):
            operations[name] = {"factor": round(sum(ratios) / len(ratios), 3)}
    if not operations:
        return "# No operation differs from the table: the configuration needs no cost_model.\n"
    found = {name: given | {"date": date, "source": SOURCE} for name, given in operations.items()}
    return yaml.safe_dump({"cost_model": {"operations": found}}, sort_keys=False)
