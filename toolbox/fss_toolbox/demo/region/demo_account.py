# SPDX-License-Identifier: Apache-2.0
"""A throw-away API key, and the configuration file that makes the SDK and the CLI use it."""

from dataclasses import dataclass
from hashlib import md5
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from fss_toolbox.demo.region.demo_tenancy import ocid


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """A user of a tenancy with one API signing key."""

    tenancy_id: str  # OCID of the tenancy
    user_id: str  # OCID of the user
    key: RSAPrivateKey  # the private key, known to this process and to the configuration file

    @classmethod
    def generate(cls, tenancy_id: str) -> "DemoAccount":
        """Return a fresh key. Takes about a tenth of a second."""
        return cls(tenancy_id, ocid("user", "", tenancy_id), generate_private_key(public_exponent=65537, key_size=2048))

    @property
    def public_key(self) -> RSAPublicKey:
        """The public half of the key."""
        return self.key.public_key()

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the public key as OCI shows it: MD5 of its DER form, documented: "Required Keys and OCIDs"."""
        der = self.public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        digest = md5(der, usedforsecurity=False).hexdigest()
        return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))

    @property
    def pem(self) -> str:
        """The private key as the SDK reads it."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    def write_config(self, directory: Path, region: str) -> Path:
        """Write `config` and `key.pem` into a directory, readable by the owner only.

        Returns:
            The path of the configuration file, for `--config-file` of the CLI and the exporter.
        """
        key_file, config = directory / "key.pem", directory / "config"
        user = f"user={self.user_id}\nfingerprint={self.fingerprint}\ntenancy={self.tenancy_id}\n"
        profile = f"[DEFAULT]\n{user}region={region}\nkey_file={key_file}\n"
        for path, text in ((key_file, f"{self.pem}OCI_API_KEY\n"), (config, profile)):
            path.touch(mode=0o600)
            path.write_text(text)
        return config
