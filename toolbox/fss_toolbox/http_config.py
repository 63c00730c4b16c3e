# SPDX-License-Identifier: Apache-2.0
"""Read the file of `--http-config`: the password, token, headers and TLS that a server wants, in the form of Prometheus.

The keys are those of https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config (read 2026-11-29)
that a query needs, with the same meaning. Every other key is refused by name.
"""

import base64
import re
import ssl
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from fss_exporter.errors import ConfigError
from fss_exporter.regular_files import read_regular
from fss_exporter.web.tls import mistake
from fss_exporter.yaml_lines import mistakes_of, read_document
from fss_toolbox.fetch import Access

_NAME: Final = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)

# Headers of the connection, and those that another section or the command itself sets.
_SET_ELSEWHERE: Final = frozenset(
    "accept accept-encoding authorization connection content-length host proxy-authorization user-agent".split()
)


def _bearer(kind: str) -> str:
    if kind.lower() == "basic":
        raise ValueError(f"write basic_auth in place of the type {kind}")
    return kind


def _header_names(headers: "dict[str, Header]") -> "dict[str, Header]":
    seen: dict[str, str] = {}
    for name in headers:
        if seen.setdefault(name.lower(), name) != name:
            raise ValueError(f"{seen[name.lower()]} and {name} are one header")
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header")
        if name.lower() in _SET_ELSEWHERE:
            raise ValueError(f"{name} cannot be set")
    return headers


class _HttpConfigSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class BasicAuth(_HttpConfigSection):
    """A user, and the password or a file with it."""

    username: str
    password: str = Field(default="", repr=False)
    password_file: Path | None = None

    @model_validator(mode="after")
    def _has_one_password(self) -> Self:
        if self.password and self.password_file:
            raise ValueError("give password or password_file, not both")
        return self


class Authorization(_HttpConfigSection):
    """The header Authorization: a type, and the token or a file with it."""

    type: Annotated[str, AfterValidator(_bearer)] = "Bearer"
    credentials: str = Field(default="", repr=False)
    credentials_file: Path | None = None

    @model_validator(mode="after")
    def _has_one_token(self) -> Self:
        if bool(self.credentials) == bool(self.credentials_file):
            raise ValueError("give credentials or credentials_file")
        return self


class TlsClient(_HttpConfigSection):
    """Who signs the certificate of the server, and the client's own certificate. All files are PEM."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    insecure_skip_verify: bool = False

    @model_validator(mode="after")
    def _has_a_pair(self) -> Self:
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("cert_file and key_file go together")
        return self


class Header(_HttpConfigSection):
    """The values of a header. A server gets them as one list."""

    values: tuple[str, ...] = ()
    secrets: tuple[str, ...] = Field(default=(), repr=False)
    files: tuple[Path, ...] = ()

    @model_validator(mode="after")
    def _has_a_value(self) -> Self:
        if not (self.values or self.secrets or self.files):
            raise ValueError("give values, secrets or files")
        return self


class HttpConfig(_HttpConfigSection):
    """The whole file."""

    basic_auth: BasicAuth | None = None
    authorization: Authorization | None = None
    tls_config: TlsClient = TlsClient()
    http_headers: Annotated[dict[str, Header], AfterValidator(_header_names)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _signs_in_once(self) -> Self:
        if self.basic_auth and self.authorization:
            raise ValueError("give basic_auth or authorization, not both")
        return self


def load_access(path: Path) -> Access:
    """Read the file, and try every file that it names. Paths are relative to the folder of the file.

    Each request reads the files of passwords, tokens and headers again, because a token of Kubernetes is renewed within the hour.

    Raises:
        ConfigError: every mistake, with line and place and without any secret.
    """
    document = read_document(path)
    if document.is_empty:
        raise ConfigError(
            document.source, ("the file is empty. Leave out --http-config for a server that wants nothing",)
        )
    if "http_config" in document.content:  # as in the configuration of Alertmanager
        place = document.where(("http_config",))
        raise ConfigError(document.source, (f"{place}leave out this line, and write its keys at the top",))
    try:
        config = HttpConfig.model_validate(document.content)
    except ValidationError as error:
        raise ConfigError(document.source, mistakes_of(error, document, HttpConfig)) from error
    secrets = _Secrets(path, config)
    secrets.headers()
    return Access(secrets.headers, _tls(path, config.tls_config))


class _Secrets:
    """The headers of a configuration."""

    def __init__(self, path: Path, config: HttpConfig) -> None:
        self._path = path
        self._config = config

    def headers(self) -> dict[str, str]:
        """Return the headers with the secrets that the files have now.

        Raises:
            ConfigError: a file cannot be read, or a value is no header.
        """
        headers = {}
        if basic := self._config.basic_auth:
            password = self._content("basic_auth.password_file", basic.password_file) or basic.password
            headers["Authorization"] = f"Basic {base64.b64encode(f'{basic.username}:{password}'.encode()).decode()}"
        if token := self._config.authorization:
            place = "authorization.credentials_file" if token.credentials_file else "authorization.credentials"
            content = self._content(place, token.credentials_file) or token.credentials
            headers["Authorization"] = self._one_line(place, f"{token.type} {content}")
        for name, header in self._config.http_headers.items():
            place = f"http_headers.{name}"
            files = (self._content(f"{place}.files[{at}]", file) for at, file in enumerate(header.files))
            headers[name] = self._one_line(place, ", ".join((*header.values, *header.secrets, *files)))
        return headers

    def _content(self, place: str, file: Path | None) -> str:
        """Return the content of a file without blanks and line breaks around it. Empty without a file.

        Raises:
            ConfigError: the file cannot be read, or has no content.
        """
        if file is None:
            return ""
        whole = self._path.parent / file
        with mistake(str(self._path), f"{place}: cannot read {whole}"):
            content = read_regular(whole).decode().strip()
        if not content:
            raise ConfigError(str(self._path), (f"{place}: {whole} is empty",))
        return content

    def _one_line(self, place: str, value: str) -> str:
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(str(self._path), (f"{place}: must be one line of ASCII text",))
        return value


def _tls(path: Path, config: TlsClient) -> ssl.SSLContext:
    """Return the context of connections with these files. OpenSSL names no file in an error, so each is read here first."""
    files = {
        name: path.parent / file for name in ("ca_file", "cert_file", "key_file") if (file := getattr(config, name))
    }
    for name, file in files.items():
        with mistake(str(path), f"tls_config.{name}: cannot read {file}"):
            read_regular(file)
    context = ssl.create_default_context()
    if "ca_file" in files:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # a stated authority is the only one that is trusted
        with mistake(str(path), f"tls_config.ca_file: {files['ca_file']} cannot be used"):
            context.load_verify_locations(files["ca_file"])
    if "cert_file" in files:
        with mistake(str(path), f"tls_config.cert_file: {files['cert_file']} and its key cannot be used"):
            # Without a password OpenSSL would ask the terminal for that of an encrypted key, and wait.
            context.load_cert_chain(files["cert_file"], files["key_file"], password=lambda: "")
    if config.insecure_skip_verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
