"""`--web.systemd-socket`: the listener comes from systemd, so that the service itself needs no network."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import get, wait_for

from fss_exporter.errors import UsageError
from fss_exporter.web.binding import passed

# What systemd does: descriptors from 3 on, their number and the process they are for in the environment.
PASS_ON = """
import os, sys
for place, number in enumerate(map(int, sys.argv[1].split(",")), start=3):
    os.dup2(number, place)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(sys.argv[1].split(",")))}
os.execvp(sys.executable, [sys.executable, "-m", "fss_exporter", *sys.argv[2:]])
"""


def command(*sockets: socket.socket) -> tuple[list[str], list[int]]:
    numbers = [listener.fileno() for listener in sockets]
    flags = ["serve", "--web.systemd-socket"]
    return [sys.executable, "-c", PASS_ON, ",".join(map(str, numbers)), *flags], numbers


def refusal(*sockets: socket.socket) -> str:
    line, numbers = command(*sockets)
    done = subprocess.run(line, pass_fds=numbers, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    return done.stderr


@pytest.mark.parametrize(
    "environment",
    [{}, {"LISTEN_PID": "1", "LISTEN_FDS": "1"}, {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "0"},
     {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "-1"}, {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "many"}],
    ids=["nothing said", "meant for another process", "none", "negative", "not a number"],
)  # fmt: skip
def test_without_a_socket_from_systemd_it_says_what_to_do(environment: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"^--web\.systemd-socket: systemd passed no socket\. .*\.socket unit$"):
        passed(environment)


def test_a_socket_that_does_not_listen_is_refused() -> None:
    with socket.socket() as idle:
        idle.bind(("127.0.0.1", 0))
        assert "descriptor 3 is no TCP listener. Give ListenStream=PORT" in refusal(idle)


def test_a_local_socket_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as local:
        local.bind(str(tmp_path / "socket"))
        local.listen()
        assert "descriptor 3 is no TCP listener" in refusal(local)


def test_a_descriptor_that_is_no_socket_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        line = [sys.executable, "-c", PASS_ON, str(file.fileno()), "serve", "--web.systemd-socket"]
        done = subprocess.run(line, pass_fds=[file.fileno()], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, "descriptor 3: " in done.stderr) == (2, True)


def test_every_socket_of_the_unit_is_served_and_outlives_the_service(tmp_path: Path) -> None:
    """The unit keeps its sockets while the service restarts, so that no scrape is refused."""
    log = tmp_path / "log"
    with (
        socket.create_server(("127.0.0.1", 0)) as ipv4,
        socket.create_server(("::1", 0), family=socket.AF_INET6) as two,
    ):
        line, numbers = command(ipv4, two)
        for _ in range(2):
            with log.open("wb") as output, subprocess.Popen(line, pass_fds=numbers, stderr=output) as running:
                urls = wait_for(lambda: listening(log), f"both sockets to be served, see {log}")
                assert all("fss_exporter_build_info" in get(url) for url in urls)
                running.terminate()
                assert running.wait(120) == 0


def listening(log: Path) -> list[str]:
    urls = re.findall(r"listening on (http://[^\s\"]+)", log.read_text())
    return urls if len(urls) == 2 else []
