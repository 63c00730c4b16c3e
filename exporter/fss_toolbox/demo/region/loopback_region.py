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
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

from fss_exporter.errors import UsageError
from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.activity import Activity
from fss_toolbox.demo.region.alarms_api import AlarmsApi
from fss_toolbox.demo.region.api_operations import DEMO_TABLE, ApiAnswer, ApiOperation, Call, Handler, OperationTable
from fss_toolbox.demo.region.charges import ChargeTable, RealRequests
from fss_toolbox.demo.region.demo_account import DemoAccount
from fss_toolbox.demo.region.demo_tenancy import Tenancy
from fss_toolbox.demo.region.faults import Fault, FaultBoard, FaultKinds
from fss_toolbox.demo.region.inventory_api import InventoryApi
from fss_toolbox.demo.region.monitoring_api import MonitoringApi, RegionLimits
from fss_toolbox.demo.region.point_store import PointStore
from fss_toolbox.demo.region.posted_metrics import PostedMetrics
from fss_toolbox.demo.region.tenancies import small
from fss_toolbox.demo.region.wire import ApiRequest, Dispatcher, headers_of

Respond = Callable[[ApiRequest], tuple[int, Mapping[str, str], bytes]]


class _ConnectionHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one segment; two would wait for each other's acknowledgement
    server: "_Server"

    def handle(self) -> None:
        self.server.connections.add(self.connection)
        try:
            super().handle()
        except (ConnectionError, ValueError):  # the client, or stop(), closed the connection
            self.close_connection = True
        finally:
            self.server.connections.discard(self.connection)

    def _answer(self) -> None:
        length = self.headers.get("content-length", "0")
        body = self.rfile.read(int(length)) if length.isdecimal() else b""
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, answered, content = self.server.respond(ApiRequest(self.command, self.path, headers, body))
        self.send_response_only(status)  # the region has a clock of its own for the header Date
        for name, value in answered.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        if len(content) < int(answered["content-length"]):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _answer  # noqa: N815 - names of the standard library

    def log_message(self, *_: Any) -> None:
        """Requests are not logged."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], respond: Respond) -> None:
        super().__init__(address, _ConnectionHandler)
        self.respond = respond
        self.connections: set[socket.socket] = set()

    def close(self) -> None:
        """Close the listener and every connection."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with suppress(OSError):  # closed in the meantime
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that closes its connection in the middle of an answer is no error of the region."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Region:
    """One region of one tenancy, with faults on demand. By default the small demo tenancy and a fresh key.

    `now` returns the time of the data, epoch seconds. `limits` are the documented limits of an answer. `charges` has the costs
    of real requests.
    """

    fault_kinds: ClassVar[FaultKinds] = FaultKinds()
    activity: ClassVar[type[Activity]] = Activity
    table: ClassVar[OperationTable] = DEMO_TABLE
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
            **dict(InventoryApi(self._activity, now, limits.page).handlers()),
            **monitoring.handlers(),
            **self.alarms_api(monitoring).handlers(),
            "Show": self._show,
            "AddFault": lambda call: self._turn(call, lambda: self.add_fault(call.body.fault)),
            "ClearFaults": lambda call: self._turn(call, self.clear_faults),
            "SetLoad": lambda call: self._turn(call, lambda: self.set_load(call.body.mount_target, call.body.factor)),
            "MoveLoad": lambda call: self._turn(call, lambda: self._move_body(call.body)),
            "ChargeRequests": lambda call: self._turn(call, lambda: self._charge_body(call.body)),
        }
        served = self.table.operations(handlers)
        self.operations = tuple(operation for operation in served if not operation.is_control)
        self._dispatcher = Dispatcher(served, self.fault_board, self.admit)
        self._server: _Server | None = None

    # -- requests

    def admit(self, operation: ApiOperation, request: ApiRequest) -> None:
        """Refuse a request before it counts against a limit. The demo admits every request."""

    def respond(self, request: ApiRequest) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer to a request."""
        operation, answer = self._dispatcher.answer(request)
        content = b"" if answer.body is None else json.dumps(answer.body, separators=(",", ":")).encode()
        headers = headers_of(answer, content, request.headers.get("opc-request-id", ""), self._now())
        return answer.status, headers, self.spoil(operation, request, headers, content)

    def spoil(self, _o: ApiOperation | None, _r: ApiRequest, _headers: dict[str, str], content: bytes) -> bytes:
        """Return the body that is sent, and headers changed in place. The demo changes nothing."""
        return content

    def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen. Port 0 takes a free one. Raises OSError where the address cannot be listened on."""
        self._dispatcher.stopping.clear()
        self._server = _Server((host, port), self.respond)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="demo-region", daemon=True).start()

    def stop(self) -> None:
        """Close every connection. Slow answers are cut short."""
        self._dispatcher.stopping.set()
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

    def _move_body(self, body: Any) -> None:
        self.move(body.file_system, getattr(body, "from"), body.to, body.share)

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

    def _charge_body(self, body: Any) -> None:
        requests = (RealRequests(row.operation, row.size, row.count) for row in body.requests)
        self.charge(body.mount_target, requests, body.minute)

    def delete(self, resource: str) -> None:
        """Remove a resource (name or OCID): no list shows it, it publishes nothing, ListMetrics remembers it.

        Raises:
            LookupError: there is no such resource.
        """
        self._activity.remove(self.tenancy.named(resource), self.minute)

    # -- /control

    def _show(self, _: Call) -> ApiAnswer:
        return ApiAnswer({"faults": [str(fault) for fault in self.faults()], "calls": dict(self.calls)})

    def _turn(self, call: Call, act: Callable[[], None]) -> ApiAnswer:
        try:
            act()
        except (UsageError, LookupError, ValueError) as wrong:
            raise refusal.invalid(str(wrong)) from None
        return self._show(call)
