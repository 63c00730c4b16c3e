"""The answer of `plan` as JSON."""

import math
from collections.abc import Sequence
from typing import Any

from fss_exporter.cli.plan_case import Case
from fss_exporter.cli.plan_report import NO_CACHE
from fss_exporter.model.capacity import LATENCY, Best, Plan
from fss_exporter.model.utilisation import Use


def document(case: Case) -> dict[str, Any]:
    """One answer for programs; every key names its unit, what is not known is null."""
    traffic = case.load.traffic
    return {
        "address": case.address or None,
        "source": case.load.source,
        "shape": case.scenario.shape,
        "target_ratio": case.scenario.target,
        "remark": case.load.remark or None,
        "iops": traffic.iops._asdict() if traffic.iops else None,
        "operations": {
            name: {"per_second": rate.operations, "iops": rate.iops._asdict() if rate.iops else None}
            for name, rate in traffic.operations.items()
        }
        if not case.load.remark
        else None,
        "read_bytes_per_second": traffic.read_bytes,
        "written_bytes_per_second": traffic.written_bytes,
        "estimated_lock_iops": traffic.lock_iops,
        "counted_sizes": {
            operation: [one._asdict() for one in classes if math.isfinite(one.up_to_bytes)]
            for operation, classes in case.load.sizes.items()
        },
        **_answer(case.answer),
        "what_if": [{"change": change, **_answer(other)} for change, other in case.others],
    }


def _answer(answer: Plan) -> dict[str, Any]:
    return {
        "mount_target": _uses(answer.mount_target),
        "clients": _uses(answer.clients),
        "binds_first": answer.binds.resource if answer.binds else None,
        "latency_bound": answer.binds is not None and answer.binds.resource == LATENCY,
        "best_of_one_mount_target": _best_document(answer.best),
        "attainable": _best_document(answer.attainable),
        "mount_targets": answer.mount_targets,
        "mount_targets_at_upper_bound": answer.mount_targets_at_worst,
        "scaling_out_costs": NO_CACHE if (answer.mount_targets or 1) > 1 else None,
    }


def _uses(found: Sequence[Use]) -> list[dict[str, Any]]:
    return [
        {"resource": use.resource, "unit": use.unit, "demand": use.demand, "limit": use.limit, "ratio": use.ratio}
        for use in found
    ]


def _best_document(best: Best | None) -> dict[str, Any] | None:
    if best is None:
        return None
    return {
        "times_the_workload": best.factor,
        "operations_per_second": best.operations or None,
        "iops": best.iops._asdict() if best.iops else None,
        "read_bytes_per_second": best.read_bytes,
        "written_bytes_per_second": best.written_bytes,
    }
