"""The seam of alarms and doctor: calls of any operation with parsed JSON as answers. The poller uses `cloud_client`."""

from collections.abc import Iterator
from typing import Any, Protocol


class RawCalls(Protocol):
    """Implemented by `oci.client.Session`."""

    region: str
    tenancy_id: str

    def call(self, service: str, operation: str, *arguments: object, **options: object) -> Any:
        """One operation; the answer has `data` and `headers`."""

    def pages(self, service: str, operation: str, *arguments: object, **options: object) -> Iterator[list[Any]]:
        """Every page of a listing."""
