# SPDX-License-Identifier: Apache-2.0
"""HTTP to calls of API operations and back: checked parameters, error bodies, request ids, pages.

Documented in "REST APIs" and "API Errors": `opc-request-id` on every answer, `{"code", "message"}` on every error,
`limit`, `page` and `opc-next-page` on lists, `etag` on single resources.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import uuid4

from pydantic import BaseModel, ValidationError

from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.api_operations import ApiAnswer, ApiOperation, Call
from fss_toolbox.demo.region.refusal import Refusal


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One HTTP request. `target` is path and query as sent. `headers` are by lower-case name."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The decoded path."""
        return unquote(self.target.partition("?")[0])

    @property
    def text(self) -> str:
        """Target and body, for `match` of a fault."""
        return self.target + self.body.decode("utf-8", "replace")


def check_control(request: ApiRequest) -> None:
    """Refuse web pages: they can neither set this content type without asking first nor keep their own name out of Host."""
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname
    if host not in ("127.0.0.1", "localhost", "::1") or "origin" in request.headers:
        raise refusal.not_authenticated("Only for clients on this machine.")
    if request.method == "POST" and request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise refusal.invalid("header content-type must be application/json")


def refused(no: Refusal) -> ApiAnswer:
    """Return the error body of a refusal."""
    return ApiAnswer({"code": no.code, "message": no.message}, no.status)


def headers_of(answer: ApiAnswer, content: bytes, given_id: str, now: float) -> dict[str, str]:
    """Return the headers of an answer at `now`, epoch seconds. The request id begins with the id of the client."""
    request_id = "/".join(filter(None, (given_id, uuid4().hex.upper(), uuid4().hex.upper())))
    kind = {"content-type": "application/json"} if content else {}
    return {
        "date": formatdate(now, usegmt=True),
        **answer.headers,
        "opc-request-id": request_id,
        "content-length": str(len(content)),
        **kind,
    }


def checked(operation: ApiOperation, path: Mapping[str, str], request: ApiRequest) -> Call:
    """Return a request as a call of an operation, or raise the Refusal of a wrong parameter or field."""
    pairs = dict(parse_qsl(request.target.partition("?")[2], keep_blank_values=True))
    parameters = _parsed(lambda: operation.query.model_validate(pairs), "query parameter")
    model = operation.body
    details = _parsed(lambda: model.model_validate_json(request.body, strict=True), "field") if model else None
    return Call(path, parameters, details, request.headers)


def _parsed(read: Callable[[], BaseModel], what: str) -> BaseModel:
    """Return the model. A Refusal names the first mistake, missing fields before wrong ones."""
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


def paged(items: Sequence[object], query: Any, largest: int) -> ApiAnswer:
    """Return one page of a list. A page may be shorter than `limit` although more follow, documented: "List Pagination"."""
    token = "0" if query.page is None else query.page
    start = int(token) if token.isdecimal() else len(items) + 1
    if start > len(items):
        raise refusal.invalid("query parameter page is not one this list gave out")
    end = start + min(query.limit or largest, largest)
    return ApiAnswer(list(items[start:end]), headers={"opc-next-page": str(end)} if end < len(items) else {})
