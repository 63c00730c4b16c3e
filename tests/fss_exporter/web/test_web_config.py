from pathlib import Path

import pytest
from click.testing import CliRunner

from fss_exporter.cli.config import config
from fss_exporter.errors import ConfigError
from fss_exporter.web.web_config import load
from fss_exporter.web.web_config_reload import WebConfigReload

# "password", at the lowest cost there is.
HASH = "$2y$04$W0p1OBnpX6YB37aPw8P5TOaQXZgqMq4bAzQd0oOOB0aWqLZz2O9S2"

EVERYTHING = f"""\
tls_server_config:
  cert_file: server.crt
  key_file: /etc/keys/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [prometheus.example.com]
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: true
  curve_preferences: [CurveP256, X25519]
http_server_config:
  http2: true
  headers:
    Content-Security-Policy: default-src 'none'
    X-Frame-Options: deny
    X-Content-Type-Options: nosniff
    X-XSS-Protection: "1"
    Strict-Transport-Security: max-age=31536000
basic_auth_users:
  prometheus: {HASH}
  123: {HASH}
rate_limit:
  interval: 1m30s
  burst: 10
"""


def written(directory: Path, content: str) -> Path:
    path = directory / "web.yml"
    path.write_text(content)
    return path


def test_every_key_of_the_exporter_toolkit_is_read(tmp_path: Path) -> None:
    read = load(written(tmp_path, EVERYTHING))

    assert read.tls_server_config.enabled
    assert read.tls_server_config.client_allowed_sans == ("prometheus.example.com",)
    assert read.http_server_config.headers["X-Frame-Options"] == "deny"
    assert set(read.basic_auth_users) == {"prometheus", "123"}
    assert (read.rate_limit.interval, read.rate_limit.burst) == (90.0, 10)


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    server = load(written(tmp_path, EVERYTHING)).tls_server_config

    assert server.cert_file == str(tmp_path / "server.crt")
    assert server.key_file == "/etc/keys/server.key"
    assert server.client_ca_file == str(tmp_path / "ca.crt")


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "tls_server_config: {}\nbasic_auth_users: {}\nhttp_server_config:\nrate_limit: {}\n",
        "tls_server_config: {}",
    ],
)
def test_empty_sections_protect_nothing(tmp_path: Path, content: str) -> None:
    read = load(written(tmp_path, content))

    assert not read.tls_server_config.enabled
    assert read.basic_auth_users == {}
    assert read.rate_limit.interval == 0


def test_versions_alone_do_not_turn_tls_on(tmp_path: Path) -> None:
    assert not load(written(tmp_path, "tls_server_config: {min_version: TLS13}")).tls_server_config.enabled


def test_a_blank_header_is_not_sent(tmp_path: Path) -> None:
    content = "http_server_config: {headers: {X-Frame-Options: '', X-XSS-Protection: ''}}"

    assert load(written(tmp_path, content)).http_server_config.headers == {}


def test_spaces_around_a_header_are_not_sent_as_in_the_toolkit(tmp_path: Path) -> None:
    content = "http_server_config: {headers: {Content-Security-Policy: ' ', X-XSS-Protection: ' 1; mode=block '}}"

    assert load(written(tmp_path, content)).http_server_config.headers == {"X-XSS-Protection": "1; mode=block"}


