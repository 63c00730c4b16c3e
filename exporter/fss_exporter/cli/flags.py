# SPDX-License-Identifier: Apache-2.0
"""Flags that several commands share, as records. `toolbox_flags` has those of the toolbox alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import click

from fss_exporter import AUTH_KINDS
from fss_exporter.addresses import network_name
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import FilePath, KernelFlags, flag, switch

if TYPE_CHECKING:
    from fss_exporter.settings import Settings

EXISTING_FILE: Final = FilePath(path_type=Path, exists=True, dir_okay=False)
NEW_FILE: Final = FilePath(path_type=Path, dir_okay=False)


def network(text: str) -> str:
    """Return a flag's name of a network."""
    try:
        return network_name(text)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from wrong


def check_url(flag: str, url: str) -> str:
    """Return the URL, or raise UsageError for any text but an http or https URL with a host."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"{flag}={url}: give a URL like http://host:10949/metrics")
    return url


@dataclass(frozen=True, kw_only=True)
class ConfigFlags:
    """The flag of the configuration file."""

    config_file: Path | None = flag(
        "--config.file", "Settings: credentials, tags, ceilings, addresses, services.", type=EXISTING_FILE
    )

    @property
    def settings_file(self) -> Path | None:
        """The file that is read now. None for no file."""
        return self.config_file

    def configuration(self) -> "Settings | None":
        """Return the configuration, or raise ConfigError for a wrong file. None without a file, which needs no YAML."""
        if self.settings_file is None:
            return None
        from fss_exporter.settings import load  # noqa: PLC0415  # ditto

        return load(self.settings_file)


@dataclass(frozen=True, kw_only=True)
class ExactFlags(KernelFlags):
    """The flags of exact mode."""

    exact: str = flag(
        "--nfs.exact",
        "Have the kernel count READ and WRITE by size (tracefs, as root) in place of estimating them. "
        "auto: if the kernel can. on: do not start if it cannot.",
        "off",
        type=click.Choice(("off", "auto", "on")),
    )


@dataclass(frozen=True, kw_only=True)
class AccountFlags(ConfigFlags):
    """The flags of an OCI account. Flags of the account replace what the file says of every account."""

    accounts: tuple[str, ...] = flag(
        "--oci.account", "Account of the configuration file, by name. Repeatable.  [default: all]", ()
    )
    auth: str | None = flag(
        "--oci.auth", "How to sign in to OCI.  [default: config_file]", type=click.Choice(AUTH_KINDS)
    )
    api_key_file: str | None = flag(
        "--oci.config-file", "OCI configuration file with API keys.  [default: ~/.oci/config]", metavar="FILE"
    )
    profile: str | None = flag("--oci.profile", "Section of the OCI configuration file.  [default: DEFAULT]")
    regions: tuple[str, ...] = flag("--oci.region", "Region. Repeatable.  [default: the credentials']", ())
    endpoint: str | None = flag("--oci.endpoint", "Base URL of all services, for tests.", metavar="URL")

    def overrides(self) -> dict[str, object]:
        """Return the values of the flags by dotted place in the configuration. None for a flag that is not given."""
        return {
            "oci.auth": self.auth,
            "oci.config_file": self.api_key_file,
            "oci.profile": self.profile,
            "oci.regions": self.regions or None,
            "oci.endpoint": self.endpoint,
        }

    def settings(self) -> "Settings":
        """Return the configuration file with the flags on top.

        Raises:
            ConfigError: the file or a flag is wrong.
            UsageError: the file has no account of this name.
        """
        from fss_exporter.settings import load  # noqa: PLC0415  # an agent without a configuration has no YAML

        return load(self.settings_file, self.overrides()).of_accounts(self.accounts)

    def settings_of_account(self) -> "Settings":
        """Return the settings of the only account, for a command that asks one account. Errors are those of `settings`.

        Raises:
            UsageError: there are several accounts.
        """
        accounts = self.settings().each_account
        if len(accounts) > 1:
            raise UsageError(f"--oci.account: say which of {', '.join(str(account.oci.name) for account in accounts)}")
        return accounts[0]


@dataclass(frozen=True, kw_only=True)
class CompartmentFlags(AccountFlags):
    """The flags of an OCI account and of some compartments in the account."""

    compartments: tuple[str, ...] = flag("--oci.compartment", "Compartment, by OCID, name or path. Repeatable.", ())
    in_subtree: bool = switch("--oci.in-subtree", "Also the compartments below those.")

    def overrides(self) -> dict[str, object]:
        """Return the values of the flags by dotted place in the configuration. None for a flag that is not given."""
        chosen = {"oci.compartments": self.compartments or None, "oci.in_subtree": self.in_subtree or None}
        return {**super().overrides(), **chosen}
