# SPDX-License-Identifier: Apache-2.0
"""A workload to plan for: stated in flags, recorded by address, or the busiest moment of a history."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from fss_exporter.addresses import NetworkAddress
from fss_exporter.errors import UsageError
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.estimate import NO_COST
from fss_exporter.model.histograms import in_classes
from fss_exporter.model.knowledge import KnownFigure
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import LARGEST_TRANSFER_BYTES
from fss_exporter.model.service_table import SeriesKey, Service
from fss_exporter.model.traffic import Traffic, together
from fss_toolbox.plan.inputs import PlanInputs
from fss_toolbox.sizing.domain_bill import DomainBill
from fss_toolbox.sizing.growth import Growth
from fss_toolbox.sizing.service_choice import ServiceChoice
from fss_toolbox.sizing.workload import Transfers, priced, scaled, workload

# Remark of a load that was recorded on a client.
ONE_CLIENT: Final = "a part: the load of one client alone, without the other clients"

_LARGEST: Final = 1e18  # Operations or bytes per second that no fleet has, and that a damaged counter shows

EVERYTHING: Final = "all operations"  # stands for the operations that OCI does not split


class SizeShare(NamedTuple):
    """Operations of one size class: the largest size in bytes, and the share in all operations of the histogram."""

    up_to_bytes: float
    share: float


def size_shares(at_most: Mapping[float, float]) -> tuple[SizeShare, ...]:
    """Return the used classes of a cumulative histogram: operations up to a size in bytes, by the size.

    The class without a bound is left out, because no kernel makes a transfer that large.
    """
    classes = in_classes(at_most)
    whole = sum(classes.values())
    return tuple(SizeShare(up_to, count / whole) for up_to, count in classes.items() if count and up_to < math.inf)


@dataclass(frozen=True, slots=True)
class Load:
    """A workload."""

    source: str  # where the workload comes from, for people
    traffic: Traffic  # operations and bytes per second; of the whole job where `is_job`
    # classes of READs and WRITEs by operation, where exact mode counted them
    sizes: Mapping[str, tuple[SizeShare, ...]] = field(default_factory=dict)
    shape: str = ""  # shape of the recorded mount target; empty where the shape is not known
    connections: float | None = None  # connections of the recorded mount target; None where they were not counted
    limits: Limits | None = None  # ceilings of the mount target of a week; None for a load from elsewhere
    observed: Limits | None = None  # ceilings that a poller observed; None without any
    remark: str = ""  # quality of the IOPS figure
    iops_figure: KnownFigure | None = None  # IOPS with source, age and coverage; None for a load that nobody observed
    growth: Mapping[str, Growth] = field(
        default_factory=dict
    )  # by resource, where Prometheus was asked and has enough days
    days: int = 0  # days of history that Prometheus has
    bill: DomainBill | None = None  # of the availability domain of the mount target, where Prometheus has it
    mount_target_id: str = ""  # OCID of the mount target in Prometheus; empty if a poller does not know it
    # network and address in Prometheus. None for a load from elsewhere, or if not known
    place: NetworkAddress | None = None
    moment: float = 0.0  # end of the recorded time, epoch seconds; 0 for a load without one
    is_job: bool = False  # whether the traffic is a number of files or bytes and not a rate
    follows_latency: bool = False  # whether latency and concurrency state the rate, so that the load changes with them

    @property
    def is_split(self) -> bool:
        """Whether the operations are known by name."""
        return EVERYTHING not in self.traffic.operations


def loads_by_address(
    source: str, mounts: Mapping[SeriesKey, Traffic], service: Service | None = None
) -> dict[str, Load]:
    """Return the load of each address, or of each server without one, from the mounts of one client.

    Of a service, its mounts count. Without any, all mounts count, as if they moved there.
    """
    own = {key: traffic for key, traffic in mounts.items() if service is not None and key.service == service.name}
    by_address: dict[str, list[Traffic]] = {}
    for key, traffic in (own or mounts).items():
        by_address.setdefault(key.address or key.server, []).append(traffic)
    return {address: Load(source, together(traffics), remark=ONE_CLIENT) for address, traffics in by_address.items()}


def check_recorded(name: str, load: Load) -> None:
    """Refuse a recorded load with a figure that no load can have. `name` is the address of the load.

    Raises:
        UsageError: a counter of the recording is damaged.
    """
    traffic, every = load.traffic, load.traffic.all_operations
    costs = every.iops or NO_COST
    for figure in (every.operations, *costs, traffic.read_bytes, traffic.written_bytes):
        if not 0 <= figure < _LARGEST:
            raise UsageError(
                f"{load.source}: {figure:g} operations or bytes per second of {name}: a counter is damaged. Give another"
                " recording, or name another mount target with --address"
            )


def without_costs(load: Load) -> Load:
    """Return the load without the cost of operations, for storage without a cost table."""
    traffic = load.traffic
    operations = {name: replace(rate, iops=None) for name, rate in traffic.operations.items()}
    classes = {name: replace(rate, iops=None) for name, rate in traffic.classes.items()}
    return replace(load, traffic=replace(traffic, operations=operations, classes=classes, lock_iops=None))


def fullness(
    iops: float, read_bytes: float, written_bytes: float, limits: Limits, connections: float = 0.0
) -> tuple[float, float, float]:
    """Return how busy a moment is: the highest share of a ceiling. Without a ceiling, IOPS and bytes per second decide."""
    payload = read_bytes + written_bytes
    wanted = (
        (iops, limits.iops),
        (read_bytes, limits.read_bytes_per_second),
        (written_bytes, limits.write_bytes_per_second),
        (payload, limits.bytes_per_second),
        (connections, limits.connections),
    )
    return max((amount / limit for amount, limit in wanted if limit), default=0.0), iops, payload


def ended(moment: float) -> str:
    """Return the name of the five minutes that end at a moment, for a report."""
    return f"busiest 5 minutes of the last week, until {datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"


def stated_load(
    inputs: PlanInputs, cap_bytes: int = LARGEST_TRANSFER_BYTES, overrides: CostOverrides = NO_OVERRIDES
) -> Load:
    """Return the workload of the flags. `cap_bytes` is the largest transfer of the client (rsize and wsize).

    Raises:
        UsageError: an operation has no known cost, or a rate is missing.
    """
    reads, writes = _transfers(inputs)
    try:
        traffic = priced(workload(reads, writes, inputs.operations, cap_bytes), overrides)
    except ValueError as wrong:
        raise UsageError(f"--operation: {wrong}") from wrong
    if inputs.is_job or (inputs.has_rates and not inputs.mix):
        return Load("as stated", traffic)
    highest = inputs.hosts.highest_rate
    if highest is None:
        raise UsageError("no rate: give --reads, --writes or --operation, or --concurrency and --latency")
    factor = highest / traffic.all_operations.operations
    return Load("as stated", scaled(traffic, factor), follows_latency=True)


def with_stated_latency(inputs: PlanInputs, choice: ServiceChoice) -> PlanInputs:
    """Return the inputs with the service's stated latency, if the flags give sizes and a concurrency only."""
    size, kind = inputs.write_size, choice.kind
    asks_rate = inputs.concurrency is not None and not inputs.has_rates and not inputs.is_job
    if inputs.latency is not None or kind is None or size is None or not asks_rate or inputs.read_size is not None:
        return inputs
    return replace(inputs, latency=kind.stated_latency(size))


