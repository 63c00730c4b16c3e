"""The workloads `plan` answers for: as stated, from saved mountstats or scrapes, or from the history in a Prometheus."""

from collections.abc import Callable
from pathlib import Path

from fss_exporter import tables
from fss_exporter.cli.ceilings import Judge
from fss_exporter.cli.fetch import check_url, get
from fss_exporter.cli.history.busiest import busiest
from fss_exporter.cli.history.prometheus import Prometheus
from fss_exporter.cli.history.services import of_service
from fss_exporter.cli.plan_case import Load
from fss_exporter.cli.plan_options import Options
from fss_exporter.cli.plan_scrapes import between_scrapes
from fss_exporter.cli.saved_files import saved_interval
from fss_exporter.cli.service_options import Chosen
from fss_exporter.errors import UsageError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service import Service
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_exporter.model.workload import LARGEST_TRANSFER_BYTES, Transfers, workload
from fss_exporter.nfs.rates import traffic as traffic_between

_DEFAULT_SIZE = LARGEST_TRANSFER_BYTES


def loads_of(options: Options, ceilings: Judge, of_shape: Callable[[str], Judge]) -> dict[str, Load]:
    """The workload by address; one that is stated has none."""
    if options.mountstats is not None:
        return _recorded(options.mountstats, options, ceilings)
    if options.scrapes is not None:
        return between_scrapes(options.scrapes, options.seconds)
    if options.prometheus is not None:
        return busiest(
            _api(options.prometheus),
            lambda address, shape: of_shape(shape).at(address),
            options.address,
        )
    reads, writes = _stated(options)
    try:
        return {"": Load("as stated", workload(reads, writes, options.operations))}
    except ValueError as wrong:
        raise UsageError(f"--operation: {wrong}") from wrong


def _stated(options: Options) -> tuple[Transfers | None, Transfers | None]:
    """The transfers of the flags; without a rate, what latency and concurrency allow."""
    read_size, write_size = options.read_size or _DEFAULT_SIZE, options.write_size or _DEFAULT_SIZE
    if options.has_rates:
        return (
            _transfers(options.reads, options.read_bandwidth, read_size),
            _transfers(options.writes, options.write_bandwidth, write_size),
        )
    highest = options.brought.highest_rate
    if highest is None:
        raise UsageError("no rate: give --reads, --writes or --operation, or --concurrency and --latency")
    kinds = (options.read_size is not None) + (options.write_size is not None)
    return (
        Transfers(highest / kinds, read_size) if options.read_size is not None else None,
        Transfers(highest / kinds, write_size) if options.write_size is not None else None,
    )


def _transfers(per_second: float | None, bandwidth: float | None, size: int) -> Transfers | None:
    if bandwidth is not None:
        per_second = bandwidth / size
    return None if per_second is None else Transfers(per_second, size)


def _recorded(
    files: tuple[Path, Path], options: Options, ceilings: Judge, service: Service | None = None
) -> dict[str, Load]:
    """By address; of the mounts of a service alone, where one is named and some are of it."""
    between = saved_interval(*files, options.mountinfo, options.seconds, ceilings)
    for line in between.notes:
        tables.note(line)
    every = traffic_between({}, between.accounts.mounts, between.seconds)
    own = {key: load for key, load in every.items() if service is not None and key.service == service.name}
    mounts: dict[str, list[Traffic]] = {}
    for key, load in (own or every).items():
        mounts.setdefault(key.address, []).append(load)
    source = f"{files[0]} to {files[1]}, {between.seconds:g} s"
    return {name: Load(source, together(loads)) for name, loads in mounts.items()}


def loads_of_service(other: Chosen, options: Options, ceilings: Judge) -> dict[str, Load]:
    """What another service has to bear, by address or resource; one that is stated has none.

    Recorded mounts are those of the service; where none is, all are, as if they were to move there.
    """
    if options.mountstats is not None:
        return _recorded(options.mountstats, options, ceilings, other.service)
    if options.prometheus is not None:
        api = Prometheus(_api(options.prometheus))
        return of_service(api, other.service.name, other.ceilings, options.address)
    if not options.is_stated:
        return loads_of(options, ceilings, lambda _: ceilings)
    reads, writes = (one or Transfers(0.0, 1) for one in _stated(options))
    operations = {READ: OperationTraffic(reads.per_second), WRITE: OperationTraffic(writes.per_second)}
    read_bytes, written_bytes = (one.per_second * one.size_bytes for one in (reads, writes))
    return {"": Load("as stated", Traffic(operations, read_bytes, written_bytes))}


def _api(url: str) -> Callable[[str], str]:
    base = check_url("--prometheus", url).rstrip("/")
    return lambda path: get(f"{base}{path}", "application/json")
