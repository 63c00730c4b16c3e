# SPDX-License-Identifier: Apache-2.0
"""Parse the per-op statistics of a mountstats record, a line for each procedure.

Every used field must be present, as a number of at most 64 bits. The parser skips columns that a later kernel appends.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial

from fss_exporter.errors import RecordError
from fss_exporter.nfs.records import MOST_OPERATIONS, OperationCounters

_COLUMNS = 8
_COUNTERS = len(OperationCounters._fields)
_WORDS = 1 + _COUNTERS
_NUMBERS = " \t0123456789"
_SIGN_BIT, _TOO_LARGE = 1 << 63, 1 << 64
_LONGEST_NUMBER = 20

_OPERATION_NAME = re.compile(r"[A-Z0-9_]{1,40}")
_LEFT_OUT = re.compile(r"[\[(<]?(?:\.{2,}|…)[\])>]?")  # as people write for rows that they did not copy


def parse_table(table: str) -> dict[str, OperationCounters]:
    """Parse the text behind `per-op statistics`.

    Raises:
        RecordError: a line is no procedure with its counters.
    """
    return _whole_table(table) or dict(_operations(table))


def _whole_table(table: str) -> dict[str, OperationCounters]:
    """Parse a whole table of operations in the layout of kernel 5.3 and later. Empty for any other layout."""
    words = table.split()
    names = _names(tuple(words[::_WORDS]))
    del words[::_WORDS]
    if len(words) != len(names) * _COUNTERS or _odd_number(table, words):
        return {}
    if max(map(len, words), default=0) > _LONGEST_NUMBER:
        return {}
    try:
        numbers = [*map(int, words)]
    except ValueError:
        return {}
    if max(numbers, default=_SIGN_BIT) >= _SIGN_BIT:
        return {}
    return dict(zip(names, _rows(numbers), strict=True))


_new_counters = partial(tuple.__new__, OperationCounters)


def _rows(numbers: list[int]) -> Iterator[OperationCounters]:
    """Convert the numbers of a table to counters, nine numbers to an operation.

    Tables are most of the work of a tick, so no Python code runs for each row. `zip` takes nine numbers at a time from a shared
    iterator. `tuple.__new__` does the work of `OperationCounters._make` without counting the numbers again. Both together
    save a third of the time of a table.
    """
    one_iterator = iter(numbers)
    return map(_new_counters, zip(*[one_iterator] * _COUNTERS, strict=True))


@lru_cache(maxsize=64)
def _names(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of operations without their colons. Empty if a word is no name. The mounts of a host have few lists."""
    names = tuple(word[:-1] for word in words if word.endswith(":") and _OPERATION_NAME.fullmatch(word[:-1]))
    return names if len(names) == len(words) <= MOST_OPERATIONS else ()


def _odd_number(table: str, words: Iterable[str]) -> bool:
    """Whether a text may have a number in a form that only Python accepts: `+1`, `-1`, `1_0`, digits of other scripts."""
    return not table.isascii() or "+" in table or "-" in table or ("_" in table and not "".join(words).isdecimal())


def _operations(table: str) -> Iterator[tuple[str, OperationCounters]]:
    for line in table.split("\n")[1:]:
        operation = _operation(line)
        if operation is None:
            return
        yield operation


def _operation(line: str) -> tuple[str, OperationCounters] | None:
    """Parse name and counters of a line. None at the end of the table."""
    name, colon, value = line.partition(":")
    name = name.strip()
    if not colon or name.startswith("no device"):
        if _LEFT_OUT.fullmatch(name):
            raise RecordError("truncated", f"rows left out: {name}")
        return None
    if not _OPERATION_NAME.fullmatch(name):
        raise RecordError("malformed_operation", line.strip()[:120])
    numbers = parse_numbers("operation", value)
    if len(numbers) < _COLUMNS:
        raise RecordError("malformed_operation", line.strip()[:120])
    ops, transmissions, timeouts, sent, received, *times = numbers[:_COLUMNS]
    errors = numbers[_COLUMNS] if len(numbers) > _COLUMNS else None
    queue, rtt, execute = map(_signed, times)
    return name, OperationCounters(ops, transmissions, timeouts, sent, received, queue, rtt, execute, errors)


def parse_numbers(what: str, text: str) -> list[int]:
    """Parse numbers of at most 64 bits between white space.

    Raises:
        RecordError: `malformed_` and `what` they are.
    """
    if not text.strip(_NUMBERS):
        words = text.split()
        if max(map(len, words), default=0) <= _LONGEST_NUMBER:
            numbers = [*map(int, words)]
            if not numbers or max(numbers) < _TOO_LARGE:
                return numbers
    raise RecordError(f"malformed_{what}", text.strip()[:120])


def _signed(printed: int) -> int:
    """Return a sum of kernel time as a signed number. The kernel prints a negative sum as unsigned 64 bits."""
    return printed - (1 << 64) if printed & _SIGN_BIT else printed
