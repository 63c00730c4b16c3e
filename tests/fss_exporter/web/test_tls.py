import ipaddress
import logging
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPSConnection
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from tests.fss_exporter.web.certificates import Authority, Pair
from tests.fss_exporter.web.serving import Served, look_twice, serving
from tests.processes import NEVER_S, PATIENCE_S

from fss_exporter.errors import ConfigError
from fss_exporter.web.http_server import ServerLimits
from fss_exporter.web.messages import Request, Response
from fss_exporter.web.tls import ServerTls
from fss_exporter.web.web_config_reload import WebConfigReload


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def configured(directory: Path, server: Pair, **more: object) -> Path:
    lines = {"cert_file": server.certificate, "key_file": server.key, **more}
    path = directory / "web.yml"
    path.write_text("tls_server_config:\n" + "".join(f"  {name}: {value}\n" for name, value in lines.items()))
    return path


def trusting(authority: Authority, client: Pair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.pair.certificate))
    if client:
        context.load_cert_chain(client.certificate, client.key)
    return context


@contextmanager
def secured(path: Path) -> Iterator[Served]:
    with serving(tls=WebConfigReload(path).tls) as served:
        yield served


def test_an_invalid_address_in_a_client_certificate_is_no_name_and_no_error() -> None:
    server = ServerTls(ssl.create_default_context(), frozenset({"prometheus", "10.0.0.1"}))
    odd = ("IP Address", "<invalid>")

    assert server.admits({"subjectAltName": (odd, ("DNS", "prometheus"))})
    assert server.admits({"subjectAltName": (odd, ("IP Address", "10.0.0.1"))})
    assert not server.admits({"subjectAltName": (odd,)})


def refused(served: Served, context: ssl.SSLContext) -> bool:
    try:
        served.get("/", context=context)
    except OSError:
        return True
    return False


def test_https_is_served(tmp_path: Path, authority: Authority) -> None:
    with secured(configured(tmp_path, authority.sign("server"))) as served:
        assert served.get("/", context=trusting(authority)).status == 200


def test_one_connection_serves_many_requests_of_any_size(tmp_path: Path, authority: Authority) -> None:
    large = bytes(5_000_000)

    def application(request: Request) -> Response:
        return Response(200, large if request.path == "/large" else b"small")

    web = configured(tmp_path, authority.sign("server"))
    limits = ServerLimits(send_seconds=NEVER_S, idle_seconds=NEVER_S)
    with serving(application, tls=WebConfigReload(web).tls, limits=limits) as served:
        connection = HTTPSConnection("127.0.0.1", served.port, timeout=PATIENCE_S, context=trusting(authority))
        for path, expected in (("/small", b"small"), ("/large", large)) * 5:
            connection.request("GET", path)
            assert connection.getresponse().read() == expected
        assert len(served.server.connections) == 1
        connection.close()


def test_certificate_key_and_ca_may_stand_in_the_file_itself(tmp_path: Path, authority: Authority) -> None:
    server, client = authority.sign("server"), authority.sign("client")
    path = tmp_path / "web.yml"
    inline = {"cert": server.certificate, "key": server.key, "client_ca": authority.pair.certificate}
    path.write_text(
        "tls_server_config:\n  client_auth_type: RequireAndVerifyClientCert\n"
        + "".join(
            f"  {name}: |\n    {file.read_text().replace(chr(10), chr(10) + '    ')}\n" for name, file in inline.items()
        )
    )

    with secured(path) as served:
        assert served.get("/", context=trusting(authority, client)).status == 200
        assert refused(served, trusting(authority))


