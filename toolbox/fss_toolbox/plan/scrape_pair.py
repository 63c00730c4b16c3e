# SPDX-License-Identifier: Apache-2.0
"""The workload between two saved scrapes of an agent, with sizes of READs and WRITEs if the agent counts sizes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import Service
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.plan.load import ONE_CLIENT, Load, loads_by_address, size_shares
from fss_toolbox.scrape_text import RESTARTED, read_scrape, traffic_between, went_back
from fss_toolbox.sizing.size_classes import TransferClass, classes_io_operations

_SIZES = "fss_client_io_size_bytes"


def between_scrapes(
    names: tuple[str, str], texts: tuple[str, str], seconds: float | None, service: Service | None = None
) -> dict[str, Load]:
    """Return the workload by address between two scrapes of `/metrics` of one agent, of the mounts of a service if it has any.

    Without `seconds` the scrapes give the time.

    Raises:
        UsageError: the texts are not two scrapes of one agent in this order.
    """
    try:
        old, new = map(read_scrape, names, texts)
    except SourceError as error:
        raise UsageError(str(error)) from error
    if went_back(old, new):
        raise UsageError(f"{names[0]}, {names[1]}: {RESTARTED}. Or is the later one given first?")
    passed = seconds or (new.ticked_at - old.ticked_at if old.ticked_at else 0.0)
    if not 0 < passed < math.inf:
        raise UsageError(f"{names[0]}, {names[1]}: the scrapes do not say how far apart they are: give --seconds")
    source = f"{names[0]} to {names[1]}, {passed:g} s"
    mounts = traffic_between(old, new, passed)
    loads = loads_by_address(source, mounts, service)
    for place, at_most in new.sizes.items():
        address, operation = place
        if mounts and address not in loads:  # of another service
            continue
        grown = {edge: count - old.sizes.get(place, {}).get(edge, 0.0) for edge, count in at_most.items()}
        classes = _classes(grown, passed)
        if classes:
            load = loads.get(address, Load(source, Traffic({}, 0.0, 0.0), remark=ONE_CLIENT))
            load = replace(load, sizes={**load.sizes, operation: size_shares(grown)})
            payload = (new.payload_bytes.get(place, 0.0) - old.payload_bytes.get(place, 0.0)) / passed
            loads[address] = _with_traffic(load, operation, classes, payload, new.overrides)
    return loads


def _classes(at_most: Mapping[float, float], seconds: float) -> list[TransferClass]:
    """Return the used classes of a cumulative histogram, with operations per second.

    Raises:
        UsageError: a counter fell, or the last class has no bound and is not empty.
    """
    edges = sorted(at_most)
    classes = [
        TransferClass(above, edge, (at_most[edge] - at_most.get(above, 0.0)) / seconds)
        for above, edge in zip((0.0, *edges), edges, strict=False)
    ]
    if any(row.operations < 0 for row in classes):
        raise UsageError(f"{_SIZES} went back: the exporter was restarted between two scrapes")
    used = [row for row in classes if row.operations]
    if used and used[-1].up_to_bytes == math.inf:
        raise UsageError(f"{_SIZES} has transfers of more than {used[-1].above_bytes:g} bytes, which no kernel makes")
    return used


def _with_traffic(
    load: Load, operation: str, classes: Sequence[TransferClass], payload: float, overrides: CostOverrides
) -> Load:
    """Return the load with the READs or WRITEs of these classes, if the other counters have none."""
    counted = load.traffic.operations.get(operation)
    if counted is not None and counted.operations:
        # The agent has charged the cost of each size, which is closer to the truth than the cost of a size class.
        return load
    cost = overrides.scaled(operation, classes_io_operations(operation, classes, payload))
    rate = OperationTraffic(sum(row.operations for row in classes), cost)
    traffic = replace(load.traffic, operations={**load.traffic.operations, operation: rate})
    if operation == READ:
        traffic = replace(traffic, read_bytes=payload)
    elif operation == WRITE:
        traffic = replace(traffic, written_bytes=payload)
    return replace(load, traffic=traffic)
