"""From the flag to the socket, as far as the machine of the test has the addresses."""

import errno
import os
import socket

import pytest

from fss_exporter.errors import UsageError
from fss_exporter.web.binding import bind


def test_the_interface_of_a_link_local_address_reaches_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def create_server(address: object, **_: object) -> socket.socket:
        asked.append(address)
        return socket.socket()

    monkeypatch.setattr(socket, "create_server", create_server)

    for bound in bind(("[fe80::1%lo]:10949",)):
        bound.close()

    assert asked == [("fe80::1", 10949, 0, socket.if_nametoindex("lo"))]


def test_a_port_of_thousands_of_digits_is_a_mistake_and_no_traceback() -> None:
    with pytest.raises(UsageError, match="give HOST:PORT"):
        bind((f":{'9' * 5000}",))


@pytest.mark.parametrize(
    ("refusal", "port", "fix"),
    [
        (errno.EPERM, 10950, "SocketBindAllow=tcp:10950"),  # SocketBindDeny= of the poller's unit
        (errno.EPERM, 443, "SocketBindAllow=tcp:443"),
        (errno.EACCES, 10950, "SELinux"),
        (errno.EACCES, 443, "Give a port above 1023"),
    ],
)
def test_the_message_of_a_refused_port_names_what_refuses_it(
    refusal: int, port: int, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create_server(*_: object, **__: object) -> socket.socket:
        raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr(socket, "create_server", create_server)

    with pytest.raises(UsageError) as refused:
        bind((f"127.0.0.1:{port}",))
    assert fix in str(refused.value)
    assert ("Give a port above 1023" in str(refused.value)) is (fix == "Give a port above 1023")
