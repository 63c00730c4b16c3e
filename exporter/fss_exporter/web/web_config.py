# SPDX-License-Identifier: Apache-2.0
"""Read the file of `--web.config.file` with the rules of the Prometheus exporter-toolkit.

Every key of https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md (read 2026-11-20) is
accepted with the same meaning. A value that Python's `ssl` cannot implement is refused, never half kept. An unknown key is
a mistake, as in the toolkit.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from fss_exporter.durations import parse_duration
from fss_exporter.errors import ConfigError
from fss_exporter.yaml_lines import mistakes_of, read_document

_BCRYPT = re.compile(r"\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}", re.ASCII)
_HTPASSWD = "htpasswd -nBC 10 USER"

# A check at the cost 10 takes 50 to 100 ms of one core, and each step more doubles it. A check costs as much as the most expensive hash of the
# file, for every user, and a scrape has 10 s by default.
_HIGHEST_COST = 15
_HIGHEST_QUICK_COST = 12
_HEADER_VALUES = {
    "Content-Security-Policy": None,
    "Strict-Transport-Security": None,
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": None,
}

Version = Literal["TLS12", "TLS13"]
Curve = Literal["CurveP256", "CurveP384", "CurveP521", "X25519"]
ClientAuth = Literal["NoClientCert", "RequestClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"]

# IANA names, as Go writes them, and the names OpenSSL uses. TLS 1.3 suites are accepted and not configurable, as in Go.
CIPHER_SUITES = {
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}


def _known_cipher(name: str) -> str:
    if name not in CIPHER_SUITES:
        raise ValueError(
            "unknown cipher suite. Use the names of Go's crypto/tls, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 say"
        )
    return name


def _client_auth(value: object) -> object:
    return "NoClientCert" if value is None or value == "" else value


def _bcrypt_hash(value: str) -> str:
    if not _BCRYPT.fullmatch(value):
        raise ValueError(f"must be a bcrypt hash, as made by: {_HTPASSWD}")
    if bcrypt_cost(value) > _HIGHEST_COST:
        raise ValueError(
            f"has the cost {bcrypt_cost(value)}, and every login of every user would take seconds or minutes. "
            f"The highest is {_HIGHEST_COST}, and 10 is enough: {_HTPASSWD}"
        )
    return value


def bcrypt_cost(stored: str) -> int:
    """Return the cost of a bcrypt hash: a check takes 2^cost rounds."""
    return int(stored[4:6])


def _interval(value: object) -> object:
    return parse_duration(str(value)) if isinstance(value, str | int) else value


def _empty_if_null(value: object) -> object:
    return {} if value is None else value


def _whole(value: object) -> object:
    if value is None:
        raise ValueError("no value, so the file may be half written. Write {} for none")
    return value


class _WebConfigSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class TlsServer(_WebConfigSection):
    """Certificate, client certificates, versions and ciphers. A file wins over an inline value."""

    cert: str = ""
    key: str = Field(default="", repr=False)
    client_ca: str = ""
    cert_file: str = ""
    key_file: str = ""
    client_ca_file: str = ""
    client_auth_type: Annotated[ClientAuth, BeforeValidator(_client_auth)] = "NoClientCert"
    client_allowed_sans: tuple[str, ...] | None = None
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"
    cipher_suites: tuple[Annotated[str, AfterValidator(_known_cipher)], ...] = ()
    prefer_server_cipher_suites: bool = True
    curve_preferences: tuple[Curve, ...] = ()

    @property
    def enabled(self) -> bool:
        """Whether TLS is served: a certificate, key or client setting is present."""
        given = (self.cert, self.key, self.client_ca, self.cert_file, self.key_file, self.client_ca_file)
        return any(given) or "client_auth_type" in self.model_fields_set

    @property
    def has_client_ca(self) -> bool:
        """Whether client certificates are checked against a CA of the file."""
        return bool(self.client_ca or self.client_ca_file)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.enabled and not (self.cert or self.cert_file):
            raise ValueError("cert_file (or cert) is missing")
        if self.enabled and not (self.key or self.key_file):
            raise ValueError("key_file (or key) is missing")
        if self.has_client_ca and self.client_auth_type == "NoClientCert":
            raise ValueError("a client CA needs client_auth_type: RequireAndVerifyClientCert")
        if self.client_allowed_sans is not None and self.client_auth_type != "RequireAndVerifyClientCert":
            raise ValueError("client_allowed_sans needs client_auth_type: RequireAndVerifyClientCert")
        if self.min_version > self.max_version:
            raise ValueError(f"min_version {self.min_version} is above max_version {self.max_version}")
        return self


def _headers(value: dict[str, str]) -> dict[str, str]:
    for name, content in value.items():
        if name not in _HEADER_VALUES:
            raise ValueError(f"{name} cannot be set. The headers are {', '.join(_HEADER_VALUES)}")
        allowed = _HEADER_VALUES[name]
        if content and allowed and content not in allowed:
            raise ValueError(f"{name} must be {' or '.join(allowed)}")
        if not content.isprintable() or not content.isascii():
            raise ValueError(f"{name} must be one line of ASCII text")
    # As Go does. h11 sends no response at all with a space at either end of a header.
    return {name: content.strip() for name, content in value.items() if content.strip()}


class HttpServerConfig(_WebConfigSection):
    """Response headers. `http2` is accepted without effect, because the exporter speaks HTTP/1.1, like every scraper."""

    http2: bool = True
    headers: Annotated[dict[str, str], BeforeValidator(_empty_if_null), AfterValidator(_headers)] = Field(
        default_factory=dict
    )


class RateLimit(_WebConfigSection):
    """Token bucket of each client: one token each `interval` seconds, at most `burst`. An interval of 0 is no limit."""

    interval: Annotated[float, BeforeValidator(_interval), Field(ge=0, allow_inf_nan=False)] = 0.0
    burst: int = 0

    @model_validator(mode="after")
    def _lets_something_through(self) -> Self:
        if self.interval and self.burst < 1:
            raise ValueError("burst must be at least 1, or every request is refused")
        return self


class WebConfiguration(_WebConfigSection):
    """The whole file."""

    tls_server_config: Annotated[TlsServer, BeforeValidator(_whole)] = TlsServer()
    http_server_config: Annotated[HttpServerConfig, BeforeValidator(_empty_if_null)] = HttpServerConfig()
    basic_auth_users: Annotated[dict[str, Annotated[str, AfterValidator(_bcrypt_hash)]], BeforeValidator(_whole)] = (
        Field(default_factory=dict, repr=False)
    )
    rate_limit: Annotated[RateLimit, BeforeValidator(_whole)] = RateLimit()

    @property
    def warning(self) -> str:
        """What is allowed and harms. Empty for nothing."""
        costs = {user: bcrypt_cost(stored) for user, stored in self.basic_auth_users.items()}
        slow = [user for user, cost in costs.items() if cost > _HIGHEST_QUICK_COST]
        if not slow:
            return ""
        return (
            f"basic_auth_users: the hash of {', '.join(slow)} has a cost of up to {max(costs.values())}, so the first login of every user "
            f"takes half a second or more. A cost of 10 is enough: {_HTPASSWD}"
        )


# The value that takes a protection away, by key.
_TAKEN_AWAY_BY = {
    "basic_auth_users": "{}",
    "rate_limit": "{}",
    "client_auth_type": "NoClientCert",
    "client_allowed_sans": "null",
}


def _protection_gone(before: WebConfiguration, after: WebConfiguration) -> Iterator[str]:
    """Yield a line for each protection of `before` that a file no longer mentions, because a half-written file looks alike."""
    protections = before.model_dump(exclude_defaults=True) | before.tls_server_config.model_dump(exclude_defaults=True)
    mentioned = after.model_fields_set | after.tls_server_config.model_fields_set
    for key, nothing in _TAKEN_AWAY_BY.items():
        if protections.get(key) and key not in mentioned:
            section = "tls_server_config." if key.startswith("client_") else ""
            yield f"{section}{key} is gone, and the old one stays. Write `{key}: {nothing}` to take it away"
    had, has = before.tls_server_config, after.tls_server_config
    is_wider = had.has_client_ca and not has.has_client_ca and has.client_auth_type != "NoClientCert"
    if is_wider and mentioned.isdisjoint({"client_ca", "client_ca_file"}):
        yield (
            "tls_server_config.client_ca_file is gone, and the old one stays. Write `client_ca_file: ''` to let in who any CA of this "
            "host has signed"
        )


def load(path: Path, before: WebConfiguration | None = None) -> WebConfiguration:
    """Read the file. Paths in the file are relative to the file's folder.

    Only an explicit `basic_auth_users: {}` removes a protection of `before`, the present configuration.

    Raises:
        ConfigError: every mistake, with line and place and without any secret. An empty file is a mistake, because the file
            may be half written.
    """
    document = read_document(path)
    if document.is_empty:
        raise ConfigError(document.source, ("the file is empty. Write {} for plain HTTP without users",))
    try:
        read = WebConfiguration.model_validate(document.content)
    except ValidationError as error:
        raise ConfigError(document.source, mistakes_of(error, document, WebConfiguration)) from error
    if before and (gone := tuple(_protection_gone(before, read))):
        raise ConfigError(document.source, gone)
    files: dict[str, Any] = {
        name: str(path.parent / getattr(read.tls_server_config, name))
        for name in ("cert_file", "key_file", "client_ca_file")
        if getattr(read.tls_server_config, name)
    }
    return read.model_copy(update={"tls_server_config": read.tls_server_config.model_copy(update=files)})
