"""What commands that ask an OCI account make of its flags: settings, credentials and sessions."""

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fss_exporter.cli.account_flags import account_places
from fss_exporter.oci.call_budget import CallBudget
from fss_exporter.settings import Settings, load

if TYPE_CHECKING:
    from fss_exporter.oci.client import Credentials, Session


def account_settings(config_file: Path | None, **flags: Any) -> Settings:
    """Return the configuration file with the flags on top.

    Raises:
        ConfigError: the file or a flag is wrong.
    """
    return load(config_file, account_places(flags))


def credentials_of(settings: Settings) -> "Credentials":
    """What the settings say to sign with.

    Raises:
        UsageError: the credentials cannot be used.
        Unreachable: no service gives the principal a token.
    """
    from fss_exporter.cli.oci_polling import access_of  # noqa: PLC0415  # an agent has no OCI SDK
    from fss_exporter.oci.client import read_credentials  # noqa: PLC0415

    return read_credentials(access_of(settings))


def sessions_of(settings: Settings, held: "Credentials", further: tuple[str, ...] = ()) -> "tuple[Session, ...]":
    """Return one session for each region that is meant, and those of further regions after them, all under one budget.

    Raises:
        UsageError: no region is named.
    """
    from fss_exporter.cli.oci_polling import reach_of, regions_of  # noqa: PLC0415  # an agent has no OCI SDK
    from fss_exporter.oci.client import Session  # noqa: PLC0415

    budget = CallBudget(settings.oci.calls_per_second, clock=time.monotonic, wait=threading.Event().wait)
    reach = reach_of(settings)
    regions = dict.fromkeys((*regions_of(settings, held), *further))
    return tuple(Session(held, region, reach, budget=budget) for region in regions)
