"""The answer of `plan` as JSON. Every key names its unit. Unknown figures are null. Schema: docs/schemas/plan.json."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fss_exporter.model.capacity import LATENCY, Best
from fss_exporter.model.limits import Use
from fss_exporter.plan.answer_sentences import NO_CACHE, sentences
from fss_exporter.plan.scenario import Case, Scenario


def case_document(case: Case) -> dict[str, Any]:
    """One answer."""
    scenario = case.scenario
    load = scenario.load
    traffic, per = load.traffic, "" if load.is_job else "_per_second"
    return {
        "address": case.address or None,
        "source": load.source,
        "is_job": load.is_job,
        "shape": scenario.shape,
        "target_ratio": scenario.target,
        "remark": load.remark or None,
        "iops": traffic.iops._asdict() if traffic.iops else None,
        "operations": {
            name: {
                "count" if load.is_job else "per_second": rate.operations,
                "iops": rate.iops._asdict() if rate.iops else None,
            }
            for name, rate in traffic.operations.items()
        }
        if not load.remark
        else None,
        f"read_bytes{per}": traffic.read_bytes,
        f"written_bytes{per}": traffic.written_bytes,
        "estimated_lock_iops": traffic.lock_iops,
        "counted_sizes": {
            operation: [one._asdict() for one in classes if math.isfinite(one.up_to_bytes)]
            for operation, classes in load.sizes.items()
        },
        **_answer(scenario),
        "sentences": list(sentences(scenario)),
        "what_if": [{"change": change, **_answer(other)} for change, other in case.changed],
    }


def _answer(scenario: Scenario) -> dict[str, Any]:
    answer, time = scenario.answer(), scenario.job_time()
    bound = time.binds if time else answer.binds
    several = max(answer.mount_targets or 1, scenario.mount_targets or 1) > 1
    return {
        "mount_target": _uses(answer.mount_target),
        "clients": _uses(answer.clients),
        "both_directions": _uses([answer.both_directions])[0] if answer.both_directions else None,
        "binds_first": bound.resource if bound else None,
        "latency_bound": bound is not None and bound.resource == LATENCY,
        "job_seconds": time.seconds if time else None,
        "best_of_one_mount_target": _best_document(answer.best),
        "attainable": _best_document(answer.attainable),
        "mount_targets_given": scenario.mount_targets,
        "mount_targets": answer.mount_targets,
        "mount_targets_at_upper_bound": answer.mount_targets_at_worst,
        "scaling_out_costs": NO_CACHE if several else None,
    }


def _uses(found: Sequence[Use]) -> list[dict[str, Any]]:
    return [asdict(use) | {"ratio": use.ratio} for use in found]


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
