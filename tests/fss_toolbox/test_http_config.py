"""The file of `--http-config`: what a server wants to see before it answers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.local_server import Quiet, serving
from tests.prompt import ask

from fss_exporter.errors import ConfigError, SourceError
from fss_toolbox.cli.top import TopFlags, _source
from fss_toolbox.fetch import get
from fss_toolbox.http_config import load_access

EMPTY = '{"status":"success","data":{"resultType":"vector","result":[]}}'


@contextmanager
def tenant(**wanted: str) -> Iterator[str]:
    """A Prometheus of many tenants, which answers who sends these headers, and else says as Mimir does: `no org id`; the URL."""

    class Tenant(Quiet):
        def get(self) -> None:
            knows = all(self.headers.get(name.replace("_", "-")) == value for name, value in wanted.items())
            self.answer(EMPTY if knows else "no org id\n", 200 if knows else 401)

    with serving(Tenant) as host:
        yield f"http://{host}/prometheus"


def written(folder: Path, text: str, files: Mapping[str, str] | None = None) -> Path:
    """Write the configuration and the files that it names."""
    for name, content in (files or {}).items():
        (folder / name).write_text(content)
    path = folder / "http.yml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("basic_auth: {username: 123456, password_file: secret}", {"Authorization": "Basic MTIzNDU2OmMycw=="}),
        ("basic_auth: {username: a, password: b}", {"Authorization": "Basic YTpi"}),
        ("authorization: {credentials_file: secret}", {"Authorization": "Bearer c2s"}),
        ("authorization: {type: Token, credentials: abc}", {"Authorization": "Token abc"}),
        ("http_headers: {X-Scope-OrgID: {values: [42]}}", {"X_Scope_OrgID": "42"}),
        ("http_headers: {X-Key: {values: [a], secrets: [b], files: [secret]}}", {"X_Key": "a, b, c2s"}),
    ],
)
def test_a_server_gets_what_the_file_names(tmp_path: Path, text: str, header: dict[str, str]) -> None:
    """Paths are relative to the file, and the line break at the end of a secret is none of it."""
    access = load_access(written(tmp_path, text, {"secret": "c2s\n"}))
    with tenant(**header) as url:
        assert get(url, access=access) == EMPTY


def test_a_token_that_was_renewed_is_sent_with_the_next_question(tmp_path: Path) -> None:
    access = load_access(written(tmp_path, "authorization: {credentials_file: token}", {"token": "old"}))
    (tmp_path / "token").write_text("new")
    with tenant(Authorization="Bearer new") as url:
        assert get(url, access=access) == EMPTY


def test_a_token_that_went_away_is_named(tmp_path: Path) -> None:
    access = load_access(written(tmp_path, "authorization: {credentials_file: token}", {"token": "old"}))
    (tmp_path / "token").unlink()
    with pytest.raises(SourceError, match=r"authorization\.credentials_file: cannot read .*token: No such file"):
        get("http://127.0.0.1:1/", access=access)


def test_a_secret_does_not_follow_a_redirect(tmp_path: Path) -> None:
    access = load_access(written(tmp_path, "basic_auth: {username: a}\nhttp_headers: {X-Key: {secrets: [b]}}"))
    seen = []

    class Other(Quiet):
        def get(self) -> None:
            seen.append((self.headers.get("Authorization"), self.headers.get("X-Key")))
            self.answer()

    with serving(Other) as other:

        class Redirect(Quiet):
            def get(self) -> None:
                self.answer(status=302, Location=f"http://{other}/")

        with serving(Redirect) as host:
            get(f"http://{host}/", access=access)
    assert seen == [(None, None)]


MISTAKES = {
    "oauth2: {client_id: a}": "line 1: oauth2: unknown key. Known keys: authorization, basic_auth, http_headers, tls_config",
    "basic_auth: {user: a}": "line 1: basic_auth.user: unknown key. Did you mean username?",
    "basic_auth: {username: a, password: b, password_file: c}": "line 1: basic_auth: give password or password_file",
    "authorization: {credentials: a, credentials_file: b}": "line 1: authorization: give credentials or credentials_file",
    "authorization: {type: Basic, credentials: a}": "line 1: authorization.type: write basic_auth in place of the type Basic",
    "authorization: {}": "line 1: authorization: give credentials or credentials_file",
    "authorization: {credentials: a}\nbasic_auth: {username: a}": "give basic_auth or authorization, not both",
    "authorization: {credentials_file: none}": "authorization.credentials_file: cannot read ",
    "authorization: {credentials_file: two-lines}": "authorization.credentials_file: must be one line of ASCII text",
    "authorization: {credentials_file: empty}": "authorization.credentials_file: ",
    "http_headers: {X-Key: {values: [a]}, x-key: {values: [b]}}": "line 1: http_headers: X-Key and x-key are one header",
    "http_headers: {Host: {values: [a]}}": "line 1: http_headers: Host cannot be set",
    "http_headers: {authorization: {values: [a]}}": "line 1: http_headers: authorization cannot be set",
    "http_headers: {'a b': {values: [a]}}": "line 1: http_headers: 'a b' is no name of a header",
    'http_headers: {X-Key: {secrets: ["sécret"]}}': "http_headers.X-Key: must be one line of ASCII text",
    "http_headers: {X-Key: {files: [none]}}": "http_headers.X-Key.files[0]: cannot read ",
    "http_headers: {X-Key: {}}": "line 1: http_headers.X-Key: give values, secrets or files",
    "tls_config: {ca_file: none}": "tls_config.ca_file: cannot read ",
    "tls_config: {ca_file: two-lines}": "tls_config.ca_file: ",
    "tls_config: {cert_file: two-lines}": "line 1: tls_config: cert_file and key_file go together",
    "tls_config: {cert_file: two-lines, key_file: two-lines}": "tls_config.cert_file: ",
    "http_config: {authorization: {credentials: a}}": "line 1: http_config: leave out this line, and write its keys at the top",
    "": "the file is empty",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named_with_its_place_and_without_the_secret(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text, {"two-lines": "sécret\nsécret", "empty": "\n"})
    with pytest.raises(ConfigError) as mistake:
        load_access(path)
    assert str(mistake.value).startswith(f"{path}: ")
    assert MISTAKES[text] in str(mistake.value)
    assert "sécret" not in str(mistake.value)


def test_a_tenants_prometheus_answers_plan_with_the_header_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "http_headers: {X-Scope-OrgID: {values: [team]}}")
    with tenant(X_Scope_OrgID="team") as url:
        refused = ask("plan", "--prometheus", url)
        heard = ask("plan", "--prometheus", url, "--http-config", path)
    assert (refused.code, heard.code) == (1, 1)
    assert "HTTP 401 Unauthorized: no org id. Give headers, a token or a password with --http-config" in refused.err
    assert "Prometheus has no fss_client_ and no fss_mount_target_ metrics" in heard.err


def test_every_command_that_asks_a_url_sends_the_header_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "http_headers: {X-Scope-OrgID: {values: [team]}}")
    seen: list[str | None] = []

    class Server(Quiet):
        def get(self) -> None:
            seen.append(self.headers.get("X-Scope-OrgID"))
            self.answer(status=503)

    with serving(Server) as host:
        url = f"http://{host}"
        ask("iostat", "--url", url, "--http-config", path)
        ask("doctor", "--no-account", "--no-client", "--url", url, "--http-config", path)
        for flags in (TopFlags(interval=None, url=url), TopFlags(interval=None, prometheus=url)):
            with pytest.raises(SourceError, match="503"):
                _source(replace(flags, http_config=path)).read()
    assert seen == ["team"] * 4


def test_a_url_with_a_password_is_refused_with_the_way_out() -> None:
    """Every user of a host can read the arguments of a process."""
    for command in (
        ("iostat", "--url"),
        ("top", "--url"),
        ("top", "--prometheus"),
        ("doctor", "--no-account", "--url"),
        ("plan", "--prometheus"),
    ):
        answer = ask(*command, "http://me:hunter2@127.0.0.1:1")
        assert answer.code == 2
        assert "give --http-config=FILE with basic_auth: {username: NAME, password_file: FILE}" in answer.err
        assert "hunter2" not in answer.err


def test_a_file_without_a_server_to_ask_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "{}")
    for command in (("iostat",), ("top",), ("plan", "--reads", "1", "--read-size", "4k")):
        answer = ask(*command, "--http-config", path)
        assert answer.code == 2
        assert "--http-config goes with" in answer.err