@pytest.mark.parametrize(
    ("kind", "certificate", "expected"),
    [
        ("RequireAndVerifyClientCert", "ours", True),
        ("RequireAndVerifyClientCert", "theirs", False),
        ("RequireAndVerifyClientCert", "", False),
        ("VerifyClientCertIfGiven", "ours", True),
        ("VerifyClientCertIfGiven", "theirs", False),
        ("VerifyClientCertIfGiven", "", True),
        ("RequestClientCert", "", True),
        ("RequestClientCert", "theirs", True),
    ],
)
def test_client_certificates_are_asked_for_as_configured(
    tmp_path: Path, authority: Authority, kind: str, certificate: str, *, expected: bool
) -> None:
    (tmp_path / "theirs").mkdir()
    clients = {"ours": authority.sign("ours"), "theirs": Authority(tmp_path / "theirs").sign("theirs"), "": None}
    path = configured(
        tmp_path, authority.sign("server"), client_auth_type=kind, client_ca_file=authority.pair.certificate
    )

    with secured(path) as served:
        assert refused(served, trusting(authority, clients[certificate])) is not expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (x509.DNSName("prometheus.example.com"), True),
        (x509.IPAddress(ipaddress.ip_address("2001:db8::1")), True),
        (x509.RFC822Name("sre@example.com"), True),
        (x509.UniformResourceIdentifier("spiffe://example.com/prometheus"), True),
        (x509.DNSName("grafana.example.com"), False),
        (x509.DNSName("PROMETHEUS.example.com"), False),
    ],
)
def test_only_certificates_with_an_allowed_name_are_let_in(
    tmp_path: Path, authority: Authority, name: x509.GeneralName, *, expected: bool
) -> None:
    path = configured(
        tmp_path,
        authority.sign("server"),
        client_auth_type="RequireAndVerifyClientCert",
        client_ca_file=authority.pair.certificate,
        client_allowed_sans='["prometheus.example.com", "2001:db8::1", "sre@example.com", "spiffe://example.com/prometheus"]',
    )

    with secured(path) as served:
        assert refused(served, trusting(authority, authority.sign("client", name))) is not expected


def test_a_self_signed_client_certificate_can_be_its_own_ca(tmp_path: Path, authority: Authority) -> None:
    client = authority.sign("client")
    path = configured(
        tmp_path,
        authority.sign("server"),
        client_auth_type="RequireAndVerifyClientCert",
        client_ca_file=client.certificate,
    )

    with secured(path) as served:
        assert not refused(served, trusting(authority, client))
        assert refused(served, trusting(authority, authority.sign("another")))


def test_versions_outside_the_range_are_refused(tmp_path: Path, authority: Authority) -> None:
    only_1_2 = trusting(authority)
    only_1_2.maximum_version = ssl.TLSVersion.TLSv1_2

    with secured(configured(tmp_path, authority.sign("server"), min_version="TLS13")) as served:
        assert refused(served, only_1_2)
        assert not refused(served, trusting(authority))
    for versions in ({"max_version": "TLS12"}, {"min_version": "TLS12"}):
        with secured(configured(tmp_path, authority.sign("server"), **versions)) as served:
            assert not refused(served, only_1_2)


def test_only_the_listed_cipher_suites_are_spoken(tmp_path: Path, authority: Authority) -> None:
    path = configured(
        tmp_path,
        authority.sign("server"),
        max_version="TLS12",
        cipher_suites="[TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_AES_128_GCM_SHA256]",
        curve_preferences="[CurveP384]",
    )
    other = trusting(authority)
    other.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")

    with secured(path) as served:
        assert refused(served, other)
        assert not refused(served, trusting(authority))


def test_a_renewed_certificate_is_shown_to_the_next_connection(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "next").mkdir()
    server = authority.sign("server")
    next_authority = Authority(tmp_path / "next")

    web_config = WebConfigReload(configured(tmp_path, server))
    with serving(tls=web_config.tls) as served:
        assert not refused(served, trusting(authority))
        server.replace_with(next_authority.sign("renewed"))
        look_twice(web_config)
        assert not refused(served, trusting(next_authority))
        assert refused(served, trusting(authority))


