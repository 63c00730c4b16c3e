# SPDX-License-Identifier: Apache-2.0
"""Credentials for signing requests: an API key, a session token, or a principal of the platform."""

import configparser
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import oci
from oci.exceptions import ClientError
from oci.regions import REGIONS_SHORT_NAMES

from fss_exporter.errors import Unreachable, UsageError
from fss_exporter.settings import Oci

FileState = tuple[int, ...]
"""Time of change, size and inode of a file. Empty for a missing file. Another value means other content."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Configuration or signer of the SDK."""

    config: Mapping[str, Any]  # the SDK's configuration; empty for principals
    signer: Any  # the SDK's signer; None where the configuration names the key
    tenancy_id: str  # OCID of the tenancy
    region: str  # the region the credentials belong to; empty where they do not tell
    auth: str  # one of `AUTH_KINDS`
    # files of the credentials, each with the identity of the content at the reading
    files: Mapping[Path, FileState] = field(default_factory=dict)

    @property
    def are_outdated(self) -> bool:
        """Whether a file has changed since the credentials were read."""
        return any(_state_of(path) != state for path, state in self.files.items())


def read_credentials(account: Oci) -> Credentials:
    """Read the configured credentials. A principal fetches a token.

    Raises:
        UsageError: the configuration file or key is unusable, or the tenancy is unknown.
        Unreachable: no service gives a token.
    """
    files: dict[Path, FileState] = {}
    if account.auth == "config_file":
        files = {
            path: _state_of(path) for path in _files_of(account)
        }  # before they are read: a change in between shows
        config, signer = _from_file(account)
    else:
        config, signer = {}, _principal(account.auth)
    tenancy_id = account.tenancy or config.get("tenancy") or getattr(signer, "tenancy_id", None)
    region = config.get("region") or getattr(signer, "region", None)
    if not tenancy_id:
        raise UsageError(f"oci.tenancy: the credentials ({account.auth}) do not name the tenancy. Set the OCID")
    return Credentials(MappingProxyType(config), signer, tenancy_id, region or "", account.auth, files)


def regions_of(account: Oci, held: Credentials) -> tuple[str, ...]:
    """Return the configured regions, else the region of the credentials.

    Raises:
        UsageError: neither the settings nor the credentials name a region.
    """
    regions = account.regions or ((held.region,) if held.region else ())
    if not regions:
        raise UsageError(f"oci.regions: the credentials ({held.auth}) do not name the region. Name the regions to poll")
    return regions


def _from_file(account: Oci) -> tuple[dict[str, Any], Any]:
    place = f"oci.config_file {account.config_file}, profile {account.profile}"
    try:
        config = oci.config.from_file(str(account.config_file), account.profile)
        if not re.fullmatch("[A-Za-z0-9-]*", region := config.get("region", "")):  # the SDK takes any text
            raise UsageError(f"{place}: region {region!r} is not a region. Write it like eu-frankfurt-1")
        if "security_token_file" in config:
            return config, _session_token(config)
        oci.config.validate_config(config)
        return config, _key(config)
    except configparser.Error as error:  # whose text repeats lines of the file, perhaps with a secret
        line = getattr(error, "lineno", None) or error.errors[0][0]  # type: ignore[attr-defined]  # of a ParsingError
        raise UsageError(f"{place}: {type(error).__name__} in line {line}") from error
    except (ClientError, OSError, ValueError) as error:
        detail = " ".join(str(error).split())
        raise UsageError(f"{place}: {type(error).__name__}: {detail}") from error


def _files_of(account: Oci) -> list[Path]:
    """Return the configuration file with the key and token files in it, or only an unreadable configuration file."""
    files = [account.config_file.expanduser()]
    try:
        config = oci.config.from_file(str(account.config_file), account.profile)
    except (ClientError, OSError, ValueError, configparser.Error):  # reported by `_from_file`
        return files
    named = (config.get("key_file"), config.get("security_token_file"))
    return files + [Path(name).expanduser() for name in named if name]


def _state_of(path: Path) -> FileState:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _key(config: Mapping[str, Any]) -> Any:
    return oci.signer.Signer(
        tenancy=config["tenancy"],
        user=config["user"],
        fingerprint=config["fingerprint"],
        private_key_file_location=config.get("key_file"),
        pass_phrase=config.get("pass_phrase"),
        private_key_content=config.get("key_content"),
    )


def _session_token(config: Mapping[str, Any]) -> Any:
    if not config.get("key_file"):
        raise ValueError("key_file is missing")
    token = Path(config["security_token_file"]).expanduser().read_text(encoding="utf-8").strip()
    key = oci.signer.load_private_key_from_file(config.get("key_file"), config.get("pass_phrase"))
    return oci.auth.signers.SecurityTokenSigner(token, key)


_PRINCIPAL_ADVICE: Final = {
    "instance_principal": "the instance metadata service at 169.254.169.254 gave no certificate. Run this on an OCI "
    "compute instance, or choose another oci.auth.",
    "resource_principal": "the environment has no OCI_RESOURCE_PRINCIPAL_VERSION that can be used. Run this in an OCI "
    "function or container instance, or choose another oci.auth.",
    "workload_identity": "the cluster gave no token. Run this in a pod of an enhanced OKE cluster, or choose another "
    "oci.auth.",
}


def _principal(auth: str) -> Any:
    signers = oci.auth.signers
    few = _few_attempts()
    makers = {
        "instance_principal": partial(signers.InstancePrincipalsSecurityTokenSigner, retry_strategy=few),
        "resource_principal": signers.get_resource_principals_signer,
        "workload_identity": partial(signers.get_oke_workload_identity_resource_principal_signer, retry_strategy=few),
    }
    try:
        return makers[auth]()
    except Exception as error:  # the SDK documents no errors here and raises errors of any class
        raise Unreachable(
            f"oci.auth {auth}: {_PRINCIPAL_ADVICE[auth]} ({_cause(error)})", operation="SignIn"
        ) from error


def _few_attempts() -> Any:
    """Return a retry strategy of the SDK for fetching a token.

    That of the SDK tries for three minutes, in which neither the log nor a command says why nothing happens. The poller tries
    again in its next round.
    """
    return oci.retry.RetryStrategyBuilder(
        max_attempts=3,
        total_elapsed_time_seconds=20,
        retry_max_wait_between_calls_seconds=4,
        service_error_retry_config={-1: [], 404: [], 429: []},  # the metadata service may answer 404 for a moment
    ).get_retry_strategy()


def _cause(error: BaseException) -> str:
    """Return the first cause of an SDK error in a few words. The SDK's own text contains the whole request."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    text = re.sub(r" at 0x[0-9a-f]+", "", " ".join(str(error).split("{")[0].split()))  # the same text in each round
    return f"{type(error).__name__}: {text[:120]}" if text else type(error).__name__


def region_of(ocid: str) -> str:
    """Return the full region name in an OCID (`eu-frankfurt-1`), or an empty text."""
    parts = ocid.split(".")
    code = parts[3].lower().replace("_", "-") if len(parts) > 4 else ""
    return str(REGIONS_SHORT_NAMES.get(code, code))
