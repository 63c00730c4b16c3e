"""The verdict on a benchmark as JSON. Schema: docs/schemas/fio.json."""

from typing import Any

from fss_exporter.fio.verdict_text import Judged
from fss_exporter.model.benchmark import Direction, Storage


def verdict_document(judged: Judged, storage: Storage) -> dict[str, Any]:
    """Return a group of jobs with the verdict. Unknown figures are null."""
    verdict, jobs = judged.verdict, judged.jobs
    iops = verdict.traffic.iops if storage.limits is not None else None
    return {
        "group": jobs[0].group,
        "name": judged.name,
        "jobs": [
            {
                "name": job.name,
                "read": _direction(job.reads),
                "write": _direction(job.writes),
                "in_flight": job.in_flight,
                "depth": job.depth,
                "directory": job.directory or None,
                "mount_target_iops": cost._asdict()
                if storage.limits is not None and (cost := storage.traffic(job).iops)
                else None,
                "remarks": list(job.remarks),
            }
            for job in jobs
        ],
        "mount_target_iops": iops._asdict() if iops else None,
        "in_flight": verdict.in_flight,
        "depth": verdict.depth,
        "share": {use.resource: use.ratio for use in verdict.uses if use.limit is not None},
        "clients": {use.resource: use.ratio for use in verdict.clients},
        "ceiling": verdict.first.resource if verdict.first and verdict.error is not None else None,
        "pace": verdict.bottleneck.value,
        "allowed_operations_per_second": verdict.allowed,
        "model_error_ratio": verdict.error,
        "iops_limit": storage.limits.iops if storage.limits is not None else None,
    }


def _direction(direction: Direction) -> dict[str, Any] | None:
    if not direction.count:
        return None
    return {
        "operations_per_second": direction.operations,
        "bytes_per_second": direction.bytes_per_second,
        "mean_bytes": direction.mean_bytes,
        "mean_seconds": direction.mean_seconds,
        "percentile_seconds": {f"{percent:g}": seconds for percent, seconds in direction.percentiles.items()},
        "in_flight": direction.in_flight,
    }
