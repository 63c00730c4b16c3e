"""A real prometheus, with the scrape configuration of its own manual, against each kind of web_config."""

import base64
import ssl
import subprocess
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import bcrypt
import pytest
import yaml
from tests.fss_exporter.web.certificates import Authority
from tests.processes import Prometheus, exporter, prometheus, require, wait_for
from tests.prompt import ask

from fss_exporter.errors import ConfigError
from fss_exporter.web.web_config_reload import WebConfigReload

PASSWORD = "correct horse battery staple"


@pytest.fixture
def web_config(tmp_path: Path) -> Path:
    """mTLS and a user, as the documentation shows them."""
    authority = Authority(tmp_path)
    server = authority.sign("server")
    authority.sign("prometheus")
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    path = tmp_path / "web.yml"
    path.write_text(
        f"""\
tls_server_config:
  cert_file: {server.certificate.name}
  key_file: {server.key.name}
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: {authority.pair.certificate.name}
  client_allowed_sans: [localhost]
basic_auth_users:
  prometheus: {hashed}
http_server_config:
  headers:
    Strict-Transport-Security: max-age=31536000
"""
    )
    return path


def scrape_config(url: str, directory: Path, *, password: str = PASSWORD, certificate: str = "prometheus") -> str:
    return f"""\
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: fss
    scheme: https
    tls_config:
      ca_file: {directory}/ca.crt
      cert_file: {directory}/{certificate}.crt
      key_file: {directory}/{certificate}.key
    basic_auth:
      username: prometheus
      password: {password}
    static_configs:
      - targets: ["{url.removeprefix("https://")}"]
"""


def test_prometheus_scrapes_over_mutual_tls_with_a_user(tmp_path: Path, web_config: Path) -> None:
    with exporter(tmp_path / "exporter", f"--web.config.file={web_config}") as url:
        assert url.startswith("https://")
        with prometheus(scrape_config(url, tmp_path), tmp_path / "prometheus") as server:
            wait_for(lambda: server.value("up") == 1.0, "a successful scrape")

            watcher = 'fss_collector_success{collector="web_config"}'
            wait_for(lambda: server.value(watcher) == 1, "a successful round of the watcher")
            # Prometheus keeps its connection from scrape to scrape. A scrape of more than a second would not count.
            wait_for(lambda: (server.value("sum_over_time(up[5m])") or 0) >= 5, "more scrapes")


def test_doctor_asks_over_mutual_tls_with_the_sections_of_that_scrape_configuration(
    tmp_path: Path, web_config: Path
) -> None:
    with exporter(tmp_path / "exporter", f"--web.config.file={web_config}") as url:
        (scrape,) = yaml.safe_load(scrape_config(url, tmp_path))["scrape_configs"]
        access = tmp_path / "http.yml"
        access.write_text(yaml.safe_dump({key: scrape[key] for key in ("tls_config", "basic_auth")}))
        doctor = ("doctor", "--no-account", "--no-client", "--url", url)
        stranger, known = ask(*doctor), ask(*doctor, "--http-config", access)
    assert "CERTIFICATE_VERIFY_FAILED" in stranger.out
    assert known.code == 0, known.out


