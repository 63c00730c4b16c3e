"""Turning a region's knobs while it runs: `/control` on its own port, for whoever is on this machine.

    curl -H 'content-type: application/json' -d '{"fault": "503:List*,times=3"}' http://127.0.0.1:PORT/control/faults
    curl -X DELETE http://127.0.0.1:PORT/control/faults
    curl -H 'content-type: application/json' -d '{"mountTarget": "mt-home", "factor": 0.5}' http://127.0.0.1:PORT/control/loads

It asks for no signature, so it listens to the loopback interface only and refuses what a web page could send.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.faults import Fault, FaultBoard
from fss_exporter.demo.region.metric_details import Text
from fss_exporter.demo.region.request import Request
from fss_exporter.demo.region.wire import Answer, Application, Call, Message, Operation
from fss_exporter.errors import UsageError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PREFIX = "/control"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class FaultDetails(Message):
    """Body of AddFault."""

    fault: Text


class LoadDetails(Message):
    """Body of SetLoad."""

    mount_target: Text
    factor: float


@dataclass(frozen=True, slots=True)
class Knobs:
    """What can be turned.

    Attributes:
        faults: what is set.
        add_fault: set one, given as text.
        clear_faults: heal everything.
        set_load: mount target and factor.
        calls: requests by operation.
    """

    faults: Callable[[], Iterable[Fault]]
    add_fault: Callable[[str], None]
    clear_faults: Callable[[], None]
    set_load: Callable[[str, float], None]
    calls: Callable[[], Mapping[str, int]]

    def operations(self) -> tuple[Operation, ...]:
        """What `/control` serves."""
        return (
            Operation("Show", "GET", PREFIX, self._show),
            Operation("AddFault", "POST", f"{PREFIX}/faults", self._add_fault, body=FaultDetails),
            Operation("ClearFaults", "DELETE", f"{PREFIX}/faults", self._clear),
            Operation("SetLoad", "POST", f"{PREFIX}/loads", self._set_load, body=LoadDetails),
        )

    def _show(self, _: Call) -> Answer:
        return Answer({"faults": [str(fault) for fault in self.faults()], "calls": dict(self.calls())})

    def _add_fault(self, call: Call) -> Answer:
        details: FaultDetails = call.body
        try:
            self.add_fault(details.fault)
        except (UsageError, LookupError) as wrong:
            raise refusal.invalid(str(wrong)) from None
        return self._show(call)

    def _clear(self, call: Call) -> Answer:
        self.clear_faults()
        return self._show(call)

    def _set_load(self, call: Call) -> Answer:
        details: LoadDetails = call.body
        try:
            self.set_load(details.mount_target, details.factor)
        except (LookupError, ValueError) as wrong:
            raise refusal.invalid(str(wrong)) from None
        return self._show(call)


def _from_this_machine(request: Request, _: float) -> None:
    """A page of a browser can neither set this type without asking first nor keep its own name out of Host."""
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname
    if host not in _LOOPBACK or "origin" in request.headers:
        raise refusal.not_authenticated("Only for clients on this machine.")
    if request.method == "POST" and request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise refusal.invalid("header content-type must be application/json")


def with_control(application: "WSGIApplication", knobs: Knobs) -> "WSGIApplication":
    """The application of a region with `/control` beside it."""
    control = Application(knobs.operations(), gate=_from_this_machine, throttle=lambda _: None, faults=FaultBoard())

    def dispatch(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        mine = environ["PATH_INFO"] == PREFIX or environ["PATH_INFO"].startswith(f"{PREFIX}/")
        return (control if mine else application)(environ, start_response)

    return dispatch
