# SPDX-License-Identifier: Apache-2.0
"""A demo region: an HTTP service on the loopback interface that answers the SDK and the CLI as one OCI region.

`/control` turns the knobs of a running region:

    curl -H 'content-type: application/json' -d '{"fault": "503:List*,times=3"}' http://127.0.0.1:PORT/control/faults
    curl -X DELETE http://127.0.0.1:PORT/control/faults
    curl -H 'content-type: application/json' -d '{"mountTarget": "mt-home", "factor": 0.5}' http://127.0.0.1:PORT/control/loads
    curl -H 'content-type: application/json' http://127.0.0.1:PORT/control/requests \
        -d '{"mountTarget": "mt-idle", "requests": [{"operation": "READ", "size": 1048576, "count": 12}]}'

The last command charges real requests, as a packet capture or a server counted them, to the present minute. The region checks no signature, so it listens to the loopback interface only. `/control` refuses requests of web pages.
"""

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, ClassVar, Self

from fss_exporter.errors import UsageError
from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.activity import Activity
from fss_toolbox.demo.region.alarms_api import AlarmsApi
from fss_toolbox.demo.region.api_operations import DEMO_TABLE, ApiAnswer, ApiOperation, ApiTable, Call, Handler
from fss_toolbox.demo.region.charges import ChargeTable, RealRequests
from fss_toolbox.demo.region.demo_account import DemoAccount
from fss_toolbox.demo.region.demo_tenancy import Tenancy
from fss_toolbox.demo.region.faults import DEMO_KINDS, Fault, FaultBoard, FaultKinds
from fss_toolbox.demo.region.inventory_api import InventoryApi
from fss_toolbox.demo.region.loopback_server import LoopbackServer
from fss_toolbox.demo.region.monitoring_api import MonitoringApi, RegionLimits
from fss_toolbox.demo.region.point_store import PointStore
from fss_toolbox.demo.region.posted_metrics import PostedMetrics
from fss_toolbox.demo.region.refusal import Refusal
from fss_toolbox.demo.region.tenancies import small
from fss_toolbox.demo.region.wire import ApiRequest, check_control, checked, headers_of, refused

_LOG = logging.getLogger(__name__)

_FAILURES: Mapping[str, Callable[[], Refusal]] = {
    "429": refusal.throttled,
    "500": refusal.internal_error,
    "503": refusal.unavailable,
    "401": partial(refusal.not_authenticated, "The key of the request is not known."),
    "deny": refusal.not_authorized_or_not_found,
}