def test_a_certificate_replaced_by_rubbish_keeps_the_old_one_until_it_is_mended(
    tmp_path: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server, mended = authority.sign("server"), authority.sign("mended")

    web_config = WebConfigReload(configured(tmp_path, server))
    with serving(tls=web_config.tls) as served:
        server.certificate.write_bytes(b"\x00rubbish" * 1000)
        for _ in range(3):
            look_twice(web_config)
            assert not refused(served, trusting(authority))
        server.replace_with(mended)
        look_twice(web_config)
        assert not refused(served, trusting(authority))

    messages = [record.message for record in caplog.records]
    assert sum("kept the old web configuration" in message for message in messages) == 1
    assert sum("was read again" in message for message in messages) >= 1


def _device(pair: Pair) -> None:
    pair.certificate.unlink()
    pair.certificate.symlink_to("/dev/zero")


def _pipe(pair: Pair) -> None:
    pair.key.unlink()
    os.mkfifo(pair.key)


def _encrypted(pair: Pair) -> None:
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    pair.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        pytest.param(lambda pair: pair.certificate.unlink(), "cert_file: cannot read", id="no certificate"),
        pytest.param(lambda pair: pair.key.unlink(), "key_file: cannot read", id="no key"),
        pytest.param(_device, "cert_file: cannot read .*: not a regular", id="a device"),
        pytest.param(_pipe, "key_file: cannot read .*: not a regular", id="a pipe"),
        pytest.param(lambda pair: os.truncate(pair.key, 3 << 30), "key_file: .* larger than 1 MiB", id="3 GiB"),
        pytest.param(lambda pair: pair.certificate.write_text("x"), "cannot be used", id="rubbish certificate"),
        pytest.param(lambda pair: pair.key.write_text("x"), "cannot be used", id="rubbish key"),
        pytest.param(_encrypted, "cannot be used", id="encrypted key"),
    ],
)
def test_unusable_files_are_named_at_the_start(
    tmp_path: Path, authority: Authority, spoil: object, complaint: str
) -> None:
    server = authority.sign("server")
    assert callable(spoil)
    spoil(server)

    with pytest.raises(ConfigError, match=complaint):
        WebConfigReload(configured(tmp_path, server))


@pytest.mark.parametrize(
    ("method", "setting", "failure"),
    [
        ("set_ciphers", "cipher_suites: [TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256]", ssl.SSLError("No cipher")),
        ("set_ecdh_curve", "curve_preferences: [X25519]", ValueError("unknown elliptic curve name 'X25519'")),
    ],
)
def test_a_cipher_or_curve_that_the_openssl_of_a_fips_host_refuses_is_reported(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch, method: str, setting: str, failure: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise failure

    monkeypatch.setattr(ssl.SSLContext, method, refuse)
    key, _, value = setting.partition(": ")

    with pytest.raises(ConfigError, match=f"tls_server_config.{key}: OpenSSL of this host refuses"):
        WebConfigReload(configured(tmp_path, authority.sign("server"), **{key: value}))


def test_a_key_that_belongs_to_another_certificate_is_reported(tmp_path: Path, authority: Authority) -> None:
    mixed = Pair(authority.sign("one").certificate, authority.sign("other").key)

    with pytest.raises(ConfigError, match="key values mismatch"):
        WebConfigReload(configured(tmp_path, mixed))


@pytest.mark.parametrize(
    "setting", ['cert_file: "a\\0b", key_file: k', 'cert_file: "\\ud800", key_file: k', 'cert: "\\ud800", key: k']
)
def test_a_character_that_no_file_has_is_a_mistake_like_others(tmp_path: Path, setting: str) -> None:
    path = tmp_path / "web.yml"
    path.write_text(f"tls_server_config: {{{setting}}}\n")

    with pytest.raises(ConfigError, match=r"tls_server_config\.cert"):
        WebConfigReload(path)


@pytest.mark.parametrize("content", [None, "", "rubbish"])
def test_an_unusable_client_ca_is_reported(tmp_path: Path, authority: Authority, content: str | None) -> None:
    ca = tmp_path / "client-ca.crt"
    if content is not None:
        ca.write_text(content)
    path = configured(
        tmp_path, authority.sign("server"), client_auth_type="RequireAndVerifyClientCert", client_ca_file=ca
    )

    with pytest.raises(ConfigError, match=r"client-ca\.crt"):
        WebConfigReload(path)


def test_plain_http_to_a_tls_port_costs_that_client_only(
    tmp_path: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    with secured(configured(tmp_path, authority.sign("server"))) as served:
        with served.connect() as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            with suppress(ConnectionResetError):
                assert b"HTTP" not in plain.recv(1000)
        assert not refused(served, trusting(authority))

    assert "http request" in caplog.text.lower()
