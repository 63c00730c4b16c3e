"""A demo region: an HTTP service on the loopback interface that is taken for one OCI region by the SDK and the CLI."""

import threading
import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Self

from cheroot.wsgi import Server

from fss_exporter.demo.region.account import Account
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.alarms import AlarmBook
from fss_exporter.demo.region.bodies import Bodies
from fss_exporter.demo.region.control import Knobs, with_control
from fss_exporter.demo.region.faults import Fault, FaultBoard, parse_fault
from fss_exporter.demo.region.feed import Feed
from fss_exporter.demo.region.filestorage import FILESTORAGE
from fss_exporter.demo.region.inventory import Inventory
from fss_exporter.demo.region.landscape import Landscape
from fss_exporter.demo.region.metric_details import Limits
from fss_exporter.demo.region.monitoring import Monitoring
from fss_exporter.demo.region.neighbour_metrics import BLOCK, LUSTRE
from fss_exporter.demo.region.neighbours import Neighbours
from fss_exporter.demo.region.posting import Posting
from fss_exporter.demo.region.request import Request
from fss_exporter.demo.region.signature import verify
from fss_exporter.demo.region.small import small
from fss_exporter.demo.region.tenancy import Tenancy
from fss_exporter.demo.region.throttle import CALLS_PER_SECOND, Throttle
from fss_exporter.demo.region.wire import Application
from fss_exporter.errors import UsageError

NAMESPACES = (FILESTORAGE, LUSTRE, BLOCK)
_THREADS = 16


class _Quiet(Server):
    """A server that does not write to stderr what a client did to its connection, and that stops at once."""

    expiration_interval = 0.05

    def error_log(self, msg: str = "", level: int = 20, traceback: bool = False) -> None:
        """Drop it: the application logs what matters."""


class Region:
    """One region of one tenancy, and what may go wrong with it.

    Args:
        tenancy: what it holds; the small demo tenancy by default.
        account: whose signature it accepts; a fresh key by default.
        now: the time of the data, epoch seconds. Tests turn it by hand.
        wall: the time that signatures are checked against, epoch seconds.
        limits: documented limits, lower ones in tests.
        calls_per_second: by family of operations; an empty mapping throttles nobody.
        seed: another seed, other noise and other gaps.
    """

    def __init__(
        self,
        tenancy: Tenancy | None = None,
        *,
        account: Account | None = None,
        now: Callable[[], float] = time.time,
        wall: Callable[[], float] = time.time,
        limits: Limits | None = None,
        calls_per_second: Mapping[str, int] = CALLS_PER_SECOND,
        seed: int = 0,
    ) -> None:
        self.tenancy = tenancy or small()
        self.account = account or Account.generate(self.tenancy.id)
        self._now = now
        self._wall = wall
        self._faults = FaultBoard()
        self._activity = Activity(self.tenancy, seed)
        self._feed = Feed(self._activity, NAMESPACES, self._faults, seed)
        limits = limits or Limits()
        self._monitoring = Monitoring(self._activity, self._feed, now, limits)
        services = (
            Inventory(self._activity, Bodies(self._activity, now), limits.page),
            Landscape(self._activity, limits.page),
            Neighbours(self._activity, limits.page),
            self._monitoring,
            Posting(self.tenancy, self._feed, now, limits.posted_streams),
            AlarmBook(self.tenancy, self._monitoring, now, limits.alarms),
        )
        self.operations = tuple(operation for service in services for operation in service.operations())
        self.application = Application(
            self.operations,
            gate=self._check_signature,
            throttle=Throttle(calls_per_second, time.monotonic),
            faults=self._faults,
        )
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    def _check_signature(self, request: Request, skew: float) -> None:
        verify(self.account, request, self._wall() + skew)

    # -- the service

    def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one. A bounded number of threads answers.

        Raises:
            OSError: the address cannot be listened on.
        """
        knobs = Knobs(self.faults, self.add_fault, self.clear_faults, self.set_load, lambda: self.calls)
        server = _Quiet(
            (host, port), with_control(self.application, knobs), numthreads=_THREADS, max=_THREADS, shutdown_timeout=1
        )
        server.prepare()
        self.application.stopping.clear()
        self._server = server
        self._thread = threading.Thread(target=server.serve, name="demo-region", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close every connection; slow answers are cut short."""
        if self._server is not None:
            self.application.stopping.set()
            self._server.stop()
            if self._thread is not None:
                self._thread.join(timeout=2)
            self._server = self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`: the service endpoint of every API it serves."""
        if self._server is None:
            raise RuntimeError("the region is not started")
        host, port = self._server.bind_addr
        return f"http://{host}:{port}"

    @property
    def calls(self) -> Mapping[str, int]:
        """Requests by operation since the start, refused ones included."""
        return self.application.calls

    # -- what it holds

    @property
    def minute(self) -> int:
        """The current minute of the data, epoch seconds // 60."""
        return int(self._now() // 60)

    def truth(self, metric: str, resource: str, minute: int, **dimensions: str) -> float | None:
        """What the region publishes for one stream and minute, whenever it arrives; None if it never publishes a point.

        Args:
            metric: documented name, without regard to case.
            resource: display name or OCID of the emitting resource (`resourceId`).
            minute: epoch seconds // 60 of the point's timestamp.
            dimensions: further dimensions, as many as tell the stream from the others.

        Raises:
            LookupError: no stream, or several, fit.
        """
        resource_id = self.tenancy.named(resource)
        found = [
            (number, stream)
            for namespace in NAMESPACES
            for row in namespace.rows
            if row.name.lower() == metric.lower()
            for number, stream in self._feed.streams(namespace.name, row)
            if stream.resource_id == resource_id
            if dimensions.items() <= stream.dimensions.items()
        ]
        if len(found) != 1:
            raise LookupError(f"{len(found)} streams of {metric} fit {resource} {dimensions}")
        number, stream = found[0]
        return self._feed.published(number, stream, minute)

    # -- what goes wrong, and what changes

    def add_fault(self, fault: str | Fault) -> None:
        """Set a fault, from now on; as text, see `faults.parse_fault`.

        Raises:
            UsageError: the text is no fault, or no operation of the region is called so.
        """
        fault = parse_fault(fault) if isinstance(fault, str) else fault
        if not any(fnmatchcase(operation.name, fault.operation) for operation in self.operations):
            names = ", ".join(sorted(operation.name for operation in self.operations))
            raise UsageError(f"fault '{fault}': no operation {fault.operation!r}; there are {names}")
        if fault.kind == "delete":
            self.delete(fault.resource)
        else:
            self._faults.add(fault, self.minute)

    def clear_faults(self) -> None:
        """Heal everything but what is deleted."""
        self._faults.clear(self.minute)

    def faults(self) -> list[Fault]:
        """What is set now."""
        return self._faults.active()

    def set_load(self, mount_target: str, factor: float) -> None:
        """From this minute on, clients of a mount target (name or OCID) ask `factor` times their usual traffic.

        Raises:
            LookupError: there is no such mount target.
            ValueError: the factor is negative or absurd.
        """
        self._activity.scale(self.tenancy.named(mount_target), factor, self.minute)

    def delete(self, resource: str) -> None:
        """A resource (name or OCID) is gone: no list shows it, it publishes nothing, ListMetrics remembers it.

        Raises:
            LookupError: there is no such resource.
        """
        self._activity.remove(self.tenancy.named(resource), self.minute)
