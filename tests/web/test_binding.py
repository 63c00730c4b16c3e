"""From the flag to the socket, as far as the machine of the test has the addresses."""

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
