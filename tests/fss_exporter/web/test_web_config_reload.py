"""A web configuration file that changes while the exporter runs."""

import errno
import logging
import os
from contextlib import suppress
from pathlib import Path

import pytest
from tests.fss_exporter.web.certificates import Authority
from tests.fss_exporter.web.guarded import HASH, OPEN, RIGHT, application, ask, write
from tests.fss_exporter.web.serving import look_twice

from fss_exporter.errors import ConfigError
from fss_exporter.web.messages import Request
from fss_exporter.web.web_config_reload import WebConfigReload


@pytest.mark.parametrize(
    "rubbish", ["basic_auth_users: {me: plain}", "\x00\xff", "[", "", "# nothing\n", "basic_auth_users:\n", "{}", None]
)
def test_a_file_that_became_wrong_changes_nothing_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, rubbish: str | None
) -> None:
    path = write(tmp_path / "web.yml", f"basic_auth_users: {{me: {HASH}}}")
    web_config = WebConfigReload(path)

    if rubbish is None:
        path.unlink()
    else:
        write(path, rubbish)

    for _ in range(3):
        assert ask(web_config, "/metrics").status == 401
        assert ask(web_config, "/metrics", RIGHT).status == 200
    assert caplog.text.count("kept the old web configuration") == 1

    write(path, "basic_auth_users: {}")
    assert ask(web_config, "/metrics").status == 200


def test_used_tokens_survive_a_change_elsewhere(tmp_path: Path) -> None:
    same = f"rate_limit: {{interval: 1h, burst: 2}}\nbasic_auth_users: {{me: {HASH}}}"
    path = write(tmp_path / "web.yml", same)
    web_config = WebConfigReload(path)
    assert ask(web_config, "/metrics", RIGHT).status == 200

    write(path, same + "\nhttp_server_config: {headers: {X-Frame-Options: deny}}")

    assert [ask(web_config, "/metrics", RIGHT).status for _ in range(2)] == [200, 429]


def test_reload_reads_the_file_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    path = write(tmp_path / "web.yml", "{}")
    web_config = WebConfigReload(path)

    write(path, "nonsense: 1")
    with pytest.raises(ConfigError, match="nonsense"):
        web_config.reload()
    assert ask(web_config, "/metrics").status == 200

    write(path, f"basic_auth_users: {{me: {HASH}}}")
    web_config.reload()
    assert ask(web_config, "/metrics").status == 401


def test_a_pipe_in_place_of_the_file_blocks_no_reload(tmp_path: Path) -> None:
    path = write(tmp_path / "web.yml", "{}")
    web_config = WebConfigReload(path)

    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="not a regular file"):
        web_config.reload()
    look_twice(web_config)
    assert not web_config.loop.heartbeat.success

    write(path, f"basic_auth_users: {{me: {HASH}}}")
    web_config.reload()
    assert ask(web_config, "/metrics").status == 401


def test_tls_cannot_go_away_by_an_edit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pair = Authority(tmp_path).sign("server")
    path = write(
        tmp_path / "web.yml", f"tls_server_config: {{cert_file: {pair.certificate.name}, key_file: {pair.key.name}}}"
    )
    web_config = WebConfigReload(path)

    write(path, "{}")

    look_twice(web_config)
    assert web_config.tls() is not None
    assert "TLS cannot come or go while running. Restart the exporter" in caplog.text


