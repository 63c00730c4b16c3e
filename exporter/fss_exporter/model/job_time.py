"""Compute the time of a job of a number of files or bytes.

A job that needs n times a bound in one second takes n seconds. Requests complete in rounds: 250 requests with 125 in
flight take two rounds of one latency each.
"""

import math
from dataclasses import dataclass

from fss_exporter.model.capacity import CONNECTION_BOUNDS, LATENCY, ClientHosts
from fss_exporter.model.utilisation import Use


@dataclass(frozen=True, slots=True)
class JobTime:
    """Time of a job."""

    seconds: float  # from start to end
    binds: Use  # the bound that sets the time
    operations: float  # requests of the job

    @property
    def operations_per_second(self) -> float:
        """Mean rate of the job."""
        return self.operations / self.seconds


def job_time(found: tuple[Use, ...], operations: float, clients: ClientHosts) -> JobTime | None:
    """Time of a job. None where no bound is known.

    Args:
        found: all bounds against the whole job, as if the job took one second.
        operations: requests of the job.
        clients: concurrency and latency, where they are known.
    """
    times = [
        JobTime(seconds, use, operations)
        for use in found
        if use.resource not in CONNECTION_BOUNDS and (seconds := _seconds(use, operations, clients))
    ]
    return max(times, key=lambda time: time.seconds, default=None)


def _seconds(use: Use, operations: float, clients: ClientHosts) -> float:
    if use.resource == LATENCY and clients.concurrency and clients.latency_seconds:
        return math.ceil(operations / clients.concurrency - 1e-9) * clients.latency_seconds
    return use.ratio or 0.0