def as_job(name: str, load: Load, inputs: PlanInputs) -> Load:
    """Return the load as the job of `--files` or `--bytes`, with all operations and bytes of the job as traffic.

    Raises:
        UsageError: `--bytes` with a load that moves no bytes. `name` is the address of a recorded load.
    """
    payload = load.traffic.read_bytes + load.traffic.written_bytes
    if inputs.total_bytes is not None and not payload:
        fix = "Name another mount target with --address" if name else "Give --read-size or --write-size"
        raise UsageError(f"--bytes: {name or 'the load'} reads and writes nothing. {fix}")
    factor = inputs.files or (inputs.total_bytes or 0) / payload
    return replace(load, traffic=scaled(load.traffic, factor), is_job=True)


def _transfers(inputs: PlanInputs) -> tuple[Transfers | None, Transfers | None]:
    """Return reads and writes with their rates, or one of each per second if only sizes are stated."""
    if inputs.has_rates:
        return (
            _of_rate(inputs.reads, inputs.read_bandwidth, inputs.read_size or LARGEST_TRANSFER_BYTES),
            _of_rate(inputs.writes, inputs.write_bandwidth, inputs.write_size or LARGEST_TRANSFER_BYTES),
        )
    return (
        None if inputs.read_size is None else Transfers(1.0, inputs.read_size),
        None if inputs.write_size is None else Transfers(1.0, inputs.write_size),
    )


def _of_rate(per_second: float | None, bandwidth: float | None, size: int) -> Transfers | None:
    if bandwidth is not None:
        per_second = bandwidth / size
    return None if per_second is None else Transfers(per_second, size)