def test_a_certificate_that_comes_after_its_configuration_is_not_missed(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    first, second = authority.sign("first"), authority.sign("second")
    path = write(tmp_path / "web.yml", "tls_server_config: {cert_file: first.crt, key_file: first.key}")
    web_config = WebConfigReload(path)
    before = web_config.tls()
    late = second.certificate.rename(tmp_path / "late")

    write(path, "tls_server_config: {cert_file: second.crt, key_file: second.key}")
    look_twice(web_config)
    assert web_config.tls() is before

    late.rename(second.certificate)
    look_twice(web_config)
    assert web_config.tls() is not before
    assert first.certificate.exists()


def test_a_key_that_is_copied_a_second_after_its_certificate_is_no_mistake(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority(tmp_path)
    first, second = authority.sign("first"), authority.sign("second")
    path = write(tmp_path / "web.yml", "tls_server_config: {cert_file: first.crt, key_file: first.key}")
    web_config = WebConfigReload(path)
    before = web_config.tls()

    second.certificate.rename(first.certificate)
    web_config.loop.run_once()
    second.key.rename(first.key)
    look_twice(web_config)

    assert web_config.tls() is not before
    assert "kept the old web configuration" not in caplog.text


def test_a_file_that_could_not_be_read_is_read_when_the_disk_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The file is the same before and after: a full table of descriptors, a broken disk, a mode that chmod mends."""
    caplog.set_level(logging.INFO)
    path = write(tmp_path / "web.yml", "{}")
    web_config = WebConfigReload(path)

    def refuse(_: object) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as broken:
        broken.setattr("fss_exporter.yaml_lines.read_regular", refuse)
        write(path, f"basic_auth_users: {{me: {HASH}}}")
        assert ask(web_config, "/metrics").status == 200
        refused = web_config.loop.heartbeat

    assert not refused.success
    assert ask(web_config, "/metrics").status == 401
    assert web_config.loop.heartbeat.success
    assert caplog.text.count("kept the old web configuration") == 1
    assert caplog.text.count("was read again") == 1


def test_a_second_mistake_in_the_file_is_logged_as_well(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "web.yml", "{}")
    web_config = WebConfigReload(path)

    for key in ("first", "second"):
        write(path, f"{key}: 1")
        for _ in range(3):
            look_twice(web_config)

    assert caplog.text.count("kept the old web configuration") == 2
    assert "second" in caplog.messages[1]


def test_a_file_of_equal_size_with_the_time_of_the_old_one_is_seen(tmp_path: Path) -> None:
    path = write(tmp_path / "web.yml", f"basic_auth_users: {{me: {HASH}}}")
    before = path.stat()
    web_config = WebConfigReload(path)

    path.write_text(f"basic_auth_users: {{us: {HASH}}}")  # in place, as rsync --inplace --times does
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert path.stat().st_size == before.st_size
    assert ask(web_config, "/metrics", RIGHT).status == 401


def test_a_change_behind_a_symbolic_link_is_seen(tmp_path: Path) -> None:
    # How Kubernetes renews a mounted secret.
    for number, content in enumerate(("{}", f"basic_auth_users: {{me: {HASH}}}")):
        (tmp_path / f"data{number}").mkdir()
        (tmp_path / f"data{number}" / "web.yml").write_text(content)
    (tmp_path / "data").symlink_to("data0")
    web_config = WebConfigReload(tmp_path / "data" / "web.yml")
    assert ask(web_config, "/metrics").status == 200

    (tmp_path / "fresh").symlink_to("data1")
    (tmp_path / "fresh").replace(tmp_path / "data")

    assert ask(web_config, "/metrics").status == 401


def test_the_loop_that_watches_the_file_says_whether_it_is_right(tmp_path: Path) -> None:
    path = write(tmp_path / "web.yml", "{}")
    web_config = WebConfigReload(path)
    look_twice(web_config)
    assert web_config.loop.heartbeat.success

    write(path, "nonsense: 1")
    for _ in range(2):
        look_twice(web_config)
        assert not web_config.loop.heartbeat.success

    write(path, "{}")
    look_twice(web_config)
    assert web_config.loop.heartbeat.success


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        ("rate_limit: {interval: 1s, burst: 3}", "{}", "rate_limit"),
        (
            "tls_server_config: {%s, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt}",
            "tls_server_config: {%s}",
            "tls_server_config.client_auth_type",
        ),
        (
            "tls_server_config: {%s, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt}",
            "tls_server_config: {%s, client_auth_type: RequireAndVerifyClientCert}",
            "tls_server_config.client_ca_file",
        ),
        (
            "tls_server_config: {%s, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt, client_allowed_sans: [a]}",
            "tls_server_config: {%s, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt}",
            "tls_server_config.client_allowed_sans",
        ),
    ],
)
def test_protection_that_a_file_does_not_mention_any_more_stays(
    tmp_path: Path, before: str, after: str, gone: str
) -> None:
    Authority(tmp_path).sign("server")
    pair = "cert_file: server.crt, key_file: server.key"
    path = write(tmp_path / "web.yml", before.replace("%s", pair))
    web_config = WebConfigReload(path)
    in_force = web_config._in_force

    write(path, after.replace("%s", pair))

    with pytest.raises(ConfigError, match=f"{gone} is gone"):
        web_config.reload()
    assert web_config._in_force is in_force


@pytest.mark.parametrize("rest", ["client_auth_type: NoClientCert", "client_auth_type: %s, client_ca_file: ''"])
def test_a_file_can_say_that_the_client_ca_goes(tmp_path: Path, rest: str) -> None:
    Authority(tmp_path).sign("server")
    kind = "RequireAndVerifyClientCert"
    pair = "cert_file: server.crt, key_file: server.key"
    path = write(
        tmp_path / "web.yml", f"tls_server_config: {{{pair}, client_auth_type: {kind}, client_ca_file: ca.crt}}"
    )
    web_config = WebConfigReload(path)

    write(path, f"tls_server_config: {{{pair}, {rest.replace('%s', kind)}}}")
    web_config.reload()()

    assert not web_config._in_force.configuration.tls_server_config.has_client_ca


def test_a_prefix_of_a_file_that_protects_is_never_less_protection(tmp_path: Path) -> None:
    content = f"http_server_config:\n  http2: true\nbasic_auth_users:\n  me: {HASH}\nrate_limit:\n  interval: 1s\n  burst: 9\n"
    path = write(tmp_path / "web.yml", content)
    web_config = WebConfigReload(path)

    for length in range(len(content)):
        write(path, content[:length])
        with suppress(ConfigError):
            web_config.reload()
        assert ask(web_config, "/metrics").status in {401, 429}


def test_a_reload_that_takes_long_brings_back_no_older_file(tmp_path: Path) -> None:
    path = write(tmp_path / "web.yml", "{}")
    web_config = WebConfigReload(path)
    put_in_force = web_config.reload()

    write(path, f"basic_auth_users: {{me: {HASH}}}")
    assert ask(web_config, "/metrics").status == 401
    put_in_force()

    guarded = web_config.guard(application, open_paths=OPEN)
    assert guarded(Request("GET", "/metrics", "", {}, "::1")).status == 401
