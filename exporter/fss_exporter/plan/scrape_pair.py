"""The workload between two saved scrapes of an agent, with sizes of READs and WRITEs if the agent counts sizes."""

from collections.abc import Sequence
from dataclasses import replace

from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.histograms import TransferClass, classes_io_operations
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.nfs.scraped import RESTARTED, read_scrape, traffic_between, went_back
from fss_exporter.nfs.scraped_sizes import NO_HISTOGRAM, read_sizes
from fss_exporter.plan.load import Load, SizeShare, loads_by_address


def between_scrapes(names: tuple[str, str], texts: tuple[str, str], seconds: float | None) -> dict[str, Load]:
    """Return the workload by address between two scrapes of `/metrics` of one agent. Without `seconds` the scrapes give the time.

    Raises:
        UsageError: the texts are not two scrapes of one agent in this order.
    """
    try:
        return _between(names, texts, seconds)
    except SourceError as error:
        raise UsageError(str(error)) from error


def _between(names: tuple[str, str], texts: tuple[str, str], seconds: float | None) -> dict[str, Load]:
    old, new = map(read_scrape, names, texts)
    before, after = map(read_sizes, names, texts)
    if went_back(old, new):
        raise UsageError(f"{names[0]}, {names[1]}: {RESTARTED}. Or is the later one given first?")
    passed = seconds or after.seconds - before.seconds
    if passed <= 0:
        raise UsageError(f"{names[0]}, {names[1]}: the scrapes do not say how far apart they are: give --seconds")
    source = f"{names[0]} to {names[1]}, {passed:g} s"
    rates = traffic_between(old, new, passed)
    loads = loads_by_address(source, ((key.address, rate) for key, rate in rates.items()))
    for (address, operation), histogram in after.histograms.items():
        earlier = before.histograms.get((address, operation), NO_HISTOGRAM)
        load = loads.get(address, Load(source, Traffic({}, 0.0, 0.0)))
        loads[address] = _with_sizes(load, operation, histogram.since(earlier, passed), new.overrides)
    return loads


def _with_sizes(
    load: Load, operation: str, counted: tuple[Sequence[TransferClass], float], overrides: CostOverrides
) -> Load:
    classes, payload = counted
    if not classes:
        return load
    sizes = {**load.sizes, operation: _shares(classes)}
    known = load.traffic.operations.get(operation)
    if known is not None and known.operations:
        # What exact mode has charged for each size is nearer to the truth than its class can be.
        return replace(load, sizes=sizes)
    cost = overrides.scaled(operation, classes_io_operations(operation, classes, payload))
    rate = OperationTraffic(sum(one.operations for one in classes), cost)
    traffic = replace(load.traffic, operations={**load.traffic.operations, operation: rate})
    if operation == READ:
        traffic = replace(traffic, read_bytes=payload)
    elif operation == WRITE:
        traffic = replace(traffic, written_bytes=payload)
    return replace(load, traffic=traffic, sizes=sizes)


def _shares(classes: Sequence[TransferClass]) -> tuple[SizeShare, ...]:
    whole = sum(one.operations for one in classes)
    return tuple(SizeShare(one.up_to_bytes, one.operations / whole) for one in classes)
