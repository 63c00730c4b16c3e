"""The accounts between two runs of a command: totals and the last raw texts, in a JSON file beside the command's output.

A run goes on where the last one ended. After a reboot every mount is newer than the last run, so all its counters count.
"""

import json
from dataclasses import asdict
from typing import Any, NamedTuple

from fss_exporter.model.estimate import Bounds
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mount_totals import MountTotals, OperationTotals
from fss_exporter.nfs.procfs import RawTexts
from fss_exporter.nfs.superblocks import NO_READING, Reading, SeriesKey

_VERSION = 1


class LastRun(NamedTuple):
    """The end of the last run.

    Attributes:
        boot_id: of the kernel, from `/proc/sys/kernel/random/boot_id`.
        at: seconds of the monotonic clock of that boot.
        texts: what the files said.
        totals: by mount.
    """

    boot_id: str
    at: float
    texts: RawTexts
    totals: dict[SeriesKey, MountTotals]


def dump(run: LastRun) -> str:
    """A run as JSON."""
    totals = [[*key, asdict(mount)] for key, mount in run.totals.items()]
    return json.dumps({"version": _VERSION, **run._asdict(), "totals": totals})


def load(text: str) -> LastRun:
    """A run from its JSON.

    Raises:
        ValueError: not such a file, or of another version.
    """
    try:
        document = json.loads(text)
        if document["version"] != _VERSION:
            raise ValueError(f"version {document['version']}")
        totals = {SeriesKey(*key): _mount(mount) for *key, mount in document["totals"]}
        return LastRun(document["boot_id"], float(document["at"]), RawTexts(*document["texts"]), totals)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not the state of this command: {error!r}") from error


def _mount(document: dict[str, Any]) -> MountTotals:
    operations = {}
    for name, one in document["operations"].items():
        estimated = one["estimated"]
        operations[name] = OperationTotals(**{**one, "estimated": None if estimated is None else Bounds(*estimated)})
    return MountTotals(**{**document, "operations": operations})


def restore(accounts: Accounts, run: LastRun, last_reading: Reading, *, same_boot: bool) -> None:
    """Let accounts go on where a run ended.

    Args:
        accounts: new ones.
        run: the last run.
        last_reading: its texts, as the present configuration reads them.
        same_boot: whether the kernel is still the same one.
    """
    for key, totals in run.totals.items():
        accounts.mounts[key] = totals
        if not same_boot:
            totals.last_seen_at = 0.0
    if same_boot:
        accounts.apply(last_reading, run.at)
    else:
        accounts.apply(NO_READING, 0.0)
