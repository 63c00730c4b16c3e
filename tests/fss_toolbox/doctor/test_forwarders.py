"""The mount target behind a TLS forwarder of this host, from a `/proc` of the test."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fss_toolbox.doctor.clients import client, findings_of

from fss_toolbox.doctor.findings import Severity
from fss_toolbox.doctor.forwarders import TLS_PORT, targets_behind

FORWARDER, TARGET = "192.168.255.2", "10.0.0.5"
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def _place(address: str, port: int) -> str:
    return f"{socket.inet_aton(address)[::-1].hex().upper()}:{port:04X}"


def _line(local: str, remote: str, port: int, state: str, inode: int) -> str:
    return f"   0: {_place(local, 2049)} {_place(remote, port)} {state} 00000000:00000000 00:00000000 00000000  0  0 {inode} 1\n"


def _process(procfs: Path, number: int, lines: str, inodes: tuple[int, ...]) -> None:
    folder = procfs / str(number)
    for name in ("net", "ns", "fd"):
        (folder / name).mkdir(parents=True)
    (folder / "net/tcp").write_text(HEAD + lines)
    (folder / "ns/net").symlink_to("net:[7]")
    for place, inode in enumerate(inodes):
        (folder / "fd" / str(place)).symlink_to(f"socket:[{inode}]")


LISTENS = _line(FORWARDER, "0.0.0.0", 0, "0A", 1)  # noqa: S104  # no address to bind to


def test_the_connection_of_the_process_that_listens_leads_to_the_mount_target(tmp_path: Path) -> None:
    other = _line("10.9.9.9", "10.0.0.77", TLS_PORT, "01", 3)
    ssh = _line("10.9.9.9", "10.0.0.99", 22, "01", 2)
    lines = LISTENS + ssh + _line("10.9.9.9", TARGET, TLS_PORT, "01", 4) + other
    _process(tmp_path, 40, lines, (1, 2, 4))
    _process(tmp_path, 41, lines, (3,))

    assert targets_behind(tmp_path, [FORWARDER, "192.168.255.3"]) == {FORWARDER: TARGET}


@pytest.mark.parametrize(
    ("lines", "inodes"),
    [
        (LISTENS, (1,)),
        (LISTENS + _line("10.9.9.9", TARGET, TLS_PORT, "06", 2), (1, 2)),
        (LISTENS + _line("10.9.9.9", TARGET, TLS_PORT, "01", 2), (1,)),
        (
            LISTENS + "".join(_line("10.9.9.9", f"10.0.0.{n}", TLS_PORT, "01", n) for n in (5, 6)),
            (1, 5, 6),
        ),
        ("nonsense\n", (1,)),
    ],
    ids=["no connection", "closed", "of another process", "two mount targets", "damaged"],
)
def test_without_a_single_connection_nothing_is_claimed(tmp_path: Path, lines: str, inodes: tuple[int, ...]) -> None:
    _process(tmp_path, 40, lines, inodes)

    assert targets_behind(tmp_path, [FORWARDER]) == {}


def test_a_process_that_goes_or_that_nobody_may_ask_about_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "40").mkdir()
    (tmp_path / "41/ns").mkdir(parents=True)
    (tmp_path / "41/ns/net").symlink_to("net:[7]")

    assert targets_behind(tmp_path, [FORWARDER]) == {}


def test_a_real_process_with_real_sockets_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = (
            "import socket,sys\n"
            "a=socket.create_server(('127.99.1.1',0)); b=socket.create_connection(('127.0.0.1',int(sys.argv[1])))\n"
            "print('ready',flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as forwarder:
            assert forwarder.stdout
            assert forwarder.stdout.readline() == "ready\n"
            found = targets_behind(Path("/proc"), ["127.99.1.1"], port)
            forwarder.communicate()
    assert found == {"127.99.1.1": "127.0.0.1"}


def test_a_mount_of_a_forwarder_names_the_mount_target_that_its_connections_lead_to() -> None:
    facts = client(("10.80.1.10", "127.0.0.1"), forwarded={"127.0.0.1": TARGET})
    (only,) = findings_of(facts, "tls-forwarder")

    assert only.severity is Severity.WARNING
    assert only.fix == "name it in the configuration: address_map: {127.0.0.1: 10.0.0.5}"
