"""TLS clients that do not read, against a real agent with 10 mounts."""

import os
import socket
import ssl
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.processes import wait_for
from tests.web.certificates import Authority
from tools.attacks import GET, peak_mib
from tools.bench import Host, free_port

PEAK_MIB = 80.0
"""63 MiB were seen; the allocator of another machine may keep more of each connection."""


def connect(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(30)
    try:
        plain.connect(("127.0.0.1", port))
        return context.wrap_socket(plain, server_hostname="localhost")
    except OSError:
        plain.close()
        raise


def is_answered(port: int, context: ssl.SSLContext) -> bool:
    try:
        with connect(port, context) as opened:
            opened.sendall(GET)
            return opened.recv(100).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def test_tls_clients_that_do_not_read_take_little_memory_and_keep_no_scrape_out(tmp_path: Path) -> None:
    authority, port = Authority(tmp_path), free_port()
    server = authority.sign("server")
    web = tmp_path / "web.yml"
    web.write_text(f"tls_server_config: {{cert_file: {server.certificate}, key_file: {server.key}}}")
    context = ssl.create_default_context(cafile=str(authority.pair.certificate))
    flags = [f"--web.listen-address=127.0.0.1:{port}", f"--path.procfs={Host(tmp_path / 'proc', 10).root}"]
    command = [sys.executable, "-m", "fss_exporter", "serve", *flags, f"--web.config.file={web}"]

    with subprocess.Popen(command, env=os.environ, stderr=subprocess.DEVNULL) as running, ExitStack() as opened:
        try:
            wait_for(lambda: is_answered(port, context), "the agent to answer")
            for _ in range(300):
                with suppress(OSError):
                    held = opened.enter_context(connect(port, context))
                    held.sendall(GET * 4)
            wait_for(lambda: is_answered(port, context), "a scrape among them")
            assert peak_mib(running.pid) < PEAK_MIB
        finally:
            running.kill()
