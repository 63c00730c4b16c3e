"""The present web configuration: TLS for new connections, and users, rate limit and headers for requests.

A background loop checks the file and the certificates every second and reads changed files again. A wrong, empty or half
written file changes nothing: the present configuration stays, and the log names the mistake.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fss_exporter.background import Worker
from fss_exporter.errors import ConfigError
from fss_exporter.web.messages import Application, Request, Response, text
from fss_exporter.web.one_at_a_time import TooLong
from fss_exporter.web.passwords import Passwords, Results
from fss_exporter.web.tls import ServerTls, secure
from fss_exporter.web.web_config import WebConfiguration, load

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_REMEMBERED_CLIENTS = 1000  # A forgotten client may send a whole burst again


class RateLimiter:
    """A bucket of tokens for each client, so that a busy client does not block others.

    Args:
        interval: seconds until a client may send a further request. 0 is no limit.
        burst: requests that a client may send at a time.
        clock: seconds that never go back.
    """

    def __init__(self, interval: float, burst: int, clock: Callable[[], float]) -> None:
        self._interval, self._burst, self._clock = interval, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, client: str) -> bool:
        """Whether a further request of this client fits."""
        if not self._interval:
            return True
        with self._lock:
            now = self._clock()
            tokens, at = self._buckets.pop(client, (float(self._burst), now))
            tokens = min(self._burst, tokens + (now - at) / self._interval)
            self._buckets[client] = (tokens - 1 if tokens >= 1 else tokens, now)
            if len(self._buckets) > _REMEMBERED_CLIENTS:
                self._buckets.popitem(last=False)
        return tokens >= 1


@dataclass(frozen=True, slots=True)
class _InForce:
    configuration: WebConfiguration
    tls: ServerTls | None
    passwords: Passwords | None
    limiter: RateLimiter


class WebConfigReload:
    """The configuration of a web configuration file, kept up to date.

    Args:
        path: the file.
        clock: seconds that never go back.

    Raises:
        ConfigError: the file is wrong.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._results = Results()
        self._mistake: ConfigError | None = None
        self._watched: tuple[Path, ...] = ()
        self._when_read: tuple[_State, ...] = ()  # states of the watched files before the last reading
        self._last_round: tuple[_State, ...] = ()  # states of the watched files in the last round of `loop`
        self._in_force = self._read(None)
        self.loop = Worker("web_config", self.refresh, interval=lambda: _LOOK_SECONDS)

    def tls(self) -> ServerTls | None:
        """How the next connection is secured. None for plain HTTP."""
        return self._in_force.tls

    def guard(self, application: Application, *, open_paths: frozenset[str]) -> Application:
        """The application behind users and rate limit, except for the open paths. The headers go on every response."""

        def guarded(request: Request) -> Response:
            in_force = self._in_force
            refusal = None if request.path in open_paths else _refusal(request, in_force)
            response = refusal or application(request)
            return _with_headers(response, in_force.configuration.http_server_config.headers)

        return guarded

    def reload(self) -> Callable[[], None]:
        """Read the file again, changed or not. Return the function that puts it in force.

        Raises:
            ConfigError: the file is wrong. The present configuration stays.
        """
        with self._lock:
            before = self._in_force
            fresh = self._checked(before)

        def put_in_force() -> None:
            with self._lock:
                if self._in_force is before:  # else the loop has read a newer file meanwhile
                    self._in_force, self._mistake = fresh, None

        return put_in_force

    def refresh(self) -> None:
        """Read the file again if the file or a certificate has changed and then stayed unchanged for one round of `loop`.

        A file with a mistake is read in each round.

        Raises:
            ConfigError: the file is wrong. The present configuration stays.
        """
        with self._lock:
            now, last = tuple(map(_state, self._watched)), self._last_round
            self._last_round = now
            mistake = self._mistake
            is_in_force = now == self._when_read and mistake is None
            if is_in_force or now != last:  # nothing new, or still being written
                if mistake:
                    raise mistake
                return
            try:
                # With a mistake each round, because a broken disk or a full table of files may mend.
                self._in_force, self._mistake = self._checked(self._in_force), None
            except ConfigError as wrong:
                if str(wrong) != str(mistake):
                    _LOG.error("kept the old web configuration: %s", wrong)  # the operator's mistake, not a bug
                raise
            _LOG.info("web configuration or certificate changed and was read again")

    def _checked(self, before: _InForce) -> _InForce:
        try:
            return self._read(before)
        except ConfigError as wrong:
            self._mistake = wrong  # the loop is no success until the file is right
            raise
        except Exception:
            self._when_read = ()  # the file is not in force yet: the next round reads it again
            raise

    def _read(self, before: _InForce | None) -> _InForce:
        # Note the state before the reading, so that the next round sees a change in between. Also watch the files that a
        # wrong configuration names, because a certificate may come later than the configuration.
        self._watched, self._when_read = (self._path,), (_state(self._path),)
        configuration = load(self._path, before.configuration if before else None)
        server = configuration.tls_server_config
        files = tuple(Path(name) for name in (server.cert_file, server.key_file, server.client_ca_file) if name)
        self._watched, self._when_read = (*self._watched, *files), (*self._when_read, *map(_state, files))
        if before is not None and (before.tls is not None) != server.enabled:
            raise ConfigError(
                str(self._path), ("tls_server_config: TLS cannot come or go while running. Restart the exporter",)
            )
        return _InForce(
            configuration,
            secure(str(self._path), server) if server.enabled else None,
            *self._carried_over(configuration, before),
        )

    def _carried_over(
        self, configuration: WebConfiguration, before: _InForce | None
    ) -> tuple[Passwords | None, RateLimiter]:
        """Keep hash results and used tokens, unless their part of the file changed."""
        users, rate = configuration.basic_auth_users, configuration.rate_limit
        passwords = Passwords(users, self._results) if users else None
        limiter = RateLimiter(rate.interval, rate.burst, self._clock)
        if before is not None and before.configuration.basic_auth_users == users:
            passwords = before.passwords
        if before is not None and before.configuration.rate_limit == rate:
            limiter = before.limiter
        return passwords, limiter


_State = tuple[int, int, int] | None


def _state(path: Path) -> _State:
    """Return a value that changes with content, owner and mode of the file. A link to another place counts as a change."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns, status.st_size


def _refusal(request: Request, in_force: _InForce) -> Response | None:
    """Return the reason for a refusal. Only a request with a right password uses a token, so that guesses use none."""
    if in_force.passwords is not None:
        try:
            is_known = in_force.passwords.check(request.headers.get("authorization", ""))
        except TooLong:
            return text(503, "too many passwords wait for their check. Ask again", ("Retry-After", "1"))
        if not is_known:
            challenge = ("WWW-Authenticate", 'Basic realm="fss-exporter", charset="UTF-8"')
            return text(401, "user and password, please", challenge)
    if not in_force.limiter.take(request.client):
        return text(429, "too many requests. rate_limit in the web configuration sets the limit")
    return None


def _with_headers(response: Response, headers: dict[str, str]) -> Response:
    if not headers:
        return response
    own = tuple((name, value) for name, value in response.headers if name not in headers)
    return replace(response, headers=(*own, *headers.items()))
