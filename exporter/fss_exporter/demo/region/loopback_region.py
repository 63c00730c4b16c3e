"""A demo region: an HTTP service on the loopback interface that answers the SDK and the CLI as one OCI region.

`/control` turns the knobs of a running region:

    curl -H 'content-type: application/json' -d '{"fault": "503:List*,times=3"}' http://127.0.0.1:PORT/control/faults
    curl -X DELETE http://127.0.0.1:PORT/control/faults
    curl -H 'content-type: application/json' -d '{"mountTarget": "mt-home", "factor": 0.5}' http://127.0.0.1:PORT/control/loads

The region checks no signature, so it listens to the loopback interface only. `/control` refuses requests of web pages.
"""

import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import ClassVar, Self

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.alarms_api import AlarmsApi
from fss_exporter.demo.region.api_operations import ApiAnswer, ApiOperation, Call, operations
from fss_exporter.demo.region.demo_account import DemoAccount
from fss_exporter.demo.region.demo_tenancy import Tenancy
from fss_exporter.demo.region.faults import Fault, FaultBoard, FaultKinds
from fss_exporter.demo.region.http_listener import HttpListener
from fss_exporter.demo.region.inventory_api import InventoryApi
from fss_exporter.demo.region.monitoring_api import MonitoringApi, RegionLimits
from fss_exporter.demo.region.point_store import PointStore
from fss_exporter.demo.region.tenancies import small
from fss_exporter.demo.region.wire import CALLS_PER_SECOND, ApiRequest, Dispatcher, Throttle, headers_of
from fss_exporter.errors import UsageError


class Region:
    """One region of one tenancy, with faults on demand.

    Args:
        tenancy: the resources. The small demo tenancy by default.
        account: the user whose credentials are written down. A fresh key by default.
        now: the time of the data, epoch seconds. Tests turn it by hand.
        limits: documented limits, lower ones in tests.
        calls_per_second: by family of operations. An empty mapping throttles no call.
    """

    fault_kinds: ClassVar[FaultKinds] = FaultKinds()

    def __init__(
        self,
        tenancy: Tenancy | None = None,
        *,
        account: DemoAccount | None = None,
        now: Callable[[], float] = time.time,
        limits: RegionLimits | None = None,
        calls_per_second: Mapping[str, int] = CALLS_PER_SECOND,
    ) -> None:
        self.tenancy = tenancy or small()
        self.account = account or DemoAccount.generate(self.tenancy.id)
        self._now = now
        self.fault_board = FaultBoard()
        self._activity = Activity(self.tenancy)
        self.store = PointStore(self._activity, self.fault_board)
        limits = limits or RegionLimits()
        monitoring = MonitoringApi(self._activity, self.store, now, limits)
        handlers = {
            **dict(InventoryApi(self._activity, now, limits.page).handlers()),
            **monitoring.handlers(),
            **AlarmsApi(self.tenancy, monitoring, now, limits.alarms).handlers(),
            "Show": self._show,
            "AddFault": self._add_fault,
            "ClearFaults": self._clear,
            "SetLoad": self._set_load,
        }
        served = operations(handlers)
        self.operations = tuple(operation for operation in served if not operation.is_control)
        self._dispatcher = Dispatcher(served, self.fault_board, Throttle(calls_per_second), self.admit)
        self._listener = HttpListener(self.respond)

    # -- requests

    def admit(self, operation: ApiOperation, request: ApiRequest) -> None:
        """Refuse a request before it counts against a limit. The demo admits every request."""

    def respond(self, request: ApiRequest) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer to a request."""
        operation, answer = self._dispatcher.answer(request)
        headers = headers_of(answer, answer.content, request.headers.get("opc-request-id", ""))
        return answer.status, headers, self.spoil(operation, request, headers, answer.content)

    def spoil(self, _o: ApiOperation | None, _r: ApiRequest, _headers: dict[str, str], content: bytes) -> bytes:
        """Return the body that is sent, and headers changed in place. The demo changes nothing."""
        return content

    def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen. Port 0 takes a free one. Raises OSError where the address cannot be listened on."""
        self._dispatcher.stopping.clear()
        self._listener.start(host, port)

    def stop(self) -> None:
        """Close every connection. Slow answers are cut short."""
        self._dispatcher.stopping.set()
        self._listener.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`: the service endpoint of every API of the region."""
        return self._listener.url

    @property
    def calls(self) -> Mapping[str, int]:
        """Requests by operation since the start, refused ones included."""
        return self._dispatcher.calls

    # -- data

    @property
    def minute(self) -> int:
        """The current minute of the data, epoch seconds // 60."""
        return int(self._now() // 60)

    # -- faults and load

    def add_fault(self, fault: str | Fault) -> None:
        """Set a fault, from now on. Text is read by `FaultKinds.parse`.

        Raises:
            UsageError: the text is no fault, or the region has no such operation.
            LookupError: the resource to delete does not exist.
        """
        fault = self.fault_kinds.parse(fault) if isinstance(fault, str) else fault
        if not any(fnmatchcase(operation.name, fault.operation) for operation in self.operations):
            names = ", ".join(sorted(operation.name for operation in self.operations))
            raise UsageError(f"fault '{fault}': no operation {fault.operation!r}; there are {names}")
        if fault.kind == "delete":
            self.delete(fault.resource)
        else:
            self.fault_board.add(fault, self.minute if fault.kind in self.fault_kinds.data else None)

    def clear_faults(self) -> None:
        """Heal every fault. Deleted resources stay deleted."""
        self.fault_board.clear(self.minute)

    def faults(self) -> list[Fault]:
        """Return the faults that are set now."""
        return self.fault_board.active()

    def set_load(self, mount_target: str, factor: float) -> None:
        """From this minute on, clients of a mount target (name or OCID) ask `factor` times their usual requests.

        Raises:
            LookupError: there is no such mount target.
            ValueError: the factor is negative or above 1000.
        """
        self._activity.scale(self.tenancy.named(mount_target), factor, self.minute)

    def delete(self, resource: str) -> None:
        """Remove a resource (name or OCID): no list shows it, it publishes nothing, ListMetrics remembers it.

        Raises:
            LookupError: there is no such resource.
        """
        self._activity.remove(self.tenancy.named(resource), self.minute)

    # -- /control

    def _show(self, _: Call) -> ApiAnswer:
        return ApiAnswer({"faults": [str(fault) for fault in self.faults()], "calls": dict(self.calls)})

    def _add_fault(self, call: Call) -> ApiAnswer:
        return self._turn(call, lambda: self.add_fault(call.body.fault))

    def _clear(self, call: Call) -> ApiAnswer:
        return self._turn(call, self.clear_faults)

    def _set_load(self, call: Call) -> ApiAnswer:
        return self._turn(call, lambda: self.set_load(call.body.mount_target, call.body.factor))

    def _turn(self, call: Call, act: Callable[[], None]) -> ApiAnswer:
        try:
            act()
        except (UsageError, LookupError, ValueError) as wrong:
            raise refusal.invalid(str(wrong)) from None
        return self._show(call)
