"""The flags of an OCI account, and the settings, credentials and sessions from these flags.

The agent has these flags as well, without OCI SDK and YAML, so the functions import both when called.
"""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fss_exporter.auth_kinds import AUTH_KINDS
from fss_exporter.cli.flags import Command, config_option, with_options

if TYPE_CHECKING:
    from fss_exporter.oci.client import Credentials, Session
    from fss_exporter.settings import Settings

_CREDENTIALS: Final = (
    config_option,
    click.option(
        "--oci.auth", "auth", type=click.Choice(AUTH_KINDS), help="How to sign in to OCI.  [default: config_file]"
    ),
    click.option(
        "--oci.config-file",
        "api_key_file",
        metavar="FILE",
        help="OCI configuration file with API keys.  [default: ~/.oci/config]",
    ),
    click.option("--oci.profile", "profile", help="Section of the OCI configuration file.  [default: DEFAULT]"),
    click.option("--oci.region", "regions", multiple=True, help="Region. Repeatable.  [default: the credentials']"),
    click.option("--oci.endpoint", "endpoint", metavar="URL", help="Base URL of all services, for tests."),
)
_COMPARTMENTS: Final = click.option(
    "--oci.compartment", "compartments", multiple=True, help="Compartment, OCID or name. Repeatable."
)
_PLACES: Final = {
    "auth": "oci.auth",
    "api_key_file": "oci.config_file",
    "profile": "oci.profile",
    "regions": "oci.regions",
    "compartments": "oci.compartments",
    "endpoint": "oci.endpoint",
}


def credential_options(command: Command) -> Command:
    """Add the flags of credentials and region to a command. The command passes the keywords to `account_settings`."""
    return with_options(command, _CREDENTIALS)


def account_options(command: Command) -> Command:
    """Add the flags of credentials, region and compartments."""
    return credential_options(_COMPARTMENTS(command))


def account_places(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of these flags by place in the configuration. None for a flag that is not given."""
    return {place: flags[name] or None for name, place in _PLACES.items() if name in flags}


def account_settings(config_file: Path | None, **flags: Any) -> "Settings":
    """Return the configuration file with the flags on top.

    Raises:
        ConfigError: the file or a flag is wrong.
    """
    from fss_exporter.settings import load  # noqa: PLC0415  # an agent has no YAML

    return load(config_file, account_places(flags))


def credentials_of(settings: "Settings") -> "Credentials":
    """Return the configured credentials.

    Raises:
        UsageError: the credentials are unusable.
        Unreachable: no service gives the principal a token.
    """
    from fss_exporter.cli.oci_polling import access_of  # noqa: PLC0415  # an agent has no OCI SDK
    from fss_exporter.oci.client import read_credentials  # noqa: PLC0415

    return read_credentials(access_of(settings))


def sessions_of(settings: "Settings", held: "Credentials", further: tuple[str, ...] = ()) -> "tuple[Session, ...]":
    """Return a session for each configured region, then for further regions, all under one budget.

    Raises:
        UsageError: no region is configured.
    """
    from fss_exporter.cli.oci_polling import reach_of, regions_of  # noqa: PLC0415  # an agent has no OCI SDK
    from fss_exporter.oci.call_budget import CallBudget  # noqa: PLC0415
    from fss_exporter.oci.client import Session  # noqa: PLC0415

    budget = CallBudget(settings.oci.calls_per_second, clock=time.monotonic, wait=threading.Event().wait)
    reach = reach_of(settings)
    regions = dict.fromkeys((*regions_of(settings, held), *further))
    return tuple(Session(held, region, reach, budget=budget) for region in regions)
