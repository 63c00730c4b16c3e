"""A demo region that checks signatures and alarms, takes posted metrics, and spoils answers on demand."""

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tests.region.alarms_api import AlarmsApi, RegionLimits
from tests.region.signature import verify
from tests.region.throttle import CALLS_PER_SECOND, Throttle

from fss_toolbox.demo.region import Region as DemoRegion, Tenancy
from fss_toolbox.demo.region.alarms_api import AlarmsApi as DemoAlarmsApi
from fss_toolbox.demo.region.api_operations import ApiOperation
from fss_toolbox.demo.region.demo_tenancy import RequestMix
from fss_toolbox.demo.region.faults import DEMO_KINDS, FaultKinds
from fss_toolbox.demo.region.metric_streams import published_metrics
from fss_toolbox.demo.region.point_store import PointStore
from fss_toolbox.demo.region.wire import ApiRequest

SPOILT: Mapping[str, bytes | None] = {
    "cut-off": None,
    "not-json": b"<html><body>Bad gateway</body></html>",
    "wrong-shape": b'{"items":{"unexpected":true}}',
    "empty": b"[]",
}
KINDS = FaultKinds(
    wire={
        **DEMO_KINDS.wire,
        "cut-off": "the connection breaks in the middle of the answer",
        "not-json": "the answer is a page of HTML",
        "wrong-shape": "the answer is JSON, of another shape",
        "empty": "a listing has no row",
        "clock-skew": "the service's clock is `seconds` (600) ahead, so every signature is too old",
    },
    data={
        **DEMO_KINDS.data,
        "name-case": "metric names are spelt `BySize` where the documentation says `bySize`",
    },
    seconds={**DEMO_KINDS.seconds, "clock-skew": 600.0},
)


class SpeltPoints(PointStore):
    """Points of metrics whose names another spelling may have."""

    def spelling(self, name: str, now: float) -> str:
        return name.replace("bySize", "BySize") if self._faults.spoiling("name-case", int(now // 60)) else name


class Region(DemoRegion):
    """A region that believes no request without the account's signature.

    Args:
        tenancy: the resources.
        wall: the time that signatures are checked against, epoch seconds.
        calls_per_second: by family of operations. An empty mapping throttles no call.
        limits: documented limits, or lower limits.
        options: as for the demo region.
    """

    fault_kinds: ClassVar[FaultKinds] = KINDS
    point_store: ClassVar[type[PointStore]] = SpeltPoints
    alarms_api: ClassVar[type[DemoAlarmsApi]] = AlarmsApi

    def __init__(
        self,
        tenancy: Tenancy | None = None,
        *,
        wall: Callable[[], float] = time.time,
        calls_per_second: Mapping[str, int] = CALLS_PER_SECOND,
        limits: RegionLimits | None = None,
        **options: Any,
    ) -> None:
        super().__init__(tenancy, limits=limits or RegionLimits(), **options)
        self._wall = wall
        self._throttle = Throttle(calls_per_second)

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
        resource_id = resource if resource.startswith("ocid1.") else self.tenancy.named(resource)
        streams = [
            stream
            for published in published_metrics()
            if published.name.lower() == metric.lower()
            for stream in self.store.streams(published)
            if stream.resource_id == resource_id and dimensions.items() <= stream.dimensions.items()
        ]
        if len(streams) != 1:
            raise LookupError(f"{len(streams)} streams of {metric} fit {resource} {dimensions}")
        return self.store.published(streams[0], minute)

    def record(self, mount_target: str, minute: int, requests: RequestMix) -> None:
        """Add requests of one minute to the first export of a mount target."""
        self._activity.charge(self.tenancy.named(mount_target), minute, requests)

    def admit(self, operation: ApiOperation, request: ApiRequest) -> None:
        """Check the signature and the calls of the last second."""
        skew = self.fault_board.strike({"clock-skew"}, operation.name, request.text)
        verify(self.account, request, self._wall() + (skew.seconds if skew else 0.0))
        self._throttle(operation.family)

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
