"""Certificates for tests: a CA, and what it signs."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM files.

    Attributes:
        certificate: path of the certificate.
        key: path of the key.
    """

    certificate: Path
    key: Path

    def replace_with(self, other: "Pair") -> None:
        """Put another certificate and key in the places of these, as a renewal does."""
        for mine, theirs in ((self.key, other.key), (self.certificate, other.certificate)):
            fresh = mine.with_suffix(".new")
            fresh.write_bytes(theirs.read_bytes())
            fresh.rename(mine)


class Authority:
    """A CA that signs for tests.

    Args:
        directory: where the files go.
        name: of the CA and its file.
    """

    def __init__(self, directory: Path, name: str = "ca") -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._serial = 0
        self.pair = self._write(name, self._key, self._sign(self._name, self._key.public_key(), [], is_ca=True))

    def sign(self, name: str, *sans: x509.GeneralName) -> Pair:
        """A certificate for a server or a client; without names, for localhost and 127.0.0.1."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = list(sans) or [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._write(name, key, self._sign(subject, key.public_key(), names, is_ca=False))

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, names: list[x509.GeneralName], *, is_ca: bool
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        self._serial += 1
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(self._serial)
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(_usage(is_ca=is_ca), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _write(self, name: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> Pair:
        pair = Pair(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return pair


def _usage(*, is_ca: bool) -> x509.KeyUsage:
    """Return the use of a key, without which clients from Python 3.13 on refuse a CA (VERIFY_X509_STRICT)."""
    others = (
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(
        digital_signature=not is_ca, key_cert_sign=is_ca, crl_sign=is_ca, **dict.fromkeys(others, False)
    )