class Region:
    """One region of one tenancy, with faults on demand. By default the small demo tenancy and a fresh key.

    `now` returns the time of the data, epoch seconds. `limits` are the documented limits of an answer. `charges` has the costs
    of real requests.
    """

    fault_kinds: ClassVar[FaultKinds] = DEMO_KINDS
    activity: ClassVar[type[Activity]] = Activity
    table: ClassVar[ApiTable] = DEMO_TABLE
    point_store: ClassVar[type[PointStore]] = PointStore
    alarms_api: ClassVar[type[AlarmsApi]] = AlarmsApi

    def __init__(
        self,
        tenancy: Tenancy | None = None,
        *,
        account: DemoAccount | None = None,
        now: Callable[[], float] = time.time,
        limits: RegionLimits | None = None,
        charges: ChargeTable | None = None,
    ) -> None:
        self.tenancy = tenancy or small()
        self.account = account or DemoAccount.generate(self.tenancy.id)
        self._now = now
        self._charges = charges or ChargeTable()
        self.fault_board = FaultBoard()
        self._activity = self.activity(self.tenancy)
        self.store = self.point_store(self._activity, self.fault_board)
        limits = limits or RegionLimits()
        monitoring = MonitoringApi(
            self._activity, self.store, now, limits, PostedMetrics(self.tenancy.compartment_ids, now)
        )
        handlers: dict[str, Handler] = {
            **InventoryApi(self._activity, now, limits.page).handlers(),
            **monitoring.handlers(),
            **self.alarms_api(monitoring).handlers(),
            **self._control(),
        }
        served = self.table.operations(handlers)
        self.operations = tuple(operation for operation in served if not operation.is_control)
        self._routes = [(operation.pattern, operation) for operation in served]
        self.calls: Counter[str] = Counter()  # requests by operation since the start, refused ones included
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server: LoopbackServer | None = None

    # -- requests

    def admit(self, operation: ApiOperation, request: ApiRequest) -> None:
        """Refuse a request before it counts against a limit. The demo admits every request."""

    def respond(self, request: ApiRequest) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer to a request."""
        operation, answer = self._answer(request)
        content = b"" if answer.body is None else json.dumps(answer.body, separators=(",", ":")).encode()
        headers = headers_of(answer, content, request.headers.get("opc-request-id", ""), self._now())
        return answer.status, headers, self.spoil(operation, request, headers, content)

    def spoil(self, _o: ApiOperation | None, _r: ApiRequest, _headers: dict[str, str], content: bytes) -> bytes:
        """Return the body that is sent, and headers changed in place. The demo changes nothing."""
        return content

    def _answer(self, request: ApiRequest) -> tuple[ApiOperation | None, ApiAnswer]:
        """Return the operation of a request, where there is one, and the answer."""
        operation = None
        try:
            operation, path = self._route(request)
            if operation.is_control:
                check_control(request)
            else:
                self._count(operation, request)
            return operation, operation.handle(checked(operation, path, request))
        except Refusal as no:
            return operation, refused(no)
        except Exception:  # noqa: BLE001 - any defect of the region is a 500 to the client, and a log line
            _LOG.exception("%s %s failed", request.method, request.path)
            return operation, refused(refusal.internal_error())

    def _route(self, request: ApiRequest) -> tuple[ApiOperation, Mapping[str, str]]:
        has_path = False
        for pattern, operation in self._routes:
            if match := pattern.fullmatch(request.path):
                if operation.method == request.method:
                    return operation, match.groupdict()
                has_path = True
        if has_path:
            raise refusal.method_not_allowed(f"{request.method} is not served at this path.")
        raise refusal.no_such_operation(f"No operation is served at {request.path}.")

    def _count(self, operation: ApiOperation, request: ApiRequest) -> None:
        """Count a request, and let the faults that are set hit the request."""
        with self._lock:
            self.calls[operation.name] += 1
        self.admit(operation, request)
        if slow := self.fault_board.strike({"slow"}, operation.name, request.text):
            self._stopping.wait(slow.seconds)
        if struck := self.fault_board.strike(_FAILURES.keys(), operation.name, request.text):
            refuse = _FAILURES[struck.kind]
            raise refuse()

    # -- the server

    def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen. Port 0 takes a free one. Raises OSError where the address cannot be listened on."""
        self._stopping.clear()
        self._server = LoopbackServer((host, port), self.respond)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="demo-region", daemon=True).start()

    def stop(self) -> None:
        """Close every connection. Slow answers are cut short."""
        self._stopping.set()
        if self._server is not None:
            self._server.close()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`: the service endpoint of every API of the region."""
        if self._server is None:
            raise RuntimeError("the region is not started")
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

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
            raise UsageError(f"fault '{fault}': no operation {fault.operation!r}. Known are {names}")
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

    def move(self, file_system: str, source: str, target: str, share: float) -> None:
        """From this minute on, a share of the clients of a file system uses another mount target. Names or OCIDs.

        Raises:
            LookupError: there is no such resource, or a mount target does not export the file system.
            ValueError: the share is not between 0 and 1.
        """
        named = self.tenancy.named
        self._activity.move(named(file_system), named(source), named(target), share, self.minute)

    def charge(self, mount_target: str, requests: Iterable[RealRequests], minute: int | None = None) -> None:
        """Charge a mount target (name or OCID) with real requests of one minute, by default of the present one.

        Args:
            mount_target: display name or OCID.
            requests: requests that were really sent.
            minute: end of the minute, epoch seconds // 60.

        Raises:
            LookupError: there is no such mount target.
        """
        ends = self.minute + 1 if minute is None else minute
        self._activity.charge(self.tenancy.named(mount_target), ends, self._charges.charged(requests))

    def delete(self, resource: str) -> None:
        """Remove a resource (name or OCID): no list shows it, it publishes nothing, ListMetrics remembers it.

        Raises:
            LookupError: there is no such resource.
        """
        self._activity.remove(self.tenancy.named(resource), self.minute)

    # -- /control

    def _control(self) -> Mapping[str, Handler]:
        def charge(body: Any) -> None:
            requests = [RealRequests(row.operation, row.size, row.count) for row in body.requests]
            self.charge(body.mount_target, requests, body.minute)

        knobs: Mapping[str, Callable[[Any], None]] = {
            "AddFault": lambda body: self.add_fault(body.fault),
            "ClearFaults": lambda _: self.clear_faults(),
            "SetLoad": lambda body: self.set_load(body.mount_target, body.factor),
            "MoveLoad": lambda body: self.move(body.file_system, getattr(body, "from"), body.to, body.share),
            "ChargeRequests": charge,
        }
        return {"Show": self._show, **{name: partial(self._turn, knob) for name, knob in knobs.items()}}

    def _turn(self, knob: Callable[[Any], None], call: Call) -> ApiAnswer:
        try:
            knob(call.body)
        except (UsageError, LookupError, ValueError) as wrong:
            raise refusal.invalid(str(wrong)) from None
        return self._show(call)

    def _show(self, _: Call) -> ApiAnswer:
        return ApiAnswer({"faults": [str(fault) for fault in self.faults()], "calls": dict(self.calls)})
