# SPDX-License-Identifier: Apache-2.0
"""Wires the poller of OCI into the exporter."""

import time
from collections.abc import Callable

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR

from fss_exporter.cli.allocator import give_large_blocks_back
from fss_exporter.cli.runtime import Component
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import Settings


def component(load: Callable[[], Settings]) -> Component:
    """Return the poller as a component of a running exporter, or raise UsageError for wrong settings."""
    poller = Poller(load)

    def start() -> None:
        give_large_blocks_back()
        poller.start()

    return Component(
        "oci",
        OciCollector(poller.accounts, now=time.time, lease=poller.lease),
        start=start,
        stop=poller.stop,
        loops=poller.loops,
        waits_for=poller.waits_for,
        reload=poller.reload,
        further_collectors=(PLATFORM_COLLECTOR, GC_COLLECTOR),
    )
