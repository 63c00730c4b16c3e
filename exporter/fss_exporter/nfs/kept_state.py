"""Keep the accounts between two runs of a command: totals and the last raw texts, in a JSON file beside the command's output.

A run continues at the end of the last run. After a reboot every mount is newer than the last run, so all counts are new.
"""

import json
from dataclasses import asdict
from typing import Any, NamedTuple

from fss_exporter.model.estimate import Bounds
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.procfs import RawTexts
from fss_exporter.nfs.superblocks import NO_READING, Reading, SeriesKey
from fss_exporter.nfs.totals import AddressTotals, MountTotals, NetworkTotals, OperationTotals

_VERSION = 3


class LastRun(NamedTuple):
    """State at the end of a run."""

    boot_id: str  # boot of the kernel, from `/proc/sys/kernel/random/boot_id`
    at: float  # seconds of the monotonic clock of the boot
    texts: RawTexts  # texts of the kernel's files
    totals: dict[SeriesKey, MountTotals]  # totals by mount
    addresses: dict[str, AddressTotals]
    network: NetworkTotals


def dump(run: LastRun) -> str:
    """A run as JSON."""
    totals = [[*key, asdict(mount)] for key, mount in run.totals.items()]
    addresses = {address: asdict(one) for address, one in run.addresses.items()}
    apart = {"totals": totals, "addresses": addresses, "network": asdict(run.network)}
    return json.dumps({"version": _VERSION, **run._asdict(), **apart})


def load(text: str) -> LastRun:
    """Load a run from JSON.

    Raises:
        ValueError: the file has another format or version.
    """
    try:
        document = json.loads(text)
        if document["version"] != _VERSION:
            raise ValueError(f"version {document['version']}")
        totals = {SeriesKey(*key): _mount(mount) for *key, mount in document["totals"]}
        addresses = {address: AddressTotals(**one) for address, one in document["addresses"].items()}
        texts, network = RawTexts(*document["texts"]), NetworkTotals(**document["network"])
        return LastRun(document["boot_id"], float(document["at"]), texts, totals, addresses, network)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not the state of this command: {error!r}") from error


def _mount(document: dict[str, Any]) -> MountTotals:
    operations = {}
    for name, one in document["operations"].items():
        estimated = one["estimated"]
        operations[name] = OperationTotals(**{**one, "estimated": None if estimated is None else Bounds(*estimated)})
    return MountTotals(**{**document, "operations": operations})


def restore(accounts: Accounts, run: LastRun, last_reading: Reading, *, same_boot: bool) -> None:
    """Put the last run into new accounts. `last_reading` are the run's texts, parsed with the present configuration."""
    accounts.addresses.update(run.addresses)
    accounts.network = run.network
    for key, totals in run.totals.items():
        accounts.mounts[key] = totals
        if not same_boot:
            totals.last_seen_at = 0.0
    if same_boot:
        accounts.apply(last_reading, run.at)
    else:
        accounts.apply(NO_READING, 0.0)