def test_prometheus_without_the_password_or_the_certificate_is_kept_out(tmp_path: Path, web_config: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other").sign("prometheus")
    for suffix, file in (("crt", other.certificate), ("key", other.key)):
        (tmp_path / f"stranger.{suffix}").write_bytes(file.read_bytes())

    with exporter(tmp_path / "exporter", f"--web.config.file={web_config}") as url:
        for number, settings in enumerate(({"password": "guess"}, {"certificate": "stranger"})):
            with prometheus(scrape_config(url, tmp_path, **settings), tmp_path / f"prometheus{number}") as server:
                wait_for(partial(is_down, server), "a failed scrape")


def is_down(server: Prometheus) -> bool:
    return server.value("up") == 0.0


HASH = bcrypt.hashpw(b"secret", b"$2b$04$" + b"." * 22).decode()  # one salt: workers compare the names of tests
PAIR = "cert_file: server.crt, key_file: server.key"


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "nonsense: 1",
        "tls_server_config: {}",
        "tls_server_config: {cert_file: server.crt}",
        "tls_server_config: {key_file: server.key}",
        f"tls_server_config: {{{PAIR}}}",
        f"tls_server_config: {{{PAIR}, nonsense: 1}}",
        f"tls_server_config: {{{PAIR}, key_file: ca.key}}",
        "tls_server_config: {cert_file: server.crt, key_file: ca.key}",
        "tls_server_config: {cert_file: nowhere.crt, key_file: server.key}",
        f"tls_server_config: {{{PAIR}, min_version: TLS13, max_version: TLS13}}",
        f"tls_server_config: {{{PAIR}, min_version: TLS14}}",
        f"tls_server_config: {{{PAIR}, client_ca_file: ca.crt}}",
        f"tls_server_config: {{{PAIR}, client_ca_file: nowhere.crt, client_auth_type: RequireAndVerifyClientCert}}",
        f"tls_server_config: {{{PAIR}, client_ca_file: ca.crt, client_auth_type: RequireAndVerifyClientCert}}",
        f"tls_server_config: {{{PAIR}, client_ca_file: ca.crt, client_auth_type: VerifyClientCertIfGiven}}",
        f"tls_server_config: {{{PAIR}, client_ca_file: ca.crt, client_auth_type: RequestClientCert}}",
        f"tls_server_config: {{{PAIR}, client_auth_type: Sometimes}}",
        f"tls_server_config: {{{PAIR}, cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]}}",
        f"tls_server_config: {{{PAIR}, cipher_suites: [ECDHE-ECDSA-AES128-GCM-SHA256]}}",
        f"tls_server_config: {{{PAIR}, curve_preferences: [CurveP256, CurveP384, CurveP521, X25519]}}",
        f"tls_server_config: {{{PAIR}, curve_preferences: [P-256]}}",
        f"tls_server_config: {{{PAIR}, prefer_server_cipher_suites: false}}",
        "http_server_config: {http2: false}",
        "http_server_config: {headers: {X-Frame-Options: deny, X-XSS-Protection: '0'}}",
        "http_server_config: {headers: {X-Frame-Options: allow}}",
        "http_server_config: {headers: {Server: mine}}",
        f"basic_auth_users: {{me: '{HASH}'}}",
        f"basic_auth_users: {{1: '{HASH}'}}",
        "basic_auth_users: {me: plain}",
        "basic_auth_users: {me: '$2y$10$tooshort'}",
        "basic_auth_users: [me]",
        "[",
    ],
)
def test_a_file_is_right_or_wrong_here_as_it_is_for_prometheus(tmp_path: Path, content: str) -> None:
    Authority(tmp_path).sign("server")
    path = tmp_path / "web.yml"
    path.write_text(content)
    command = [require("promtool", "prometheus"), "check", "web-config", str(path)]
    accepted = subprocess.run(command, check=False, capture_output=True).returncode == 0

    try:
        WebConfigReload(path)
    except ConfigError:
        assert not accepted
    else:
        assert accepted


def test_health_is_open_and_everything_else_is_not(tmp_path: Path, web_config: Path) -> None:
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    context.load_cert_chain(tmp_path / "prometheus.crt", tmp_path / "prometheus.key")

    def status(path: str, *, method: str = "GET", password: str | None = None) -> int:
        request = urllib.request.Request(url + path, method=method)
        if password is not None:
            credentials = base64.b64encode(f"prometheus:{password}".encode()).decode()
            request.add_header("Authorization", f"Basic {credentials}")
        try:
            with urllib.request.urlopen(request, context=context, timeout=120) as response:
                assert response.headers["Strict-Transport-Security"] == "max-age=31536000"
                return int(response.status)
        except urllib.error.HTTPError as refusal:
            refusal.close()
            return refusal.code

    with exporter(tmp_path / "exporter", f"--web.config.file={web_config}") as url:
        assert [status("/-/healthy"), status("/-/ready")] == [200, 200]
        assert [status("/"), status("/metrics"), status("/-/reload", method="POST"), status("/other")] == [401] * 4
        assert [status(path, password="guess") for path in ("/", "/metrics")] == [401] * 2
        assert [status(path, password=PASSWORD) for path in ("/", "/metrics")] == [200] * 2
        assert status("/-/reload", method="POST", password=PASSWORD) == 200
        assert status("/-/reload", password=PASSWORD) == 405


def test_no_secret_is_on_the_pages_or_in_the_log(tmp_path: Path, web_config: Path) -> None:
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    context.load_cert_chain(tmp_path / "prometheus.crt", tmp_path / "prometheus.key")
    credentials = base64.b64encode(f"prometheus:{PASSWORD}".encode()).decode()
    seen = ""

    with exporter(tmp_path / "exporter", f"--web.config.file={web_config}", "--log.level=debug") as url:
        for path in ("/", "/metrics"):
            request = urllib.request.Request(url + path, headers={"Authorization": f"Basic {credentials}"})
            with urllib.request.urlopen(request, context=context, timeout=120) as response:
                seen += response.read().decode()
    seen += (tmp_path / "exporter" / "exporter.log").read_text()

    for secret in (PASSWORD, credentials, "$2b$04$"):
        assert secret not in seen
