"""A workload stated in flags: rates, a mix that latency and concurrency drive, or a job of files or bytes."""

from dataclasses import replace

from fss_exporter.errors import UsageError
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.operations import LARGEST_TRANSFER_BYTES
from fss_exporter.model.traffic import Transfers, scaled, workload
from fss_exporter.plan.inputs import PlanInputs
from fss_exporter.plan.load import Load

_DEFAULT_SIZE = LARGEST_TRANSFER_BYTES


def stated_load(
    inputs: PlanInputs, cap_bytes: int = LARGEST_TRANSFER_BYTES, overrides: CostOverrides = NO_OVERRIDES
) -> Load:
    """Return the workload of the flags. `cap_bytes` is the largest transfer of the client (rsize and wsize).

    Raises:
        UsageError: an operation has no known cost, or a rate is missing.
    """
    reads, writes = _transfers(inputs)
    try:
        traffic = overrides.priced(workload(reads, writes, inputs.operations, cap_bytes))
    except ValueError as wrong:
        raise UsageError(f"--operation: {wrong}") from wrong
    if inputs.is_job or (inputs.has_rates and not inputs.mix):
        return Load("as stated", traffic)
    highest = inputs.hosts.highest_rate
    if highest is None:
        raise UsageError("no rate: give --reads, --writes or --operation, or --concurrency and --latency")
    factor = highest / traffic.all_operations.operations
    return Load("as stated", scaled(traffic, factor), follows_latency=True)


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
            _of_rate(inputs.reads, inputs.read_bandwidth, inputs.read_size or _DEFAULT_SIZE),
            _of_rate(inputs.writes, inputs.write_bandwidth, inputs.write_size or _DEFAULT_SIZE),
        )
    return (
        None if inputs.read_size is None else Transfers(1.0, inputs.read_size),
        None if inputs.write_size is None else Transfers(1.0, inputs.write_size),
    )


def _of_rate(per_second: float | None, bandwidth: float | None, size: int) -> Transfers | None:
    if bandwidth is not None:
        per_second = bandwidth / size
    return None if per_second is None else Transfers(per_second, size)
