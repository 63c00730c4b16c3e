# SPDX-License-Identifier: Apache-2.0
"""Translate errors of the SDK and of the libraries below into this project's errors. The foreign error stays the cause."""

import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any
from urllib.parse import urlsplit

from circuitbreaker import CircuitBreakerError
from oci.exceptions import ServiceError

from fss_exporter.errors import (
    BrokenAnswer,
    CloudError,
    CredentialsRefused,
    LateAnswer,
    NotAuthorized,
    Throttled,
    TooMuchData,
    Unreachable,
)

_CLOCK_SKEW_SECONDS = 300  # OCI refuses signatures that are five minutes off
_TOO_MUCH = re.compile(r"stream|data ?points|too many|too large|too long|length", re.IGNORECASE)
_CUT_OFF = {"BrokenBody", "TooManyRedirects"}
_LATE = {"ReadTimeout", "ReadTimeoutError"}
_LONGEST_DETAIL = 300  # characters


def translate(
    error: Exception, operation: str, region: str, *, needed: str, ended: str = "", proxy: str = ""
) -> CloudError | None:
    """Return this project's error for an error of the SDK. None for a mistake in the exporter.

    The message names the API operation, the region, and the policy statement that the call needs. `ended` says that the
    session token has ended. Empty if it has not. `proxy` is HOST:PORT of the proxy that the call takes, if any.
    """
    kind: type[CloudError]
    match error:
        case ServiceError():
            return _refused(error, operation, region, needed, ended, _way(proxy))
        case CircuitBreakerError():
            return _not_asked(error, operation, region)
        case OSError() if _wraps_one_of(_CUT_OFF, error):
            kind, reason = BrokenAnswer, f"the answer cannot be used: {_detail(error)}"
        case OSError():  # the SDK's own request errors are such, too
            kind = LateAnswer if _wraps_one_of(_LATE, error) else Unreachable
            reason = f"no answer{_from_host(error, proxy)}: {_detail(error)}"
        case JSONDecodeError():
            kind, reason = BrokenAnswer, "the answer is not JSON"
        case UnicodeDecodeError():
            kind, reason = BrokenAnswer, "the answer is not text"
        case RecursionError():
            kind, reason = BrokenAnswer, "the answer is nested too deep"
        case ValueError() if "endpoint" in str(error):  # the SDK checks the host in each call, before the request
            kind, reason = CloudError, f"check the region and oci.endpoint. The SDK says: {error}"
        case ValueError() if str(error).startswith("Parameter "):  # of an answer before, such as an empty OCID
            kind, reason = BrokenAnswer, f"an earlier answer has no usable identity. The SDK says: {error}"
        case _:
            return None
    return kind(f"{operation} in {region}: {reason}", operation=operation)


def _not_asked(error: CircuitBreakerError, operation: str, region: str) -> CloudError:
    """Return the error for a call that the open circuit breaker held back, with the status of the last call that left."""
    status = getattr(error._circuit_breaker.last_failure, "status", None)  # noqa: SLF001  # it has no public name
    last = "" if status is None else f", the last one HTTP {status}"
    message = f"{operation} in {region}: not asked, after many failures in a row{last}"
    return Unreachable(message, operation=operation, status=status)


def broken(what: str, operation: str, region: str) -> BrokenAnswer:
    """Return the error for an answer with status 200 and an undocumented form."""
    return BrokenAnswer(f"{operation} in {region}: {what}", operation=operation)


def _refused(error: ServiceError, operation: str, region: str, needed: str, ended: str, way: str) -> CloudError:
    said = _short(str(error.message or ""))
    by = _short(str(error.code)) if error.code else f"without an error code of OCI{way}"
    message = f"{operation} in {region}: HTTP {error.status} {by}{f': {said}' if said else ''}"
    about: dict[str, Any] = {"operation": operation, "status": error.status, "request_id": error.request_id or ""}
    if error.status == 429:
        return Throttled(message, **about)
    if error.status == 401 and error.code is not None:
        return CredentialsRefused(f"{message} {ended or _why_unauthenticated(said, error.headers)}", **about)
    if error.status in {403, 404} and error.code is not None:
        return NotAuthorized(f"{message} Perhaps this is missing: {needed}" if needed else message, **about)
    if error.status == 413 or (error.status == 400 and _TOO_MUCH.search(said)):
        return TooMuchData(message, **about)
    if error.status >= 500 or error.code is None:  # without a code it is not OCI that answers
        return BrokenAnswer(message, **about)
    return CloudError(message, **about)


def clock_skew(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that `now` is ahead of the Date header of an answer. None without a readable header."""
    try:
        return now - parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def _why_unauthenticated(said: str, headers: Mapping[str, str]) -> str:
    ahead = clock_skew(headers, time.time()) or 0.0
    if abs(ahead) >= _CLOCK_SKEW_SECONDS:
        return f"This host's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} OCI's: set it."
    if "clock" in said.lower():
        return "This host's clock is not OCI's: set it."
    return "The key, fingerprint, user or tenancy of the credentials is wrong, or the key was deleted."


def _wraps_one_of(names: set[str], error: OSError) -> bool:
    """Compare class names, because the SDK keeps the HTTP library in a private package and wraps the errors."""
    return any(type(inner).__name__ in names for inner in _wrapped(error))


def _from_host(error: OSError, proxy: str) -> str:
    """Return ` from HOST:PORT` of the silent server or proxy. Empty before a server was called."""
    urls = (getattr(getattr(inner, "request", None), "url", None) for inner in _wrapped(error))
    url = next((url for url in urls if isinstance(url, str)), "")
    if not url:
        return ""
    if _wraps_one_of({"ProxyError"}, error):
        return f" from {_named(proxy)}"
    return f" from {urlsplit(url).netloc}{_way(proxy)}"


def _way(proxy: str) -> str:
    """Return ` by way of the proxy HOST:PORT`, which may be what fails. Empty without a proxy."""
    return f" by way of {_named(proxy)}" if proxy else ""


def _named(proxy: str) -> str:
    return f"the proxy {proxy}, which the environment names"


def _detail(error: Exception) -> str:
    """Return the innermost error. The SDK wraps errors of the HTTP library, which wraps errors of the socket."""
    *_, inner = _wrapped(error)
    return f"{type(inner).__name__}: {_short(str(inner))}"


def _wrapped(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, and then each error inside it."""
    yield error
    inner = error.args[0] if error.args and isinstance(error.args[0], Exception) else error.__context__
    while inner is not None:
        yield inner
        inner = inner.__context__


def _short(text: str) -> str:
    """Return a text of outside in one line that UTF-8 can encode, because JSON can escape half a character."""
    flat = " ".join(text.encode(errors="replace").decode().split())
    return flat if len(flat) <= _LONGEST_DETAIL else flat[: _LONGEST_DETAIL - 3] + "..."
