# SPDX-License-Identifier: Apache-2.0
"""Keep the accounts between two runs of a command: totals and the last raw texts, in a JSON file beside the command's output.

A run continues at the end of the last run. After a reboot every mount is newer than the last run, so all counts are new.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Final, NamedTuple, TypeVar, cast

from fss_exporter.model.client_state import VERDICTS
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.procfs import RawTexts
from fss_exporter.nfs.superblocks import NO_READING, Reading
from fss_exporter.nfs.totals import AddressTotals, MountTotals, NetworkTotals, OperationTotals

_VERSION = 4
_LARGEST: Final = 1e300  # far beyond every counter, and small enough to add up
_T = TypeVar("_T", OperationTotals, MountTotals, AddressTotals, NetworkTotals)


class LastRun(NamedTuple):
    """State at the end of a run."""

    boot_id: str  # boot of the kernel, from `/proc/sys/kernel/random/boot_id`
    at: float  # seconds of the monotonic clock of the boot
    network: str  # name of the host's network. Empty if unknown
    texts: RawTexts  # texts of the kernel's files
    totals: dict[SeriesKey, MountTotals]  # totals by mount
    addresses: dict[str, AddressTotals]
    wire: NetworkTotals


def dump(run: LastRun) -> str:
    """A run as JSON."""
    totals = [[*key, asdict(mount)] for key, mount in run.totals.items()]
    addresses = {address: asdict(totals) for address, totals in run.addresses.items()}
    apart = {"totals": totals, "addresses": addresses, "wire": asdict(run.wire)}
    return json.dumps({"version": _VERSION, **run._asdict(), **apart})


def load(text: str) -> LastRun:
    """Load a run from JSON.

    Raises:
        ValueError: the text is not the state of this version, or a value has a wrong type or size.
    """
    try:
        document = json.loads(text)
        if document["version"] != _VERSION:
            raise ValueError(f"version {document['version']}")
        return LastRun(
            _text(document["boot_id"]),
            _number(document["at"]),
            _text(document["network"]),
            RawTexts(*map(_text, document["texts"])),
            {SeriesKey(*map(_text, key)): _mount(mount) for *key, mount in document["totals"]},
            {_text(address): _address(totals) for address, totals in document["addresses"].items()},
            _totals(NetworkTotals, document["wire"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not the state of a run: {error!r}") from error


def _mount(document: dict[str, Any]) -> MountTotals:
    operations = {}
    for name, counts in document["operations"].items():
        bounds = counts["estimated"]
        estimated = None if bounds is None else Bounds(*map(_number, bounds))
        operations[_text(name)] = _totals(OperationTotals, counts, estimated=estimated)
    return _totals(MountTotals, document, operations=operations)


def _address(document: dict[str, Any]) -> AddressTotals:
    seconds = {verdict: _number(document["seconds"][verdict]) for verdict in VERDICTS}
    return _totals(AddressTotals, document, seconds=seconds)


def _totals(kind: type[_T], document: dict[str, Any], **parts: object) -> _T:
    """Return totals from a JSON object of numbers and booleans. `parts` replace all other values."""
    values = document | parts
    for column in fields(kind):
        value, default = values[column.name], column.default
        if isinstance(value, bool) is not isinstance(default, bool):
            raise TypeError(column.name)
        if column.name not in parts and not value is default is None:
            _number(value)
    return kind(**values)


def _number(value: Any) -> float:
    if not 0 <= value < _LARGEST:
        raise ValueError("a number below 0 or beyond every counter")
    return cast("float", value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    value.encode()  # raises a ValueError for half a character
    return value


def restore(
    accounts: Accounts, run: LastRun, last_reading: Reading, weights: Mapping[str, float], *, same_boot: bool
) -> None:
    """Put the last run into new accounts.

    `last_reading` are the run's texts, parsed with the present configuration. `weights` are the present costs by operation. A mount
    that was counted by other costs begins at 0, and so does its address, because a total of both would be wrong.
    """
    accounts.wire = run.wire
    accounts.mounts |= {key: totals for key, totals in run.totals.items() if totals.has_weights(weights)}
    begin_at_0 = {key.address for key in run.totals.keys() - accounts.mounts.keys()}
    accounts.addresses |= {address: totals for address, totals in run.addresses.items() if address not in begin_at_0}
    if same_boot:
        accounts.apply(last_reading, run.at)
        return
    for totals in accounts.mounts.values():
        totals.last_seen_at = 0.0
    accounts.apply(NO_READING, 0.0)
