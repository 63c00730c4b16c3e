"""HTTP to operations and back: routes, signatures, limits, faults, error bodies, request ids, pages. A WSGI application.

Documented in "REST APIs" and "API Errors": `opc-request-id` on every answer, `{"code", "message"}` on every error,
`limit`, `page` and `opc-next-page` on lists, `etag` on single resources.
"""

import json
import logging
import re
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from errno import ECONNRESET
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.faults import Fault, FaultBoard
from fss_exporter.demo.region.refusal import Refusal
from fss_exporter.demo.region.request import Request

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_LOG = logging.getLogger(__name__)


class Message(BaseModel):
    """What a client sends, in the API's camelCase; fields the API does not have are refused."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, validate_by_name=False, allow_inf_nan=False
    )


class Page(Message):
    """Query parameters of every list."""

    limit: int | None = Field(default=None, ge=1, le=4096)
    page: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A request that passed every check.

    Attributes:
        path: the variable parts of the path by name.
        query: the query parameters, of the operation's model.
        body: the body, of the operation's model; None without.
        headers: by lower-case name.
    """

    path: Mapping[str, str]
    query: Any
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operation answers: a JSON body (None for none), and headers beyond the usual ones."""

    body: object = None
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """One API operation.

    Attributes:
        name: as the API reference names it, e.g. `ListMountTargets`.
        method: HTTP method.
        path: with the API version, variable parts in braces.
        handle: what it does.
        query: model of its query parameters.
        body: model of its body; None if it has none.
        family: operations of one family share a limit of calls a second; empty where none is documented.
    """

    name: str
    method: str
    path: str
    handle: Callable[[Call], Answer]
    query: type[Message] = Message
    body: type[Message] | None = None
    family: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches the path."""
        return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path)))


Gate = Callable[[Request, float], None]
"""The request and how many seconds the clock is off -> nothing, or Refusal."""


