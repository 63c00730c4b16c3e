"""The result of a calibration: a table, a JSON document without names of the tenancy, and overrides for the
configuration.
"""

import platform
from collections.abc import Sequence
from statistics import mean
from typing import Any

import yaml

from fss_exporter import __version__
from fss_exporter.model.cost_overrides import NLM
from fss_exporter.model.operations import NFS3_OPERATIONS, READ, WRITE
from fss_toolbox.calibrate.calibration_run import CalibrationRow, CountedMinute
from fss_toolbox.calibrate.calibration_steps import IDLE, NFSACL, PAST_THE_END, CalibrationPlan
from fss_toolbox.calibrate.fitted_costs import TOLERANCE

SOURCE = "fss-exporter calibrate"


def document(
    plan: CalibrationPlan, rows: Sequence[CalibrationRow], minutes: Sequence[CountedMinute], mount: dict[str, str]
) -> dict[str, Any]:
    """Return the report for sending: no OCID, address, host name or path. `mount` are options that determine the requests."""
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
    """Return `cost_model:` of the configuration for the differing operations, as YAML, or a comment without a difference.

    READ and WRITE become a factor on the table's cost: the mean ratio of the measured sizes. A comment names sizes whose
    ratio is far from the factor, because mountstats has no sizes and so an agent can use only a single factor.
    """
    if any(one.oci_iops is None for one in rows):
        return "# OCI published no IOPS: costs are not known, and the configuration needs no cost_model.\n"
    different = [one for one in rows if one.cost.verdict == "differs"]
    operations: dict[str, dict[str, Any]] = {
        one.step: {"io_operations": round(one.cost.measured, 2)}
        for one in different
        if one.step == NLM or one.step in NFS3_OPERATIONS
    }
    remarks = [
        f"# {one.step}: {one.cost.measured:.2f} I/O operations, which no override can say, because mountstats does not count it.\n"
        for one in different
        if one.step == NFSACL
    ]
    for name in (READ, WRITE):
        sizes = [one for one in rows if one.step.startswith(f"{name} ") and one.step.endswith("iB")]
        if any(one in different for one in sizes):
            factor = mean(one.cost.ratio or 0.0 for one in sizes)
            operations[name] = {"factor": round(factor, 3)}
            remarks += [_far_from(one, factor) for one in sizes if abs((one.cost.ratio or 0.0) - factor) > TOLERANCE]
    remarks += [
        f"# {one.step}: {one.cost.ratio:.3f} of the table, which no override can say.\n"
        for one in different
        if one.step == PAST_THE_END or one.step.endswith(" buffered")
    ]
    if not operations:
        return "".join(remarks) or "# No operation of the table differs: the configuration needs no cost_model.\n"
    found = {name: given | {"date": date, "source": SOURCE} for name, given in operations.items()}
    return "".join(remarks) + yaml.safe_dump({"cost_model": {"operations": found}}, sort_keys=False)


def _far_from(row: CalibrationRow, factor: float) -> str:
    return f"# {row.step}: {row.cost.ratio:.3f} of the table. The factor of all sizes is {factor:.3f}.\n"
