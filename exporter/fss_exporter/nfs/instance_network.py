"""The bandwidth of this instance's network as a metric, read once from the instance metadata."""

import threading
from collections.abc import Iterator
from contextlib import suppress

from fss_exporter.catalogue import Family, family

_DEADLINE_S = 5.0


class InstanceNetwork:
    """The network bandwidth of this instance, stated in bytes per second or from the metadata service at a URL, if any.

    A thread asks the metadata service once, because the answer never changes while an instance runs. A scrape never waits.
    """

    def __init__(self, url: str, stated: float | None = None) -> None:
        self._url = url
        self._bytes_per_second = stated
        self._thread = threading.Thread(target=self._read, name="instance-metadata", daemon=True)

    def start(self) -> None:
        """Start the request, if there is a URL and the system allows a further thread."""
        if self._url:
            with suppress(RuntimeError):
                self._thread.start()

    def families(self, *_: object) -> Iterator[Family]:
        """Return the metric, the same for each answer to a scrape. Empty if the bandwidth is unknown."""
        if self._bytes_per_second is not None:
            yield family("fss_client_network_bytes_per_second_limit", [((), self._bytes_per_second)])

    def _read(self) -> None:
        from fss_exporter.instance_metadata import read_instance_metadata  # noqa: PLC0415  # HTTP clients take 3 MiB

        metadata = read_instance_metadata(self._url, _DEADLINE_S)
        self._bytes_per_second = metadata.network_bytes_per_second if metadata else None