@pytest.mark.parametrize(
    ("content", "place", "fix"),
    [
        ("tls_config: {}", "line 1: tls_config", "Did you mean tls_server_config?"),
        ("tls_server_config:\n  cert_fil: a", "line 2: tls_server_config.cert_fil", "Did you mean cert_file?"),
        ("tls_server_config: {cert_file: a}", "tls_server_config", "key_file (or key) is missing"),
        ("tls_server_config: {key_file: a}", "tls_server_config", "cert_file (or cert) is missing"),
        ("tls_server_config: {client_auth_type: NoClientCert}", "tls_server_config", "cert_file (or cert) is missing"),
        (
            "tls_server_config: {cert_file: a, key_file: b, client_ca_file: c}",
            "tls_server_config",
            "a client CA needs client_auth_type",
        ),
        (
            "tls_server_config: {cert_file: a, key_file: b, client_allowed_sans: [x]}",
            "tls_server_config",
            "client_allowed_sans needs client_auth_type: RequireAndVerifyClientCert",
        ),
        (
            "tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAnyClientCert}",
            "client_auth_type",
            "or 'RequireAndVerifyClientCert'",
        ),
        ("tls_server_config: {client_auth_type: Always}", "client_auth_type", "RequireAndVerifyClientCert"),
        ("tls_server_config: {min_version: SSL3}", "min_version", "TLS12"),
        ("tls_server_config: {min_version: TLS10}", "min_version", "should be 'TLS12' or 'TLS13'"),
        ("tls_server_config: {max_version: TLS11}", "max_version", "should be 'TLS12' or 'TLS13'"),
        ("", "", "the file is empty"),
        ("tls_server_config:\n", "line 1: tls_server_config", "half written. Write {} for none"),
        ("basic_auth_users:\n", "line 1: basic_auth_users", "half written. Write {} for none"),
        ("rate_limit: ~\n", "line 1: rate_limit", "half written. Write {} for none"),
        ("# only a comment\n", "", "the file is empty"),
        (
            "tls_server_config: {min_version: TLS13, max_version: TLS12}",
            "tls_server_config",
            "min_version TLS13 is above max_version TLS12",
        ),
        ("tls_server_config: {cipher_suites: [AES128-SHA]}", "cipher_suites[0]", "unknown cipher suite"),
        ("tls_server_config: {curve_preferences: [P-256]}", "curve_preferences[0]", "CurveP256"),
        ("http_server_config: {headers: {Server: x}}", "headers", "Server cannot be set"),
        ("http_server_config: {headers: {X-Frame-Options: allow}}", "headers", "deny or sameorigin"),
        ('http_server_config: {headers: {X-XSS-Protection: "a\\r\\nb"}}', "headers", "one line of ASCII"),
        ("basic_auth_users: {me: secret}", "basic_auth_users.me", "must be a bcrypt hash"),
        (
            f"basic_auth_users: {{me: $2y$16${'a' * 53}}}",
            "basic_auth_users.me",
            "cost 16, and every login of every user",
        ),
        ("basic_auth_users: [me]", "basic_auth_users", "should be a mapping"),
        ("rate_limit: {interval: soon, burst: 1}", "rate_limit.interval", "not a length of time"),
        ("rate_limit: {interval: 1s}", "rate_limit", "burst must be at least 1"),
        ("basic_auth_users: {a: b", "line 1", "not YAML"),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_its_fix(tmp_path: Path, content: str, place: str, fix: str) -> None:
    path = written(tmp_path, content)

    with pytest.raises(ConfigError) as caught:
        load(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert place in str(caught.value)
    assert fix in str(caught.value)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, "rate_limit: {interval: 1s}\nbasic_auth_users: {a: b, c: d}\nnonsense: 1\n")

    with pytest.raises(ConfigError) as caught:
        load(path)

    assert len(caught.value.lines) == 4


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yml: cannot be read: No such file"):
        load(tmp_path / "nowhere.yml")


def test_no_secret_is_ever_repeated(tmp_path: Path) -> None:
    path = written(tmp_path, "basic_auth_users: {me: geheim}\ntls_server_config: {key: geheim, min_version: geheim}")

    with pytest.raises(ConfigError) as caught:
        load(path)

    assert "geheim" not in str(caught.value)
    assert HASH not in repr(load(written(tmp_path, EVERYTHING)))


@pytest.mark.parametrize(("cost", "is_slow"), [(12, False), (13, True), (15, True)])
def test_an_expensive_hash_is_warned_of_at_the_start_and_by_the_check(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cost: int, *, is_slow: bool
) -> None:
    file = tmp_path / "web.yml"
    file.write_text(f"basic_auth_users: {{quick: $2y$10${'a' * 53}, me: $2y${cost}${'a' * 53}}}\n")
    WebConfigReload(file)
    checked = CliRunner().invoke(config, ["check", "--web", str(file)])

    assert ("the hash of me has a cost of up to" in caplog.text) is is_slow
    assert ("the hash of me has a cost of up to" in checked.stderr) is is_slow
    assert checked.exit_code == 0
