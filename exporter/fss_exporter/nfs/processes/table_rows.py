"""From the rows of the tables, as text, to transfers and calls of threads.

`place_of` knows the place of a device or of an RPC client. Rows of unknown places are left out: the mount is gone, or no
visible mount names the superblock. Each function raises `RecordError` for a key of another layout.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from fss_exporter.errors import RecordError
from fss_exporter.nfs.exact.hist_tables import Grown, HistRow, Key
from fss_exporter.nfs.exact.size_counts import CountedTransfers, device_of
from fss_exporter.nfs.exact.size_triggers import blocks_started
from fss_exporter.nfs.processes.attribution import CallsBy, TransfersBy
from fss_exporter.nfs.processes.loads import Place, Thread

BySize = Mapping[bool, Grown]  # Growth of two tables, by whether the sizes are whole multiples of 32 KiB
PlaceOf = Callable[[int], Place | None]
Dirtiers = Mapping[tuple[int, int], str]  # Names of the threads that dirtied pages, by device and thread number


def sent(tables: BySize, place_of: PlaceOf) -> TransfersBy:
    """READs or WRITEs by the thread that sent the call. Keys: device, name, thread, lower edge of the size."""
    rows = []
    for whole, key, row in _each(tables):
        device, name, number, lower = _fields(key, 4)
        thread = Thread(_number(number), name)
        rows.append((place_of(_number(device)), thread, blocks_started(_number(lower), whole=whole), row))
    return _transfers(rows)


def joined(tables: BySize, dirtiers: Dirtiers, place_of: PlaceOf) -> TransfersBy:
    """WRITEs of workers by the thread that dirtied the file. Keys: device, thread, lower edge of the size.

    The join knows the number of a file, not the device. Two files with the same number on two mounts collide. So a row counts
    only if the thread dirtied pages of this device.
    """
    rows = []
    for whole, key, row in _each(tables):
        device, number, lower = map(_number, _fields(key, 3))
        name = dirtiers.get((device, number))
        if name is not None:
            rows.append((place_of(device), Thread(number, name), blocks_started(lower, whole=whole), row))
    return _transfers(rows)


def _each(tables: BySize) -> Iterator[tuple[bool, Key, HistRow]]:
    return ((whole, key, row) for whole, rows in tables.items() for key, row in rows)


def _transfers(rows: Iterable[tuple[Place | None, Thread, int, HistRow]]) -> TransfersBy:
    """Add up rows of place, thread and started blocks."""
    blocks: dict[tuple[Place, Thread], Counter[int]] = defaultdict(Counter)
    payload: Counter[tuple[Place, Thread]] = Counter()
    for place, thread, started, row in rows:
        if place is not None:
            blocks[place, thread][started] += row.hits
            payload[place, thread] += row.value
    return {key: CountedTransfers.of_sizes(sizes, payload[key]) for key, sizes in blocks.items()}


def dirtiers(keys: Iterable[Key]) -> dict[tuple[int, int], str]:
    """Threads that dirtied pages. Keys: `major:minor`, name, thread."""
    found = {}
    for key in keys:
        device, name, number = _fields(key, 3)
        found[device_of(device), _number(number)] = name
    return found


def calls(rows: Grown, place_of: PlaceOf) -> CallsBy:
    """Calls by the thread that waited for the answer. Keys: RPC client, name, thread, procedure."""
    return _calls(((_fields(key, 4), row) for key, row in rows), place_of)


def claims(rows: Grown, procedure: str, place_of: PlaceOf) -> CallsBy:
    """Calls of one procedure by the thread that began the call. Keys: device, name, thread."""
    return _calls((((*_fields(key, 3), procedure), row) for key, row in rows), place_of)


def _calls(rows: Iterable[tuple[Key, HistRow]], place_of: PlaceOf) -> CallsBy:
    found: CallsBy = Counter()
    for (source, name, number, procedure), row in rows:
        place = place_of(_number(source))
        if place is not None:
            found[place, Thread(_number(number), name), procedure] += row.hits
    return found


def _fields(key: Key, count: int) -> Key:
    if len(key) != count:
        raise RecordError("malformed_row", str(key))
    return key


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise RecordError("malformed_row", text)
    return int(text)
