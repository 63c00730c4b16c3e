# SPDX-License-Identifier: Apache-2.0
"""One HTTP GET with a time-out and a size limit, for URLs that an operator gives at the prompt."""

import gzip
import http.client
import io
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from fss_exporter import __version__
from fss_exporter.errors import ConfigError, SourceError
from fss_exporter.instance_metadata import read_body

if TYPE_CHECKING:
    import ssl

_TIMEOUT_S = 10.0

# Bytes. A mount target with 4 file systems is about 50 kB of a page, so this is 5,000 of them. Reading it takes twice as much memory.
_LARGEST_ANSWER = 256 << 20

_WAYS_OUT: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: ". Give headers, a token or a password with --http-config",
    HTTPStatus.NOT_FOUND: ". Is this the right URL?",
}


@dataclass(frozen=True, slots=True)
class Access:
    """What a server wants before it answers. By default nothing."""

    headers: Callable[[], Mapping[str, str]] = dict  # read for each request
    tls: "ssl.SSLContext | None" = None  # None for the authorities of the host


OPEN: Final = Access()


def _in_words(error: BaseException | str) -> str:
    """Return the words of an error without the number that Python puts before them."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def get(url: str, accept: str = "*/*", access: Access = OPEN, seconds: float | None = None) -> str:
    """Return the text at a URL. An answer may take ten seconds, or as many as are given.

    Raises:
        SourceError: there is no answer, the status is not 200, or the answer is too long or not text.
    """
    named, patience = shown(url), seconds or _TIMEOUT_S
    headers = {"User-Agent": f"fss-exporter/{__version__}", "Accept": accept, "Accept-Encoding": "gzip"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  # `check_url` of the flags allows http and https alone
    try:
        for name, value in access.headers().items():
            request.add_unredirected_header(name, value)  # a redirect may lead to another host
        with urllib.request.urlopen(request, timeout=patience, context=access.tls) as answer:  # noqa: S310  # ditto
            if (answer.length or 0) > _LARGEST_ANSWER:
                raise _too_large(named)
            body = read_body(answer, _LARGEST_ANSWER + 1, patience)
            if answer.headers.get("Content-Encoding", "").lower() == "gzip":
                body = _unpacked(body)
    except urllib.error.HTTPError as error:
        raise SourceError(
            f"{named}: HTTP {error.code} {error.reason}{_detail(error)}{_WAYS_OUT.get(error.code, '')}"
        ) from error
    except ConfigError as error:
        raise SourceError(f"{named}: not asked: {error}") from error
    except urllib.error.URLError as error:
        raise SourceError(f"{named}: no answer: {_in_words(error.reason)}") from error
    except (OSError, EOFError, http.client.HTTPException, ValueError, zlib.error) as error:
        raise SourceError(f"{named}: no answer: {_in_words(error)}") from error
    if len(body) > _LARGEST_ANSWER:
        raise _too_large(named)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{named}: the answer is not text") from error


def _too_large(named: str) -> SourceError:
    return SourceError(
        f"{named}: more than {_LARGEST_ANSWER >> 20} MiB. Is this the right URL? "
        "For a fleet of this size use `top --prometheus` or `plan --prometheus`"
    )


def _unpacked(body: bytes) -> bytes:
    """Return the content of a gzip body, cut above the largest answer, because a few kilobytes can unpack to gigabytes.

    Raises:
        EOFError: the body is empty or breaks off.
        gzip.BadGzipFile: the body is not gzip, or something else follows.
        zlib.error: the body is damaged.
    """
    if not body:
        raise EOFError("the compressed answer is empty")
    with gzip.open(io.BytesIO(body)) as content:
        return content.read(_LARGEST_ANSWER + 1)


def shown(url: str) -> str:
    """Return a URL as it may be shown: without the query, which can hold a token."""
    return url.partition("?")[0]


def runbook_at(url: str) -> str:
    """Return the address of the runbook that the exporter of a URL serves: `http://host:10949/runbook`."""
    return urllib.parse.urljoin(shown(url), "/runbook")


def _detail(error: urllib.error.HTTPError) -> str:
    """Return the beginning of the text of a refusal. Empty for a text that breaks off."""
    with suppress(OSError, http.client.HTTPException):
        text = error.read(300).decode("utf-8", "replace").strip()
        return f": {text}" if text else ""
    return ""
