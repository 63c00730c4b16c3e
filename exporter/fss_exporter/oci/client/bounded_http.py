# SPDX-License-Identifier: Apache-2.0
"""HTTP transport for the SDK with two limits: a deadline for the whole answer, and a size of the decoded body.

The read time-out of an HTTP library restarts with every byte, so a server that sends one byte a second could hold a call for
ever. A few kilobytes of gzip can unpack to gigabytes. Both limits hold for headers, errors and data.
"""

import io
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final
from urllib.parse import urlsplit

from oci.base_client import OCIHTTPAdapter
from urllib3.exceptions import DecodeError, ProtocolError, ReadTimeoutError

# Limit of a decoded answer, bytes. The largest documented answer, 100,000 points of 2,000 streams, has about 8 MB.
LARGEST_ANSWER_BYTES: Final = 16 * 1024 * 1024

# Above this size one answer at a time is read, so that large answers to simultaneous calls do not add up.
_LARGE_BYTES: Final = 1024 * 1024

_one_large = threading.Lock()

_CHUNK_BYTES: Final = 64 * 1024
_PIECE_BYTES: Final = 256 * 1024  # unpacked at once. A chunk of a bomb holds 64 MiB
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS  # zlib detects which of the two it is

_call = threading.local()  # `deadline` of the call of this thread, monotonic seconds


class BrokenBody(OSError):
    """The body of an answer breaks off, cannot be unpacked, or is larger than `LARGEST_ANSWER_BYTES`."""


class _DeadlineFile(io.RawIOBase):
    """Read from a socket. No single read lasts beyond the deadline of the call."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = _call.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline for the whole answer has passed")
        timeout = self._sock.gettimeout()
        self._sock.settimeout(left if timeout is None else min(left, timeout))
        try:
            received: int | None = self._raw.readinto(buffer)
        finally:
            self._sock.settimeout(timeout)
        return received

    def close(self) -> None:
        self._raw.close()
        super().close()


class _DeadlineSocket:
    """A socket whose files are `_DeadlineFile`s. Everything else is forwarded to the socket."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineFile(self._sock))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class _DeadlineConnection:
    """Mixed into the connection classes of urllib3."""

    sock: Any

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]  # of the class it is mixed into
        self.sock = _DeadlineSocket(self.sock)


def _use_deadlines(manager: Any) -> None:
    """Let every new pool of the manager make connections with a deadline."""
    pools = {}
    for scheme, pool in manager.pool_classes_by_scheme.items():
        connection = type(pool.ConnectionCls.__name__, (_DeadlineConnection, pool.ConnectionCls), {})
        pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": connection})
    manager.pool_classes_by_scheme = pools


class _BoundedAdapter(OCIHTTPAdapter):  # type: ignore[misc]
    """An adapter of requests that reads the whole answer before the SDK. `answer_seconds` is the time for the answer."""

    def __init__(self, answer_seconds: float) -> None:
        super().__init__()
        self._answer_seconds = answer_seconds

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        _use_deadlines(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        has_manager = proxy in self.proxy_manager
        manager = super().proxy_manager_for(proxy, **options)
        if not has_manager:
            _use_deadlines(manager)
        return manager

    def send(self, request: Any, stream: bool = False, **options: Any) -> Any:  # noqa: ARG002  # its signature
        _call.deadline = time.monotonic() + self._answer_seconds
        response = super().send(request, stream=True, **options)
        try:
            response._content = _body(response.raw)  # noqa: SLF001  # as requests stores what it has read
        except BaseException:
            response.close()
            raise
        response._content_consumed = True  # noqa: SLF001
        return response


def limit_answers(client: Any, answer_seconds: float) -> None:
    """Give the SDK's base client a transport with both limits. `answer_seconds` is the time for a whole answer.

    The client follows no redirect. OCI sends none, and the answer of another host would count as OCI's.
    """
    client.session.max_redirects = 0
    for scheme in ("http://", "https://"):
        client.session.mount(scheme, _BoundedAdapter(answer_seconds))


def read_environment_once(client: Any) -> None:
    """Give the SDK's base client the proxies and the CA bundle of the environment.

    The library requests would scan all variables twice for each call, which is a third of the CPU time of a call.
    """
    session = client.session
    found = session.merge_environment_settings(client.endpoint, {}, None, None, None)
    session.proxies, session.verify, session.trust_env = found["proxies"], found["verify"], False


def proxy_of(client: Any) -> str:
    """Return the proxy of the SDK's base client as HOST:PORT. Empty without a proxy, and before `read_environment_once`."""
    proxies = client.session.proxies
    proxy = proxies.get(urlsplit(client.endpoint).scheme) or proxies.get("all") or ""
    return str(proxy).rpartition("@")[2].removeprefix("http://")


def _body(raw: Any) -> bytes:
    """Read and decode the body of an answer.

    Raises:
        BrokenBody: the body cannot be used.
        ConnectionError: the rest of the body did not come in time.
    """
    decoder = None
    if raw.headers.get("content-encoding", "").lower() in {"gzip", "x-gzip", "deflate"}:
        decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        return _read(raw, decoder)
    except ReadTimeoutError as error:
        raise ConnectionError(error) from error
    except (DecodeError, ProtocolError, zlib.error) as error:
        raise BrokenBody(error) from error


def _read(raw: Any, decoder: Any) -> bytes:
    is_large = False
    # The value of BytesIO is the body without a copy. The end of the block frees a body that an error would hold.
    with ExitStack() as at_the_end, io.BytesIO() as body:
        for piece in _pieces(raw, decoder):
            body.write(piece)
            if body.tell() > LARGEST_ANSWER_BYTES:
                raise BrokenBody(f"the answer is larger than {LARGEST_ANSWER_BYTES >> 20} MiB")
            if body.tell() > _LARGE_BYTES and not is_large:
                is_large = True
                _wait_for_room(at_the_end)
        return body.getvalue()


def _pieces(raw: Any, decoder: Any) -> Iterator[bytes]:
    has_begun = False
    while chunk := raw.read(_CHUNK_BYTES, decode_content=False):
        has_begun = True
        if decoder is None:
            yield chunk
            continue
        piece = decoder.decompress(chunk, _PIECE_BYTES)
        yield piece
        while decoder.unconsumed_tail or len(piece) == _PIECE_BYTES:
            piece = decoder.decompress(decoder.unconsumed_tail, _PIECE_BYTES)
            yield piece
    if decoder is not None and has_begun and not decoder.eof:
        raise zlib.error("the compressed answer has no end")


def _wait_for_room(at_the_end: ExitStack) -> None:
    if not _one_large.acquire(timeout=max(0.0, _call.deadline - time.monotonic())):
        raise ConnectionError("the deadline for the whole answer has passed, behind another large answer")
    at_the_end.callback(_one_large.release)
