"""The image's health check tells a running exporter from none, whatever its web configuration demands."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fss_exporter.web.certificates import Authority
from tests.processes import process, require, wait_for

CHECK = Path(__file__).parents[2] / "tools/release/healthcheck.py"

TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
MUTUAL = TLS + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n"
USERS = "basic_auth_users:\n  prometheus: $2y$10$jB0r6WYWPr8Z1lOeX6K4Kenq8ySeeRPeg6Xqvm3nxI4QoDnTiFHgW\n"


def health(port: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run((sys.executable, CHECK, str(port)), capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    "configuration",
    ["", TLS + USERS, MUTUAL],
    ids=["plain", "TLS and users", "client certificates"],
)
def test_a_running_exporter_is_healthy(configuration: str, tmp_path: Path) -> None:
    Authority(tmp_path).sign("server")
    (tmp_path / "web.yml").write_text(configuration)
    protected = [f"--web.config.file={tmp_path / 'web.yml'}"] if configuration else []
    log = tmp_path / "log"
    command = [require("fss-exporter", "this project"), "serve", "--web.listen-address=127.0.0.1:0"]
    with process([*command, *protected], log):
        port, *_ = wait_for(
            lambda: re.findall(r"127\.0\.0\.1:(\d+)/metrics", log.read_text()), f"a listener, see {log}"
        )
        done = health(int(port))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_port_is_not_healthy() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = health(taken.getsockname()[1])
    assert (done.returncode, done.stderr) == (1, "no answer: [Errno 111] Connection refused\n")


def test_a_server_that_accepts_and_hangs_up_is_not_healthy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        command = (sys.executable, CHECK, str(listening.getsockname()[1]))
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as asking:
            while asking.poll() is None:
                listening.settimeout(0.1)
                try:
                    listening.accept()[0].close()
                except TimeoutError:
                    continue
            assert asking.returncode == 1
