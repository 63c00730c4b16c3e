# SPDX-License-Identifier: Apache-2.0
"""From `--web.listen-address` or systemd to bound sockets, before anything else is started."""

import errno
import os
import socket
from collections.abc import Mapping
from contextlib import ExitStack

from fss_exporter.errors import UsageError

_FLAG = "--web.listen-address"
_FIRST_PASSED = 3  # SD_LISTEN_FDS_START of sd_listen_fds(3)


def split_address(text: str) -> tuple[str, int]:
    """Return host and port of `:10949`, `0.0.0.0:10949`, `[::1]:10949` or `name:10949`. An empty host means all addresses.

    Raises:
        UsageError: the text is no such address.
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    is_port = port.isascii() and port.isdigit() and len(port) < 6 and int(port) <= 65535
    if not colon or not is_port or (":" in host and not bracketed):
        raise UsageError(f"{_FLAG}={text}: give HOST:PORT, for example :10949, 127.0.0.1:10949 or [::1]:10949")
    return host, int(port)


def bind(addresses: tuple[str, ...]) -> list[socket.socket]:
    """Return listening sockets for all addresses, or fail as a whole.

    Raises:
        UsageError: an address is malformed, in use, not of this host or not permitted.
    """
    with ExitStack() as undo:
        bound = [undo.enter_context(_bind(address, *split_address(address))) for address in addresses]
        undo.pop_all()
    return bound


def passed(environment: Mapping[str, str] = os.environ) -> list[socket.socket]:
    """Return the listening sockets that systemd has opened for this process, by sd_listen_fds(3).

    Raises:
        UsageError: there are no sockets, or a socket is not a listening TCP socket.
    """
    count = environment.get("LISTEN_FDS", "")
    if environment.get("LISTEN_PID") != str(os.getpid()) or not count.isascii() or not count.isdigit() or count == "0":
        raise UsageError(
            "--web.systemd-socket: systemd passed no socket. Start this from a service with a .socket unit"
        )
    return [_take_over(number) for number in range(_FIRST_PASSED, _FIRST_PASSED + int(count))]


def _take_over(number: int) -> socket.socket:
    try:
        listening = socket.socket(fileno=number)
        listens = listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as failure:
        raise UsageError(f"--web.systemd-socket: descriptor {number}: {_explain(failure)}") from failure
    if not listens or listening.family not in {socket.AF_INET, socket.AF_INET6}:
        raise UsageError(
            f"--web.systemd-socket: descriptor {number} is no TCP listener. Give ListenStream=PORT in the .socket unit"
        )
    listening.set_inheritable(False)
    return listening


def url_of(bound: socket.socket, *, tls: bool) -> str:
    """Return the URL of a bound socket, for the log."""
    host, port = bound.getsockname()[:2]
    return f"http{'s' if tls else ''}://{f'[{host}]' if ':' in host else host}:{port}"


def _bind(flag_value: str, host: str, port: int) -> socket.socket:
    try:
        if not host:
            listening = _bind_everywhere(port)
        else:
            family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            listening = socket.create_server(where, family=family)
    except OSError as failure:
        raise UsageError(f"{_FLAG}={flag_value}: {_refusal(port, failure)}") from failure
    except UnicodeError as failure:  # the name has an empty label, or one of more than 63 characters
        raise UsageError(f"{_FLAG}={flag_value}: not the name of a host") from failure
    return listening


def _bind_everywhere(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as failure:
            if failure.errno not in {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}:
                raise
    return socket.create_server(("", port))


_REASONS = {
    errno.EADDRINUSE: "another process or another --web.listen-address listens there. Give another port",
    errno.EADDRNOTAVAIL: "not an address of this host",
}


def _refusal(port: int, failure: OSError) -> str:
    """Return why a port could not be opened. For ports above 1023 the number is right, and something guards the ports."""
    if failure.errno not in {errno.EACCES, errno.EPERM}:
        return _explain(failure)
    if failure.errno == errno.EACCES and 0 < port < 1024:
        return "not permitted. Give a port above 1023"
    return (
        f"the host refuses port {port} to this service. Under systemd add SocketBindAllow=tcp:{port} with"
        " `systemctl edit`. SELinux may refuse it too: see `ausearch -m avc`"
    )


def _explain(failure: OSError) -> str:
    return _REASONS.get(failure.errno or 0) or failure.strerror or str(failure)
