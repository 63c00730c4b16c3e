"""A demo region that checks signatures and spoils answers on demand."""

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tests.region.signature import verify

from fss_exporter.demo.region import Region as DemoRegion, Tenancy
from fss_exporter.demo.region.api_operations import ApiOperation
from fss_exporter.demo.region.faults import DATA_KINDS, DEFAULT_SECONDS, WIRE_KINDS, FaultKinds
from fss_exporter.demo.region.metric_streams import published_metrics
from fss_exporter.demo.region.requests_per_second import RequestMix
from fss_exporter.demo.region.wire import ApiRequest

SPOILT: Mapping[str, bytes | None] = {
    "cut-off": None,
    "not-json": b"<html><body>Bad gateway</body></html>",
    "wrong-shape": b'{"items":{"unexpected":true}}',
}
KINDS = FaultKinds(
    wire={
        **WIRE_KINDS,
        "cut-off": "the connection breaks in the middle of the answer",
        "not-json": "the answer is a page of HTML",
        "wrong-shape": "the answer is JSON, of another shape",
        "clock-skew": "the service's clock is `seconds` (600) ahead, so every signature is too old",
    },
    data={
        **DATA_KINDS,
        "name-case": "metric names are spelt `BySize` where the documentation says `bySize`",
    },
    seconds={**DEFAULT_SECONDS, "clock-skew": 600.0},
)


class Region(DemoRegion):
    """A region that believes no request without the account's signature.

    Args:
        tenancy: the resources.
        wall: the time that signatures are checked against, epoch seconds.
        options: as for the demo region.
    """

    fault_kinds: ClassVar[FaultKinds] = KINDS

    def __init__(
        self, tenancy: Tenancy | None = None, *, wall: Callable[[], float] = time.time, **options: Any
    ) -> None:
        super().__init__(tenancy, **options)
        self._wall = wall
        self.store.spelling = self._spelling

    def truth(self, metric: str, resource: str, minute: int, **dimensions: str) -> float | None:
        """The value of one stream and minute, whenever it arrives; None for a point that is never published.

        Args:
            metric: documented name, without regard to case.
            resource: display name or OCID of the publishing resource (`resourceId`).
            minute: epoch seconds // 60 of the point's timestamp.
            dimensions: further dimensions, as many as separate the stream from the others.

        Raises:
            LookupError: no stream, or several, fit.
        """
        resource_id = self.tenancy.named(resource)
        found = [
            (number, stream)
            for published in published_metrics()
            if published.name.lower() == metric.lower()
            for number, stream in self.store.streams(published)
            if stream.resource_id == resource_id and dimensions.items() <= stream.dimensions.items()
        ]
        if len(found) != 1:
            raise LookupError(f"{len(found)} streams of {metric} fit {resource} {dimensions}")
        number, stream = found[0]
        return self.store.published(number, stream, minute)

    def record(self, mount_target: str, minute: int, requests: RequestMix) -> None:
        """Add requests of one minute to the first export of a mount target."""
        self._activity.record(self._activity.links_of[self.tenancy.named(mount_target)][0].id, minute, requests)

    def _spelling(self, name: str, minute: int) -> str:
        return name.replace("bySize", "BySize") if self.fault_board.spoiling("name-case", minute) else name

    def admit(self, operation: ApiOperation, request: ApiRequest) -> None:
        """Check the signature."""
        skew = self.fault_board.strike({"clock-skew"}, operation.name, request.text)
        verify(self.account, request, self._wall() + (skew.seconds if skew else 0.0))

    def spoil(
        self, operation: ApiOperation | None, request: ApiRequest, headers: dict[str, str], content: bytes
    ) -> bytes:
        """Replace the body where a fault says so; None in SPOILT is half of the body."""
        fault = self.fault_board.strike(SPOILT.keys(), operation.name, request.text) if operation else None
        if fault is None:
            return content
        spoilt = SPOILT[fault.kind]
        if spoilt is None:
            return content[: len(content) // 2]
        headers["content-length"] = str(len(spoilt))
        return spoilt
