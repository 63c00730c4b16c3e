# SPDX-License-Identifier: Apache-2.0
"""Make the TLS context of connections from a web configuration."""

import ipaddress
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fss_exporter.errors import ConfigError
from fss_exporter.regular_files import read_regular
from fss_exporter.web.web_config import CIPHER_SUITES, TlsServer

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CURVES = {"CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1", "X25519": "X25519"}
_VERIFY = {"VerifyClientCertIfGiven": ssl.CERT_OPTIONAL, "RequireAndVerifyClientCert": ssl.CERT_REQUIRED}


@dataclass(frozen=True, slots=True)
class ServerTls:
    """The TLS context of new connections, until the configuration changes."""

    context: ssl.SSLContext  # certificate, client CA, versions and ciphers
    # names of which a client certificate must have one. None lets every verified one in
    allowed_sans: frozenset[str] | None

    def admits(self, certificate: Mapping[str, Any] | None) -> bool:
        """Whether a verified certificate, as `SSLSocket.getpeercert` gives it, has an allowed name."""
        if self.allowed_sans is None:
            return True
        names = (certificate or {}).get("subjectAltName", ())
        return any(_canonical(kind, name) in self.allowed_sans for kind, name in names)


def _canonical(kind: str, name: str) -> str:
    try:
        return str(ipaddress.ip_address(name.strip())) if kind == "IP Address" else name
    except ValueError:  # Python writes "<invalid>" for an address of an odd length
        return name


def secure(source: str, server: TlsServer) -> ServerTls:
    """Load certificate, key and client CA of the enabled TLS section. Messages name the source.

    Raises:
        ConfigError: a file is missing, is no PEM, or certificate and key do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit(context, source, server)
    _load_certificate(context, source, server)
    context.verify_mode = _VERIFY.get(server.client_auth_type, ssl.CERT_NONE)
    if context.verify_mode != ssl.CERT_NONE:
        _load_client_ca(context, source, server)
    allowed = server.client_allowed_sans
    return ServerTls(context, None if allowed is None else frozenset(allowed))


def _limit(context: ssl.SSLContext, source: str, server: TlsServer) -> None:
    context.minimum_version = _VERSIONS[server.min_version]
    context.maximum_version = _VERSIONS[server.max_version]
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    ciphers = [name for name in map(CIPHER_SUITES.__getitem__, server.cipher_suites) if name]
    # OpenSSL with only the algorithms of FIPS 140 refuses some.
    if ciphers:
        with mistake(source, "tls_server_config.cipher_suites: OpenSSL of this host refuses"):
            context.set_ciphers(":".join(ciphers))
    if not server.prefer_server_cipher_suites:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    # `ssl` sets one curve or OpenSSL's own list, which holds all four names; a list of several stays that list.
    if len(server.curve_preferences) == 1:
        with mistake(source, "tls_server_config.curve_preferences: OpenSSL of this host refuses"):
            context.set_ecdh_curve(_CURVES[server.curve_preferences[0]])


@contextmanager
def mistake(source: str, what: str) -> Iterator[None]:
    """Raise ConfigError with place and reason for a value or file that cannot be used."""
    try:
        yield
    except (OSError, ValueError) as failure:
        raise ConfigError(source, (f"{what}: {_reason(failure)}",)) from failure


def _load_certificate(context: ssl.SSLContext, source: str, server: TlsServer) -> None:
    where = server.cert_file or "cert"
    with (
        _pem(source, server, "cert") as certificate,
        _pem(source, server, "key") as key,
        mistake(source, f"tls_server_config: {where} and its key cannot be used"),
    ):
        # Without a password OpenSSL would ask the terminal for that of an encrypted key, and wait.
        context.load_cert_chain(certificate, key, password=lambda: "")


def _load_client_ca(context: ssl.SSLContext, source: str, server: TlsServer) -> None:
    # Go trusts every certificate in the pool: a root, an intermediate or a client's own certificate.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not server.has_client_ca:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        return
    where = server.client_ca_file or "client_ca"
    with (
        _pem(source, server, "client_ca") as authorities,
        mistake(source, f"tls_server_config: {where} cannot be used"),
    ):
        context.load_verify_locations(cafile=authorities)


@contextmanager
def _pem(source: str, server: TlsServer, name: str) -> Iterator[str]:
    """Return the path of `cert_file`, or of a file in memory with `cert`, because `ssl` reads certificates from files only.

    The file is read here first. `ssl` names no file in an error, and would wait for a pipe.
    """
    path = getattr(server, f"{name}_file")
    if path:
        with mistake(source, f"tls_server_config.{name}_file: cannot read {path}"):
            read_regular(path)
        yield path
        return
    with mistake(source, f"tls_server_config.{name}: cannot be used"):
        content = str(getattr(server, name)).encode()
    with os.fdopen(os.memfd_create("pem"), "wb", buffering=0) as file:
        file.write(content)
        yield f"/proc/self/fd/{file.fileno()}"


def _reason(failure: Exception) -> str:
    reason = getattr(failure, "reason", None)
    return str(reason).replace("_", " ").lower() if reason else getattr(failure, "strerror", None) or str(failure)
