# SPDX-License-Identifier: Apache-2.0
"""Keep the accounts between two runs of a command: totals and the last raw texts, in a JSON file beside the command's output.

A run continues at the end of the last run. After a reboot every mount is newer than the last run, so all counts are new.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.procfs import RawTexts
from fss_exporter.nfs.superblocks import NO_READING, Reading
from fss_exporter.nfs.totals import AddressTotals, MountTotals, NetworkTotals, OperationTotals
from fss_exporter.sealed_json import seal, unseal

_VERSION: Final = 8


class LastRun(NamedTuple):
    """State at the end of a run."""

    boot_id: str  # boot of the kernel, from `/proc/sys/kernel/random/boot_id`
    at: float  # seconds of the monotonic clock of the boot
    network: str  # name of the host's network. Empty if unknown
    costs: Mapping[str, float]  # table of costs that the totals were counted by
    texts: RawTexts  # texts of the kernel's files
    totals: dict[SeriesKey, MountTotals]  # totals by mount
    addresses: dict[str, AddressTotals]
    wire: NetworkTotals


def dump(run: LastRun) -> str:
    """A run as JSON with a checksum."""
    totals = [[*key, asdict(mount)] for key, mount in run.totals.items()]
    addresses = {address: asdict(totals) for address, totals in run.addresses.items()}
    apart = {"totals": totals, "addresses": addresses, "wire": asdict(run.wire)}
    return seal(json.dumps({"version": _VERSION, **run._asdict(), **apart}).encode()).decode()


def load(text: str) -> LastRun:
    """Load a run from JSON. A text with the right checksum and version is what `dump` wrote.

    Raises:
        ValueError: the text is damaged, or not the state of this version.
    """
    document = json.loads(unseal(text.encode()))
    if document["version"] != _VERSION:
        raise ValueError(f"version {document['version']}")
    return LastRun(
        document["boot_id"],
        document["at"],
        document["network"],
        document["costs"],
        RawTexts(*document["texts"]),
        {SeriesKey(*key): _mount(mount) for *key, mount in document["totals"]},
        {address: AddressTotals(**totals) for address, totals in document["addresses"].items()},
        NetworkTotals(**document["wire"]),
    )


def _mount(document: dict[str, Any]) -> MountTotals:
    operations = {
        name: OperationTotals(**counts | {"estimated": counts["estimated"] and Bounds(*counts["estimated"])})
        for name, counts in document["operations"].items()
    }
    return MountTotals(**document | {"operations": operations})


def restore(
    accounts: Accounts, run: LastRun, last_reading: Reading, costs: Mapping[str, float], *, same_boot: bool
) -> None:
    """Put the last run into new accounts.

    `last_reading` are the run's texts, parsed with the present configuration. `costs` is the present table of costs. After a change of the
    table every mount and address begins at 0, because a total of two costs would be wrong.
    """
    mounts, addresses = (run.totals, run.addresses) if run.costs == costs else ({}, {})
    accounts.begin_with(mounts, addresses, run.wire)
    if same_boot:
        accounts.apply(last_reading, run.at)
        return
    for totals in mounts.values():
        totals.last_seen_at = 0.0
    accounts.apply(NO_READING, 0.0)
