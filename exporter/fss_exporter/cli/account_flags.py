"""The flags that say which OCI account is meant. Nothing is imported for them: an agent has them too, and no OCI SDK."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from fss_exporter.auth_kinds import AUTH_KINDS
from fss_exporter.cli.flags import config_option

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


def credential_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say who asks where; the command takes them as keywords, for `account_settings`."""
    for option in reversed(_CREDENTIALS):
        command = option(command)
    return command


def account_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Those flags, and which compartments are meant."""
    return credential_options(_COMPARTMENTS(command))


def account_places(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Where in the configuration the values of these flags belong; None where a flag is not given."""
    return {place: flags[name] or None for name, place in _PLACES.items() if name in flags}
