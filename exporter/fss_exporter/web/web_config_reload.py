# SPDX-License-Identifier: Apache-2.0
"""The present web configuration: TLS for new connections, and users, rate limit and headers for requests.

A background loop checks the file and the certificates every second and reads changed files again. A wrong, empty or half
written file changes nothing: the present configuration stays, and the log names the mistake.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fss_exporter.background import Worker
from fss_exporter.errors import ConfigError
from fss_exporter.web.messages import Application, Request, Response, refusal, text
from fss_exporter.web.one_at_a_time import TooLong
from fss_exporter.web.passwords import Passwords
from fss_exporter.web.tls import ServerTls, secure
from fss_exporter.web.web_config import RateLimit, WebConfiguration, load

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_REMEMBERED_CLIENTS = 1000  # A forgotten client may send a whole burst again


_State = tuple[int, int, int] | None  # value that changes with content, owner and mode of a file. None without the file


class RateLimiter:
    """A bucket of tokens for each client, so that a busy client does not block others. `clock` never goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, client: str, rate: RateLimit) -> bool:
        """Whether a further request of this client fits."""
        if not rate.interval:
            return True
        with self._lock:
            now = self._clock()
            tokens, at = self._buckets.pop(client, (float(rate.burst), now))
            tokens = min(rate.burst, tokens + (now - at) / rate.interval)
            self._buckets[client] = (tokens - 1 if tokens >= 1 else tokens, now)
            if len(self._buckets) > _REMEMBERED_CLIENTS:
                self._buckets.popitem(last=False)
        return tokens >= 1


@dataclass(frozen=True, slots=True)
class _InForce:
    configuration: WebConfiguration
    tls: ServerTls | None
    states: Mapping[Path, _State]  # states of the file and of those that it names, from before the reading


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
        self._passwords = Passwords()
        self._limiter = RateLimiter(clock)
        self._logged_mistake = ""
        self._in_force = self._read(None)
        self._warn()
        self._last_states = self._in_force.states  # in the last round of `loop`
        self.loop = Worker("web_config", self.refresh, interval=lambda: _LOOK_SECONDS)

    @property
    def warning(self) -> str:
        """What the file allows and what harms. Empty for nothing."""
        return self._in_force.configuration.warning

    def tls(self) -> ServerTls | None:
        """How the next connection is secured. None for plain HTTP."""
        return self._in_force.tls

    def guard(self, application: Application, *, open_paths: frozenset[str]) -> Application:
        """The application behind users and rate limit, except for the open paths. The headers go on every response."""

        def guarded(request: Request) -> Response:
            configuration = self._in_force.configuration
            refusal = None if request.path in open_paths else self._refusal(request, configuration)
            response = refusal or application(request)
            return _with_headers(response, configuration.http_server_config.headers)

        return guarded

    def _refusal(self, request: Request, configuration: WebConfiguration) -> Response | None:
        """Return the reason for a refusal. Only a request with a right password uses a token, so that guesses use none."""
        users = configuration.basic_auth_users
        try:
            is_user = not users or self._passwords.check(users, request.headers.get("authorization", ""))
        except TooLong:
            return refusal("too many passwords wait for their check. Ask again")
        if not is_user:
            challenge = ("WWW-Authenticate", 'Basic realm="fss-exporter", charset="UTF-8"')
            return text(401, "user and password, please", challenge)
        if not self._limiter.take(request.client, configuration.rate_limit):
            return text(429, "too many requests. rate_limit in the web configuration sets the limit")
        return None

    def reload(self) -> Callable[[], None]:
        """Read the file again, changed or not. Return the function that puts it in force.

        Raises:
            ConfigError: the file is wrong. The present configuration stays.
        """
        before = self._in_force
        fresh = self._read(before)

        def put_in_force() -> None:
            if self._in_force is before:  # else the loop has read a newer file meanwhile
                self._use(fresh)

        return put_in_force

    def refresh(self) -> None:
        """Read the file again if it or a certificate has changed and then stayed unchanged for one round of `loop`.

        A file with a mistake is read in each round.

        Raises:
            ConfigError: the file is wrong. The present configuration stays.
        """
        now = {path: _state(path) for path in self._in_force.states}
        is_being_written, self._last_states = now != self._last_states, now
        if now == self._in_force.states or (is_being_written and not self._logged_mistake):
            return
        try:
            fresh = self._read(self._in_force)
        except ConfigError as wrong:
            if str(wrong) != self._logged_mistake:
                _LOG.error("kept the old web configuration: %s", wrong)  # the operator's mistake, not a bug
            self._logged_mistake = str(wrong)
            raise
        self._use(fresh)
        _LOG.info("web configuration or certificate changed and was read again")

    def _use(self, fresh: _InForce) -> None:
        self._in_force, self._logged_mistake = fresh, ""
        self._warn()

    def _warn(self) -> None:
        if self.warning:
            _LOG.warning("%s: %s", self._path, self.warning)

    def _read(self, before: _InForce | None) -> _InForce:
        states = {self._path: _state(self._path)}  # before the reading, so that the next round sees a change in between
        configuration = load(self._path, before.configuration if before else None)
        server = configuration.tls_server_config
        files = [Path(name) for name in (server.cert_file, server.key_file, server.client_ca_file) if name]
        states |= {path: _state(path) for path in files}
        if before is not None and (before.tls is not None) != server.enabled:
            raise ConfigError(
                str(self._path), ("tls_server_config: TLS cannot come or go while running. Restart the exporter",)
            )
        return _InForce(configuration, secure(str(self._path), server) if server.enabled else None, states)


def _state(path: Path) -> _State:
    """Return a value that changes with content, owner and mode of the file. A link to another place counts as a change."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # a ValueError is about the name
        return None
    return status.st_ino, status.st_ctime_ns, status.st_size


def _with_headers(response: Response, headers: dict[str, str]) -> Response:
    if not headers:
        return response
    own = tuple((name, value) for name, value in response.headers if name not in headers)
    return replace(response, headers=(*own, *headers.items()))
