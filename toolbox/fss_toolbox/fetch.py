# SPDX-License-Identifier: Apache-2.0
"""One HTTP GET with a time-out and a size limit, for URLs that an operator gives at the prompt."""

import base64
import http.client
import urllib.error
import urllib.parse
import urllib.request
import zlib
from contextlib import suppress
from http import HTTPStatus

from fss_exporter import __version__
from fss_exporter.errors import SourceError
from fss_exporter.instance_metadata import read_body

_TIMEOUT_S = 10.0

# Bytes. A mount target with 4 file systems is about 50 kB of a page, so 5,000 are half of this.
_LARGEST_ANSWER = 512 << 20


def get(url: str, accept: str = "*/*", seconds: float | None = None) -> str:
    """Return the text at a URL. An answer may take ten seconds, or as many as are given.

    Raises:
        SourceError: there is no answer, the status is not 200, or the answer is too long or not text.
    """
    bare, password = _split_password(url)
    headers = {"User-Agent": f"fss-exporter/{__version__}", "Accept": accept, "Accept-Encoding": "gzip"}
    request = urllib.request.Request(bare, headers=headers)  # noqa: S310  # `check_url` of the flags allows http and https alone
    if password:
        request.add_unredirected_header("Authorization", password)  # a redirect may lead to another host
    named, patience = shown(url), seconds or _TIMEOUT_S
    try:
        with urllib.request.urlopen(request, timeout=patience) as answer:  # noqa: S310  # ditto
            body = read_body(answer, _LARGEST_ANSWER + 1, patience)
            if answer.headers.get("Content-Encoding", "").lower() == "gzip":
                body = _unpacked(body)
    except urllib.error.HTTPError as error:
        question = ". Is this the right URL?" if error.code == HTTPStatus.NOT_FOUND else ""
        raise SourceError(f"{named}: HTTP {error.code} {error.reason}{_detail(error)}{question}") from error
    except urllib.error.URLError as error:
        raise SourceError(f"{named}: no answer: {error.reason}") from error
    except (OSError, http.client.HTTPException, ValueError, zlib.error) as error:
        raise SourceError(f"{named}: no answer: {error or type(error).__name__}") from error
    if len(body) > _LARGEST_ANSWER:
        raise SourceError(
            f"{named}: more than {_LARGEST_ANSWER >> 20} MiB. Is this the right URL? "
            "For a fleet of this size use `top --prometheus` or `plan --prometheus`"
        )
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{named}: the answer is not text") from error


def _unpacked(body: bytes) -> bytes:
    """Return the content of a gzip body, cut above the largest answer, because a few kilobytes can unpack to gigabytes.

    Raises:
        ValueError: the body breaks off.
        zlib.error: the body is not gzip.
    """
    unpacking = zlib.decompressobj(wbits=31)
    content = unpacking.decompress(body, _LARGEST_ANSWER + 1)
    if not unpacking.eof and len(content) <= _LARGEST_ANSWER:
        raise ValueError("the compressed answer is cut off")
    return content


def shown(url: str) -> str:
    """Return a URL as it may be shown: without user, password and query."""
    return _split_password(url)[0].partition("?")[0]


def _detail(error: urllib.error.HTTPError) -> str:
    """Return the beginning of the text of a refusal. Empty for a text that breaks off."""
    with suppress(OSError, http.client.HTTPException):
        text = error.read(300).decode("utf-8", "replace").strip()
        return f": {text}" if text else ""
    return ""


def _split_password(url: str) -> tuple[str, str]:
    """Return the URL without user and password, and the value of the header with both. Empty without a user."""
    parts = urllib.parse.urlsplit(url)
    if parts.username is None:
        return url, ""
    user, secret = urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or "")
    basic = base64.b64encode(f"{user}:{secret}".encode()).decode()
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), f"Basic {basic}"
