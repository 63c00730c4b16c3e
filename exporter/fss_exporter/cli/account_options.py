"""The flags of commands that ask an OCI account, and the sessions made of them."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fss_exporter.config import Settings, load
from fss_exporter.oci.budget import Budget

if TYPE_CHECKING:
    from fss_exporter.oci.client import Credentials, Session

_AUTH: Final = ("config_file", "instance_principal", "resource_principal", "workload_identity")
_CREDENTIALS: Final = (
    click.option("--config.file", "config_file", type=click.Path(path_type=Path), help="Credentials, ceilings, tags."),
    click.option("--oci.auth", "auth", type=click.Choice(_AUTH), help="Who asks.  [default: config_file]"),
    click.option("--oci.config-file", "api_key_file", metavar="FILE", help="API keys.  [default: ~/.oci/config]"),
    click.option("--oci.profile", "profile", help="Section of that file.  [default: DEFAULT]"),
    click.option(
        "--oci.region", "regions", multiple=True, help="Region; may be repeated.  [default: the credentials']"
    ),
    click.option("--oci.endpoint", "endpoint", metavar="URL", help="Base URL of all services, for tests."),
)
_COMPARTMENTS: Final = click.option(
    "--oci.compartment", "compartments", multiple=True, help="Compartment, OCID or name; may be repeated."
)
_PLACES: Final = {
    "auth": "oci.auth",
    "api_key_file": "oci.config_file",
    "profile": "oci.profile",
    "regions": "oci.regions",
    "compartments": "oci.compartments",
    "endpoint": "oci.endpoint",
}


def credential_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say who asks where; the command takes them as keywords, for `account_settings`."""
    for option in reversed(_CREDENTIALS):
        command = option(command)
    return command


def account_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Those flags, and which compartments are meant."""
    return credential_options(_COMPARTMENTS(command))


def account_settings(config_file: Path | None, **flags: Any) -> Settings:
    """The configuration file with the flags on top.

    Raises:
        ConfigError: the file or a flag is wrong.
    """
    return load(config_file, {_PLACES[name]: value or None for name, value in flags.items()})


def credentials_of(settings: Settings) -> "Credentials":
    """What the settings say to sign with.

    Raises:
        UsageError: the credentials cannot be used.
        Unreachable: a principal has nobody to give it a token.
    """
    from fss_exporter.cli.cloud import access_of  # noqa: PLC0415  # an agent has no OCI SDK
    from fss_exporter.oci.client import read_credentials  # noqa: PLC0415

    return read_credentials(access_of(settings))


def sessions_of(settings: Settings, held: "Credentials") -> "tuple[Session, ...]":
    """One session for each region that is meant, all under one budget.

    Raises:
        UsageError: no region is named.
    """
    from fss_exporter.cli.cloud import reach_of, regions_of  # noqa: PLC0415  # an agent has no OCI SDK
    from fss_exporter.oci.client import Session  # noqa: PLC0415

    budget = Budget(settings.oci.calls_per_second, clock=time.monotonic, wait=threading.Event().wait)
    reach = reach_of(settings)
    return tuple(Session(held, region, reach, budget=budget) for region in regions_of(settings, held))
