# SPDX-License-Identifier: Apache-2.0
"""Records of trace events in the order of time, from the binary pages of a tracefs instance.

The text of `trace_pipe` prints names of processes without quotes, so a process could write a record of its own. The binary pages
have lengths. Layout: Linux include/linux/ring_buffer.h and kernel/trace/ring_buffer.c, `events/header_page` and `format` of each event.
"""

import errno
import re
import struct
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from fss_kernel_counting.hist_tables import UNREADABLE, Lost
from fss_kernel_counting.tracefs import Field, Instance, Tracefs, Unavailable, advised

_PADDING, _TIME_EXTEND, _TIME_STAMP = 29, 30, 31  # Types of records without an event. Smaller types are lengths
_DELTA_BITS: Final = 27
_COMMIT_BYTES: Final = (1 << _DELTA_BITS) - 1  # Bits of the word `commit` with the length of the page
_MISSED: Final = 1 << 31  # Bit of the word `commit`: records before this page were overwritten
_MOST_PAGES: Final = 4096  # pages of one CPU at one look


def _values(fields: Mapping[str, Field], raw: bytes) -> dict[str, int | str]:
    """Return the fields of a record. A replacement character stands for invalid UTF-8."""
    values: dict[str, int | str] = {}
    for name, (offset, size, is_text, is_signed) in fields.items():
        if is_text:
            where = int.from_bytes(raw[offset : offset + 4], "little")
            text = raw[where & 0xFFFF : (where & 0xFFFF) + (where >> 16)]
            values[name] = text.partition(b"\0")[0].decode("utf-8", "replace")
        elif size > 8:  # an array of characters
            values[name] = raw[offset : offset + size].partition(b"\0")[0].decode("utf-8", "replace")
        else:
            values[name] = int.from_bytes(raw[offset : offset + size], "little", signed=is_signed)
    return values


class Record(NamedTuple):
    """One event."""

    at: int  # nanoseconds of the trace clock
    event: str  # as `system/event`
    values: Mapping[str, int | str]  # by field


class RecordedEvents:
    """Events that an instance of tracefs records.

    Attributes:
        lost: whether records were overwritten before the last look.
        was_off: whether another program had switched the recording off before the last look.

    Args:
        tracefs: place of the instance.
        name: name of the instance.
        events: wanted fields by event.
        buffer_kib: size of the buffer of each CPU.

    Raises:
        Unavailable: the kernel lacks an event, or this process may not record.
    """

    def __init__(self, tracefs: Tracefs, name: str, events: Mapping[str, Collection[str]], buffer_kib: int) -> None:
        self.lost = False
        self.was_off = False
        self._events = tuple(events)
        self._files = tracefs.files
        self._fields: dict[int, tuple[str, Mapping[str, Field]]] = {}
        for event, wanted in events.items():
            number, fields = tracefs.event(event)
            if not fields.keys() >= set(wanted):
                raise Unavailable(f"the kernel has no event {event} with the fields {', '.join(sorted(wanted))}")
            self._fields[number] = event, {name: fields[name] for name in wanted}
        page = tracefs.root / "events/header_page"
        with advised(tracefs.root):
            data = re.search(r"\bdata;\s*offset:(\d+);\s*size:(\d+);", self._files.text(page))
        if data is None:
            raise Unavailable(f"{page}: unknown layout")
        self._begin, self._page_bytes = int(data[1]), int(data[1]) + int(data[2])
        self._instance = Instance(tracefs, name)
        with self._instance.removed_on_failure(), advised(self._instance.path):
            self._pipes = self._instance.record(events, buffer_kib)

    def read(self) -> list[Record]:
        """Return the records since the last look, in the order of time.

        Raises:
            Lost: the instance is gone, or the pages have another layout.
        """
        self.lost = False
        records: list[Record] = []
        try:
            self.was_off = self._instance.record_again(self._events)
            for page in self._pages():
                records.extend(self._records(page))
        except (OSError, struct.error) as error:
            raise Lost(UNREADABLE, str(error)) from error
        return sorted(records, key=lambda record: record.at)

    def _pages(self) -> Iterator[bytes]:
        """Yield the waiting pages of each CPU. A CPU that was never online has a pipe without a buffer.

        Raises:
            OSError: a pipe is unreadable, or no CPU has a buffer.
        """
        without_buffer = 0
        for pipe in self._pipes:
            try:
                yield from self._files.pages(pipe, self._page_bytes, _MOST_PAGES)
            except OSError as error:
                without_buffer += 1
                if error.errno != errno.ENODEV or without_buffer == len(self._pipes):
                    raise

    def _records(self, page: bytes) -> Iterator[Record]:
        at, commit = struct.unpack_from("<QQ", page)
        self.lost |= bool(commit & _MISSED)
        place, end = self._begin, self._begin + (commit & _COMMIT_BYTES)
        while place + 4 <= end:
            (head,) = struct.unpack_from("<I", page, place)
            kind, delta = head & 31, head >> 5
            place += 4
            if kind == _PADDING:
                if not delta:
                    return
                (length,) = struct.unpack_from("<I", page, place)
                at, place = at + delta, place + length
                continue
            if kind in (_TIME_EXTEND, _TIME_STAMP):
                (high,) = struct.unpack_from("<I", page, place)
                whole = (high << _DELTA_BITS) + delta
                at = at + whole if kind == _TIME_EXTEND else whole
                place += 4
                continue
            at += delta
            if kind:
                length, begin = kind * 4, place
            else:
                (length,) = struct.unpack_from("<I", page, place)
                begin, length = place + 4, length - 4
            raw = page[begin : begin + length]
            place = begin + length
            layout = self._fields.get(int.from_bytes(raw[:2], "little"))
            if layout is not None:
                event, fields = layout
                yield Record(at, event, _values(fields, raw))

    def end(self) -> None:
        """Record nothing more."""
        self._instance.remove()
