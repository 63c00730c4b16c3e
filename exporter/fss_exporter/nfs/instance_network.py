# SPDX-License-Identifier: Apache-2.0
"""The network of this instance, from the instance metadata: the name that joins it to mount targets, and its bandwidth."""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import Metric

from fss_exporter.addresses import UNKNOWN_NETWORK
from fss_exporter.background import EndLoop, Worker
from fss_exporter.catalogue import family
from fss_exporter.instance_metadata import read_instance_metadata

_DEADLINE_S: Final = 5.0
_NEXT_TRY_S: Final = 60.0


class InstanceNetwork:
    """Name and bandwidth of the network of this instance. Each is stated, or comes from the metadata service at a URL, if any.

    A loop asks the metadata service until the first answer, because the answer never changes while an instance runs.
    A scrape never waits.

    Attributes:
        name: the stated name, else the region. Empty until the first try has ended, `unknown` after a try without an answer.
    """

    def __init__(self, url: str, name: str | None = None, bandwidth: float | None = None) -> None:
        self.name = name or ("" if url else UNKNOWN_NETWORK)
        self._url = url
        self._stated_name = name
        self._bytes_per_second = bandwidth
        self._loop = Worker("instance_metadata", self._ask, interval=lambda: _NEXT_TRY_S)

    def start(self) -> None:
        """Start to ask, if there is a URL. For errors see `Worker.start`."""
        if self._url:
            self._loop.start()

    def stop(self) -> None:
        """End the waits between two tries. A try under way is left to its daemon thread."""
        self._loop.stop(0.0)

    def families(self) -> Iterator[Metric]:
        """Return the metric. Empty if the bandwidth is unknown."""
        if self._bytes_per_second is not None:
            yield family("fss_client_network_bytes_per_second_limit", [((), self._bytes_per_second)])

    def _ask(self) -> None:
        try:
            metadata = read_instance_metadata(self._url, _DEADLINE_S)
            if metadata is not None:
                if self._bytes_per_second is None:
                    self._bytes_per_second = metadata.network_bytes_per_second
                self.name = self._stated_name or metadata.region or UNKNOWN_NETWORK
                raise EndLoop
        finally:
            self.name = self.name or UNKNOWN_NETWORK  # also after an unexpected error, so that the mounts have series
