# SPDX-License-Identifier: Apache-2.0
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
from fss_toolbox.calibrate.calibration_rows import CalibrationRow
from fss_toolbox.calibrate.calibration_run import CountedMinute
from fss_toolbox.calibrate.calibration_steps import IDLE, NFSACL, PAST_THE_END, CalibrationPlan
from fss_toolbox.calibrate.fitted_costs import TOLERANCE
from fss_toolbox.calibrate.oci_clock import ClockFit

SOURCE = "fss-exporter calibrate"


def document(
    plan: CalibrationPlan,
    rows: Sequence[CalibrationRow],
    minutes: Sequence[CountedMinute],
    mount: dict[str, str],
    fit: ClockFit | None,
) -> dict[str, Any]:
    """Return the report for sending: no OCID, address, host name or path. `mount` are options that determine the requests."""
    return {
        "version": __version__,
        "kernel": platform.release(),
        "mount_options": mount,
        "minutes_per_step": plan.minutes,
        "max_iops": plan.max_iops,
        "oci_clock": None if fit is None else _clock(fit),
        "rows": [_row(row) for row in rows],
        "minutes": [_minute(minute) for minute in minutes],
    }


def _clock(fit: ClockFit) -> dict[str, Any]:
    return {
        "minutes_named_by": fit.clock.named_by if fit.is_certain else "unknown",
        "ahead_seconds": fit.clock.ahead_s,
        "misfit_iops": round(fit.costs.misfit / 60, 2),
        "misfit_iops_of_the_other_naming": None if fit.other_misfit is None else round(fit.other_misfit / 60, 2),
    }


def _minute(minute: CountedMinute) -> dict[str, Any]:
    return {
        "minute": minute.minute,
        "step": f"preparation of {minute.step}" if minute.is_preparation else minute.step,
        "requests": minute.counts,
        "left_out": minute.refusal,
    }


def _row(row: CalibrationRow) -> dict[str, Any]:
    return {
        "step": row.step,
        "requests": row.requests,
        "iops_by_table": round(row.table_iops, 2),
        "iops_by_oci": None if row.oci_iops is None else round(row.oci_iops, 2),
        "io_operations_by_table": row.cost.table,
        "io_operations_measured": round(row.cost.measured, 4) if row.oci_iops is not None else None,
        "ratio": None if row.cost.ratio is None else round(row.cost.ratio, 4),
        "uncertainty": round(row.cost.uncertainty / (row.cost.table or 1.0), 4),
        "verdict": "" if row.step == IDLE.name else row.cost.verdict,
    }


def overrides(rows: Sequence[CalibrationRow], date: str) -> str:
    """Return `cost_model:` of the configuration for the differing operations, as YAML, or a comment without a difference.

    READ and WRITE become a factor on the table's cost: the mean ratio of the measured sizes. A comment names sizes whose
    ratio is far from the factor, because mountstats has no sizes and so an agent can use only a single factor.
    """
    if any(row.oci_iops is None for row in rows):
        return "# OCI published no IOPS: costs are not known, and the configuration needs no cost_model.\n"
    different = [row for row in rows if row.cost.verdict == "differs"]
    operations: dict[str, dict[str, Any]] = {
        row.step: {"io_operations": round(row.cost.measured, 2)}
        for row in different
        if row.step == NLM or row.step in NFS3_OPERATIONS
    }
    remarks = [
        f"# {row.step}: {row.cost.measured:.2f} I/O operations, which no override can say, because mountstats does not count it.\n"
        for row in different
        if row.step == NFSACL
    ]
    for name in (READ, WRITE):
        sizes = [row for row in rows if row.step.startswith(f"{name} ") and row.step.endswith("iB")]
        if any(row in different for row in sizes):
            factor = mean(row.cost.ratio or 0.0 for row in sizes)
            operations[name] = {"factor": round(factor, 3)}
            remarks += [_far_from(row, factor) for row in sizes if abs((row.cost.ratio or 0.0) - factor) > TOLERANCE]
    remarks += [
        f"# {row.step}: {row.cost.ratio:.3f} of the table, which no override can say.\n"
        for row in different
        if row.step == PAST_THE_END or row.step.endswith(" buffered")
    ]
    if not operations:
        return "".join(remarks) or "# No operation of the table differs: the configuration needs no cost_model.\n"
    operations = {name: given | {"date": date, "source": SOURCE} for name, given in operations.items()}
    return "".join(remarks) + yaml.safe_dump({"cost_model": {"operations": operations}}, sort_keys=False)


def _far_from(row: CalibrationRow, factor: float) -> str:
    return f"# {row.step}: {row.cost.ratio:.3f} of the table. The factor of all sizes is {factor:.3f}.\n"
