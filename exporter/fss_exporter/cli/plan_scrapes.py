"""A workload between two saved scrapes of an agent; its READs and WRITEs by size where the agent counts them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fss_exporter.cli.plan_case import Load, SizeClass
from fss_exporter.cli.saved_files import text_of
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.size_classes import Class, classes_io_operations
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_exporter.nfs.scraped import RESTARTED, read_scrape, traffic_between, went_back
from fss_exporter.nfs.scraped_sizes import NO_HISTOGRAM, Histogram, read_sizes


def between_scrapes(files: tuple[Path, Path], seconds: float | None) -> dict[str, Load]:
    """The workload by address.

    Args:
        files: `/metrics` of one agent, earlier and later.
        seconds: between them; None where the scrapes tell it.

    Raises:
        UsageError: a file cannot be read, or they are not two scrapes of one agent in this order.
    """
    try:
        return _between(files, seconds)
    except SourceError as error:
        raise UsageError(str(error)) from error


def _between(files: tuple[Path, Path], seconds: float | None) -> dict[str, Load]:
    texts = [text_of(path) for path in files]
    old, new = (read_scrape(str(path), text) for path, text in zip(files, texts, strict=True))
    before, after = (read_sizes(str(path), text) for path, text in zip(files, texts, strict=True))
    if went_back(old, new):
        raise UsageError(f"{files[0]}, {files[1]}: {RESTARTED}; or is the later one given first?")
    passed = seconds or after.seconds - before.seconds
    if passed <= 0:
        raise UsageError(f"{files[0]}, {files[1]}: they do not tell how far they are apart: give --seconds")
    mounts: dict[str, list[Traffic]] = {}
    for key, rates in traffic_between(old, new, passed).items():
        mounts.setdefault(key.address, []).append(rates)
    source = f"{files[0]} to {files[1]}, {passed:g} s"
    loads = {address: Load(source, together(found)) for address, found in mounts.items()}
    for (address, operation), histogram in after.histograms.items():
        earlier = before.histograms.get((address, operation), NO_HISTOGRAM)
        load = loads.get(address, Load(source, Traffic({}, 0.0, 0.0)))
        loads[address] = _with_sizes(load, operation, histogram, earlier, passed)
    return loads


def _with_sizes(load: Load, operation: str, histogram: Histogram, earlier: Histogram, seconds: float) -> Load:
    classes, payload = histogram.since(earlier, seconds)
    if not classes:
        return load
    sizes = {**load.sizes, operation: _shares(classes)}
    known = load.traffic.operations.get(operation)
    if known is not None and known.operations:
        # What exact mode has charged for each size is nearer to the truth than its class can be.
        return replace(load, sizes=sizes)
    rate = OperationTraffic(sum(one.operations for one in classes), classes_io_operations(operation, classes, payload))
    traffic = replace(load.traffic, operations={**load.traffic.operations, operation: rate})
    if operation == READ:
        traffic = replace(traffic, read_bytes=payload)
    elif operation == WRITE:
        traffic = replace(traffic, written_bytes=payload)
    return replace(load, traffic=traffic, sizes=sizes)


def _shares(classes: Sequence[Class]) -> tuple[SizeClass, ...]:
    whole = sum(one.operations for one in classes)
    return tuple(SizeClass(one.up_to_bytes, one.operations / whole) for one in classes)