class Application:
    """The WSGI application of a region.

    Args:
        operations: what it serves.
        gate: checks the signature.
        throttle: counts a call of a family; raises Refusal when there are too many a second.
        faults: what goes wrong.
    """

    def __init__(
        self, operations: Iterable[Operation], *, gate: Gate, throttle: Callable[[str], None], faults: FaultBoard
    ) -> None:
        self._routes = [(operation.pattern, operation) for operation in operations]
        self._gate = gate
        self._throttle = throttle
        self._faults = faults
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()
        self.stopping = threading.Event()

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer one request."""
        given = environ.get("HTTP_OPC_REQUEST_ID", "")
        request_id = "/".join(filter(None, (given, uuid4().hex.upper(), uuid4().hex.upper())))
        operation, request = None, None
        try:
            request = Request.read(environ)
            operation, path = self._route(request)
            with self._lock:
                self.calls[operation.name] += 1
            answer = self._answer(operation, path, request)
        except Refusal as no:
            answer = _refused(no)
        except Exception:  # noqa: BLE001 - whatever broke in here is a 500 to the client, and in the log
            _LOG.exception("%s %s failed", environ["REQUEST_METHOD"], environ["PATH_INFO"])
            answer = _refused(refusal.internal_error())
        spoilt = self._faults.strike(_SPOILT, operation.name, request.text) if operation and request else None
        return _send(answer, spoilt, request_id, start_response)

    def _route(self, request: Request) -> tuple[Operation, Mapping[str, str]]:
        known = False
        for pattern, operation in self._routes:
            if found := pattern.fullmatch(request.path):
                if operation.method == request.method:
                    return operation, found.groupdict()
                known = True
        raise refusal.method_not_allowed(request.method) if known else refusal.no_such_operation(request.path)

    def _answer(self, operation: Operation, path: Mapping[str, str], request: Request) -> Answer:
        skew = self._faults.strike(("clock-skew",), operation.name, request.text)
        self._gate(request, skew.seconds if skew else 0.0)
        if operation.family:
            self._throttle(operation.family)
        self._fail_on_demand(operation.name, request.text)
        parameters = _parsed(lambda: operation.query.model_validate(_pairs(request.query)), "query parameter")
        model = operation.body
        details = _parsed(lambda: model.model_validate_json(request.body, strict=True), "field") if model else None
        return operation.handle(Call(path, parameters, details, request.headers))

    def _fail_on_demand(self, name: str, text: str) -> None:
        if slow := self._faults.strike(("slow",), name, text):
            self.stopping.wait(slow.seconds)
        if struck := self._faults.strike(_FAILURES, name, text):
            refuse = _FAILURES[struck.kind]
            raise refuse()


_FAILURES: Mapping[str, Callable[[], Refusal]] = {
    "429": refusal.throttled,
    "500": refusal.internal_error,
    "503": refusal.unavailable,
    "deny": refusal.not_authorized_or_not_found,
}
_SPOILT: Mapping[str, tuple[bytes, str]] = {
    "cut-off": (b"", "application/json"),
    "not-json": (b"<html><body>Bad gateway</body></html>", "text/html"),
    "wrong-shape": (b'{"items":{"unexpected":true}}', "application/json"),
}


def _refused(no: Refusal) -> Answer:
    return Answer({"code": no.code, "message": no.message}, no.status)


def _send(answer: Answer, spoilt: Fault | None, request_id: str, start_response: "StartResponse") -> Iterable[bytes]:
    content = b"" if answer.body is None else json.dumps(answer.body, separators=(",", ":")).encode()
    kind = "application/json"
    if spoilt is not None and spoilt.kind != "cut-off":
        content, kind = _SPOILT[spoilt.kind]
    headers = [*answer.headers.items(), ("opc-request-id", request_id), ("content-length", str(len(content)))]
    if content:
        headers.append(("content-type", kind))
    start_response(f"{answer.status.value} {answer.status.phrase}", headers)
    return _cut_off(content) if spoilt is not None and spoilt.kind == "cut-off" else [content]


def _cut_off(content: bytes) -> Iterator[bytes]:
    """Half of it, then the connection closes; the server takes a reset for the client's doing and says nothing."""
    yield content[: len(content) // 2]
    raise ConnectionResetError(ECONNRESET, "cut off on demand")


def _pairs(query: str) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if repeated:
        raise refusal.invalid(f"query parameter {repeated[0]} is given more than once")
    return dict(pairs)


def _parsed(read: Callable[[], Message], what: str) -> Message:
    """The first mistake decides, missing ones before wrong ones."""
    try:
        return read()
    except ValidationError as wrong:
        mistakes = wrong.errors(include_url=False, include_context=False, include_input=False)
        if mistakes[0]["type"] == "json_invalid":
            raise refusal.cannot_parse("The body is not JSON.") from None
        mistakes.sort(key=lambda mistake: mistake["type"] != "missing")
        place = ".".join(str(part) for part in mistakes[0]["loc"])
        if mistakes[0]["type"] == "missing":
            raise refusal.missing(f"{what} {place} is required") from None
        raise refusal.invalid(f"{what} {place or 'body'}: {mistakes[0]['msg']}") from None


def paged(items: Sequence[object], query: Page, largest: int) -> Answer:
    """One page of a list. A page may be shorter than `limit` although more follow, documented: "List Pagination"."""
    start = 0 if query.page is None else _offset(query.page)
    if start > len(items):
        raise refusal.invalid("query parameter page is not one this list gave out")
    end = start + min(query.limit or largest, largest)
    headers = {"opc-next-page": _token(end)} if end < len(items) else {}
    return Answer(list(items[start:end]), headers=headers)


def _token(offset: int) -> str:
    return urlsafe_b64encode(f"from:{offset}".encode()).decode()


def _offset(token: str) -> int:
    try:
        word, _, number = urlsafe_b64decode(token.encode()).decode().partition(":")
        if word == "from":
            return max(0, int(number))
    except (NotBase64, ValueError):
        pass
    raise refusal.invalid("query parameter page is not one this service gave out")
