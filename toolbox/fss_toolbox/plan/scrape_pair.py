# SPDX-License-Identifier: Apache-2.0
"""The workload between two saved scrapes of an agent, with sizes of READs and WRITEs if the agent counts sizes."""

import math
from dataclasses import replace

from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.service_table import Service
from fss_toolbox.plan.load import Load, loads_by_address, size_shares
from fss_toolbox.scrape_text import RESTARTED, UNREAD, read_scrape, traffic_between, went_back


def between_scrapes(
    names: tuple[str, str], texts: tuple[str, str], seconds: float | None, service: Service | None = None
) -> dict[str, Load]:
    """Return the workload by address between two scrapes of `/metrics` of one agent, of the mounts of a service if it has any.

    Without `seconds` the scrapes give the time.

    Raises:
        UsageError: the texts are not two scrapes of one agent in this order, or it could not read its counters.
    """
    try:
        old, new = map(read_scrape, names, texts)
    except SourceError as error:
        raise UsageError(str(error)) from error
    if went_back(old, new):
        raise UsageError(f"{names[0]}, {names[1]}: {RESTARTED}. Or is the later one given first?")
    for name, scrape in zip(names, (old, new), strict=True):
        if not scrape.is_read:
            raise UsageError(f"{name}: {UNREAD}")
    passed = seconds or (new.ticked_at - old.ticked_at if old.ticked_at else 0.0)
    if not 0 < passed < math.inf:
        raise UsageError(f"{names[0]}, {names[1]}: the scrapes do not say how far apart they are: give --elapsed")
    source = f"{names[0]} to {names[1]}, {passed:g} s"
    loads = loads_by_address(source, traffic_between(old, new, passed), service)
    if not loads:
        raise UsageError(f"{names[0]}, {names[1]}: no mount has counters in both. Give whole scrapes of /metrics")
    for place, at_most in new.sizes.items():
        address, operation = place
        before = old.sizes.get(place, {})
        shares = size_shares({edge: count - before.get(edge, 0.0) for edge, count in at_most.items()})
        if address in loads and shares:
            load = loads[address]
            loads[address] = replace(load, sizes={**load.sizes, operation: shares})
    return loads
