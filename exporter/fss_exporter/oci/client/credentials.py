# SPDX-License-Identifier: Apache-2.0
"""Credentials for signing requests: an API key, a session token, or a principal of the platform."""

import base64
import configparser
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import oci
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from oci.exceptions import ClientError
from oci.regions import get_region_from_short_name, is_region

from fss_exporter.errors import Unreachable, UsageError
from fss_exporter.ocid import parts_of
from fss_exporter.settings import Oci

_FULL_REGION: Final = re.compile(r"[a-z]+(-[a-z]+)+-\d+")

_VERSION, _REGION = "OCI_RESOURCE_PRINCIPAL_VERSION", "OCI_RESOURCE_PRINCIPAL_REGION"

# Time of change, size and inode of a file. Empty for a missing file. Another value means other content.
FileState = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SessionToken:
    """What is known of a session token of the OCI CLI."""

    profile: str  # in the configuration file
    ends: float | None  # epoch seconds. None if the token does not say

    def advice(self, now: float) -> str:
        """Return what to do after a refused signature, if the token has ended at `now`. Else an empty text."""
        if self.ends is None or now < self.ends:
            return ""
        ended = f"{datetime.fromtimestamp(self.ends, UTC):%Y-%m-%dT%H:%M:%SZ}"
        return (
            f"The session token ended at {ended}. Sign in again: oci session authenticate --profile-name {self.profile}. "
            f"As long as a token is valid, oci session refresh --profile {self.profile} is enough."
        )


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
    token: SessionToken | None = None  # None without a session token

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
    token = None
    if account.auth == "config_file":
        files = {
            path: _state_of(path) for path in _files_of(account)
        }  # before they are read: a change in between shows
        config, signer = _from_file(account)
        if isinstance(signer, oci.auth.signers.SecurityTokenSigner):
            token = SessionToken(account.profile, _end_of(signer.api_key.removeprefix("ST$")))
    else:
        _check_region_variable(account)
        config, signer = {}, _principal(account.auth)
    tenancy_id = account.tenancy or config.get("tenancy") or getattr(signer, "tenancy_id", None)
    region = config.get("region") or getattr(signer, "region", None)
    if not tenancy_id:
        raise UsageError(f"oci.tenancy: the credentials ({account.auth}) do not name the tenancy. Set the OCID")
    return Credentials(
        MappingProxyType(config), signer, tenancy_id, full_region(region or ""), account.auth, files, token
    )


def regions_of(account: Oci, held: Credentials) -> tuple[str, ...]:
    """Return the configured regions, else the region of the credentials.

    Raises:
        UsageError: neither the settings nor the credentials name a region.
    """
    regions = account.regions or ((held.region,) if held.region else ())
    if not regions:
        raise UsageError(f"oci.regions: the credentials ({held.auth}) do not name the region. Name the regions to poll")
    return regions


def _check_region_variable(account: Oci) -> None:
    """Raise UsageError if nothing names the region, before the SDK fails at another place for it."""
    needs = account.auth in {"resource_principal", "workload_identity"} and not account.regions
    # Other versions get the region with the token.
    if needs and os.environ.get(_VERSION) == "2.2" and not os.environ.get(_REGION):
        raise UsageError(
            f"oci.auth {account.auth}: the environment has no {_REGION}. Set it, as in eu-frankfurt-1, or set oci.regions"
        )


def _from_file(account: Oci) -> tuple[dict[str, Any], Any]:
    place = f"oci.config_file {account.config_file}, profile {account.profile}"
    try:
        config = oci.config.from_file(str(account.config_file), account.profile)
        if not re.fullmatch("[A-Za-z0-9-]*", region := config.get("region", "")):  # the SDK takes any text
            raise UsageError(f"{place}: region {region!r} is not a region. Write it like eu-frankfurt-1")
        config["region"] = full_region(region)
        if "security_token_file" in config:
            return config, _with_rsa_key(_session_token(config))
        oci.config.validate_config(config)
        return config, _with_rsa_key(_key(config))
    except oci.exceptions.ConfigFileNotFound as error:
        raise UsageError(
            f"{place}: no such file. On an OCI instance sign in as the instance: --oci.auth=instance_principal, or oci.auth in the configuration"
        ) from error
    except configparser.Error as error:  # whose text repeats lines of the file, perhaps with a secret
        line = getattr(error, "lineno", None) or error.errors[0][0]  # type: ignore[attr-defined]  # of a ParsingError
        raise UsageError(f"{place}: {type(error).__name__} in line {line}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{place}: not UTF-8 text (byte {error.start})") from error
    except (ClientError, OSError, ValueError) as error:
        detail = " ".join(str(error).split())
        raise UsageError(f"{place}: {type(error).__name__}: {detail}") from error


def _files_of(account: Oci) -> list[Path]:
    """Return the configuration file with the key and token files in it, or only an unreadable configuration file."""
    # Without ~/.oci/config the SDK reads the file that OCI_CONFIG_FILE names.
    files = [Path(oci.config._get_config_path_with_fallback(str(account.config_file)))]  # noqa: SLF001  # it has no public name
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


def _with_rsa_key(signer: Any) -> Any:
    if not isinstance(signer.private_key, RSAPrivateKey):
        kind = type(signer.private_key).__name__.removesuffix("PrivateKey")
        raise ValueError(f"key_file has a key of the type {kind}, and OCI takes RSA only")  # noqa: TRY004  # of the operator
    return signer


def _end_of(token: str) -> float | None:
    """Return when a JSON Web Token ends, epoch seconds. None for a text without a readable end."""
    try:
        payload = token.split(".")[1]
        end = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["exp"]
        return float(end)
    except (IndexError, KeyError, TypeError, ValueError):
        return None


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
    """Return the full region name in an OCID (`eu-frankfurt-1`). Empty for an OCID without one, or with an unknown code."""
    parts = parts_of(ocid)
    name = full_region(parts[3].replace("_", "-")) if len(parts) > 4 and parts[3] else ""
    return name if _FULL_REGION.fullmatch(name) or (name and is_region(name)) else ""


def full_region(name: str) -> str:
    """Return the full name of a region for a full name or a short code such as FRA. Also of regions that OCI_REGION_METADATA names."""
    return str(get_region_from_short_name(name)) if name else ""
