"""The bandwidth of this instance's network as a metric, read once from the instance metadata."""

import threading
from collections.abc import Iterator

from fss_exporter.catalogue import CATALOGUE, Family, family
from fss_exporter.instance_metadata import read_instance_metadata

_DEADLINE_S = 5.0


class InstanceNetwork:
    """The bandwidth, as soon as the metadata service has answered.

    The answer never changes while an instance runs, so it is asked for once, in a thread: scrapes do not wait for it.

    Args:
        url: of the metadata; empty to ask nothing.
        stated: bytes per second, as the operator states them; None to take the answer.
    """

    def __init__(self, url: str, stated: float | None = None) -> None:
        self._url = url
        self._bytes_per_second = stated
        self._thread = threading.Thread(target=self._read, name="instance-metadata", daemon=True)

    def start(self) -> None:
        """Ask, where there is a URL."""
        if self._url:
            self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait for the answer, at most so long."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def families(self) -> Iterator[Family]:
        """The metric; nothing where the bandwidth is not known."""
        if self._bytes_per_second is not None:
            found = family(CATALOGUE["fss_client_network_bytes_per_second_limit"])
            found.add_metric((), self._bytes_per_second)
            yield found

    def _read(self) -> None:
        metadata = read_instance_metadata(self._url, _DEADLINE_S)
        self._bytes_per_second = metadata.network_bytes_per_second if metadata else None
