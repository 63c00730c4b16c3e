"""Probes of this client, against loopback and a temporary directory."""

import os
import socket
import threading
from pathlib import Path

import pytest
from tests.local_server import instance_metadata
from tests.processes import PATIENCE_S

from fss_exporter.instance_metadata import InstanceMetadata, read_instance_metadata
from fss_toolbox.doctor import client_probe as probes, kernel_counting


def test_a_listening_port_tells_the_round_trip() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        attempt = probes.connect("127.0.0.1", server.getsockname()[1], PATIENCE_S)
    assert attempt.seconds is not None
    assert 0 < attempt.seconds < PATIENCE_S


def test_a_closed_port_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    attempt = probes.connect("127.0.0.1", port, PATIENCE_S)
    assert attempt.seconds is None
    assert attempt.error == "Connection refused"


@pytest.mark.parametrize(("address", "port"), [("a" * 70, 2049), ("127.0.0.1", 99_999)])
def test_an_address_or_a_port_that_cannot_be_is_a_failure_with_a_reason(address: str, port: int) -> None:
    attempt = probes.connect(address, port, 0.2)
    assert attempt.seconds is None
    assert attempt.error


def test_no_answer_at_all_ends_at_the_deadline() -> None:
    # A full backlog: the kernel drops further handshakes.
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        try:
            for waiter in waiting:
                waiter.settimeout(0)
                waiter.connect_ex(server.getsockname())
            attempt = probes.connect("127.0.0.1", server.getsockname()[1], 0.2)
        finally:
            for waiter in waiting:
                waiter.close()
    assert attempt.seconds is None
    assert attempt.error == "no answer within 0.2 s"


def test_a_directory_is_counted_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr(os, "scandir", lambda _: pytest.fail("listed in this process"))
    assert probes.count_entries(str(tmp_path), 10, PATIENCE_S).entries == 7
    assert probes.count_entries(str(tmp_path), 3, PATIENCE_S).entries == 4


@pytest.mark.parametrize(("path", "why"), [("none", "No such file or directory"), ("file", "Not a directory")])
def test_what_cannot_be_listed_says_why(tmp_path: Path, path: str, why: str) -> None:
    (tmp_path / "file").touch()
    counted = probes.count_entries(str(tmp_path / path), 10, PATIENCE_S)
    assert counted.entries is None
    assert counted.error == why


def test_a_directory_that_hangs_costs_the_deadline_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_COUNTER", "import time; time.sleep(60)")
    counted = probes.count_entries(str(tmp_path), 10, 0.2)
    assert counted.entries is None
    assert counted.error == "no answer within 0.2 s"


def test_a_path_that_looks_like_a_flag_is_a_path() -> None:
    assert "No such file" in probes.count_entries("--version", 10, PATIENCE_S).error


def test_the_metadata_tell_domain_and_region() -> None:
    body = b'{"availabilityDomain": "Uocm:PHX-AD-1", "canonicalRegionName": "us-phoenix-1", "region": "phx"}'
    with instance_metadata(body) as url:
        assert read_instance_metadata(url, PATIENCE_S) == InstanceMetadata("Uocm:PHX-AD-1", "us-phoenix-1")


@pytest.mark.parametrize("odd", [b'{"a": 1}', b"[1]", b"7", b"true", b'"\\ud800"', b'"a b"', b'"<html>"', b'"unknown"'])
def test_metadata_with_an_odd_region_or_domain_name_none(odd: bytes) -> None:
    with instance_metadata(b'{"canonicalRegionName": ' + odd + b', "availabilityDomain": ' + odd + b"}") as url:
        assert read_instance_metadata(url, PATIENCE_S) == InstanceMetadata()


@pytest.mark.parametrize(
    ("shape", "bandwidth"),
    [
        ('{"networkingBandwidthInGbps": 1.0, "ocpus": 1.0}', 125e6),
        ('{"networkingBandwidthInGbps": 50}', 6.25e9),
        ('{"networkingBandwidthInGbps": "1"}', None),
        ('{"networkingBandwidthInGbps": true}', None),
        ('{"networkingBandwidthInGbps": -1}', None),
        ('{"networkingBandwidthInGbps": 1e400}', None),
        ('{"networkingBandwidthInGbps": NaN}', None),
        (f'{{"networkingBandwidthInGbps": {10**400}}}', None),
        ("{}", None),
        ("[]", None),
        ("7", None),
    ],
)
def test_the_metadata_may_have_the_bandwidth_of_the_network(shape: str, bandwidth: float | None) -> None:
    with instance_metadata(f'{{"shapeConfig": {shape}}}'.encode()) as url:
        assert read_instance_metadata(url, PATIENCE_S) == InstanceMetadata(network_bytes_per_second=bandwidth)


@pytest.mark.parametrize(
    ("status", "body"), [(404, b"{}"), (200, b""), (200, b"<html>"), (200, b"[1]"), (200, b"[" * 100_000), (500, b"{}")]
)
def test_other_answers_are_no_metadata(status: int, body: bytes) -> None:
    with instance_metadata(body, status) as url:
        assert read_instance_metadata(url, PATIENCE_S) is None


def test_an_answer_that_is_not_http_is_no_metadata() -> None:
    def answer() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"rubbish\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, daemon=True).start()
        assert read_instance_metadata(f"http://127.0.0.1:{listening.getsockname()[1]}/", PATIENCE_S) is None


def test_a_closed_port_has_no_metadata() -> None:
    assert read_instance_metadata("http://127.0.0.1:1/", 2.0) is None


def test_metadata_are_not_asked_of_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with instance_metadata(b"{}") as url:
        assert read_instance_metadata(url, PATIENCE_S) == InstanceMetadata()


def test_figures_of_the_kernel_are_read_where_they_are(tmp_path: Path) -> None:
    for name, text in (("sunrpc/tcp_slot_table_entries", "2\n"), ("net/ipv4/tcp_rmem", "4096\t131072\t6291456\n")):
        path = tmp_path / "sys" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert probes.read_sysctls(tmp_path) == {"sunrpc.tcp_slot_table_entries": 2, "net.ipv4.tcp_rmem": 6291456}
    assert kernel_counting.read_text(tmp_path / "gone") == ""
