"""Counts of the tables between two looks: transfers by superblock, calls by server."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fss_exporter.errors import RecordError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.exact import calls
from fss_exporter.nfs.exact.client_addresses import ClientAddresses
from fss_exporter.nfs.exact.counts import ByAddressAndProcedure, CountedTransfers
from fss_exporter.nfs.exact.instance_tables import UNREADABLE, Lost, TablesLook
from fss_exporter.nfs.exact.trigger_session import TriggerSession
from fss_exporter.nfs.superblocks import Reading, Superblock

ByOperation = dict[str, dict[str, CountedTransfers]]  # CountedTransfers by operation and `major:minor`


def none_yet() -> ByOperation:
    """No transfers of either operation."""
    return {READ: {}, WRITE: {}}


@dataclass(slots=True)
class Sorted:
    """Transfers of one interval, sorted by the state of the superblock in mountstats."""

    # of superblocks whose cost is known, just unmounted superblocks included
    told: ByOperation = field(default_factory=none_yet)
    # of superblocks whose record could not be read: it will tell of them later
    unread: ByOperation = field(default_factory=none_yet)
    # by operation, of superblocks no visible mount names
    invisible: dict[str, CountedTransfers] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TablesInterval:
    """The tables of a session at two looks."""

    session: TriggerSession
    before: TablesLook
    now: TablesLook

    def transfers(self) -> dict[str, dict[int, CountedTransfers]]:
        """Return transfers by operation and device number in the kernel's encoding.

        Raises:
            Lost: a table was replaced, was full, or has keys of another layout.
        """
        session = self.session
        found = {}
        for operation, event in session.source.events.items():
            tables = {
                condition: self.now.since(self.before, (event, condition)) for condition in session.form.conditions
            }
            try:
                found[operation] = session.form.transfers(tables)
            except RecordError as error:
                raise Lost(UNREADABLE, str(error)) from error
        return found

    def calls(self, addresses: ClientAddresses) -> tuple[ByAddressAndProcedure | None, ByAddressAndProcedure | None]:
        """Return lock calls and NFSACL calls. None if the calls are not counted.

        Raises:
            Lost: a table was replaced, or was full.
        """
        if not self.session.counts_calls:
            return None, None
        if self.session.sees_births:
            addresses.learn(self.now.tables[calls.BIRTHS, calls.BORN])
        locks, acls = (
            calls.by_address(self.now.since(self.before, (calls.CALLS, condition)), addresses)
            for condition in (calls.LOCKS, calls.ACLS)
        )
        return locks, acls


def priced(reading: Reading) -> dict[str, Superblock]:
    """The superblocks whose READs and WRITEs cost by their size, by `major:minor`."""
    return {one.number: one for one in reading.superblocks if one.known.cost == "weighted"}


def sort(
    transfers: Mapping[str, Mapping[int, CountedTransfers]],
    reading: Reading,
    known: Callable[[str], bool],
    carried: ByOperation,
) -> Sorted:
    """Sort the counts by superblock.

    Args:
        transfers: transfers by operation and device number.
        reading: reading of mountstats just before the look.
        known: whether a `major:minor` was a priced superblock at the last look.
        carried: counts of earlier looks whose record was unreadable. The function adds these counts.
    """
    numbers = {device_of(number): number for number in reading.present}
    mine = priced(reading)
    unread = reading.present - {superblock.number for superblock in reading.superblocks}
    result = Sorted(told=carried)
    for operation, by_device in transfers.items():
        for device, added in by_device.items():
            number = numbers.get(device, _number(device))
            if number in unread:
                _add(result.unread[operation], number, added)
            elif number in mine or known(number):
                _add(result.told[operation], number, added)
            elif number not in reading.present:
                _add(result.invisible, operation, added)
    return result


def _add(sums: dict[str, CountedTransfers], key: str, added: CountedTransfers) -> None:
    sums[key] = sums[key].plus(added) if key in sums else added


def device_of(number: str) -> int:
    """Return `major:minor` of a device number in trace events (include/linux/kdev_t.h)."""
    major, _, minor = number.partition(":")
    return int(major) << 20 | int(minor) if major.isdecimal() and minor.isdecimal() else -1


def _number(device: int) -> str:
    return f"{device >> 20}:{device & 0xFFFFF}"
