"""Operations that begin to happen: when they count as OTHER, and when as themselves at once."""

import pytest
from tests.nfs.fed_accounts import KEY, accounts, reading, total
from tests.nfs.records import mountstats

from fss_exporter.nfs.accounts import Accounts


def test_an_operation_that_never_happened_has_no_totals() -> None:
    result = accounts(reading(mountstats({"GETATTR": 5})), reading(mountstats({"GETATTR": 9}, age=1001)))

    assert sorted(result.mounts[KEY].operations) == ["GETATTR", "OTHER", "READ", "WRITE"]


def test_an_operation_that_begins_to_happen_counts_as_other_until_everybody_has_seen_its_zero() -> None:
    result = Accounts(announce_s=60)
    for second, renames in ((0, 0), (1, 5), (30, 6), (61, 8), (62, 9)):
        result.apply(reading(mountstats({"RENAME": renames}, age=1000 + second)), float(second))

    operations = result.mounts[KEY].operations
    assert (operations["OTHER"].operations, operations["RENAME"].operations) == (6, 3)
    assert (operations["OTHER"].cost, operations["RENAME"].cost) == ((48, 48, 48), (24, 24, 24))
    assert (operations["OTHER"].queue_ms, operations["RENAME"].queue_ms) == (6, 3)


def failed(look: str, operation: str, errors: int) -> str:
    """A record's text with so many errors of an operation."""
    before, name, after = look.partition(f"{operation}: ")
    numbers, _, rest = after.partition("\n")
    return f"{before}{name}{numbers.rpartition(' ')[0]} {errors}\n{rest}"


def test_an_operation_that_never_failed_has_no_errors_and_one_that_begins_to_counts_as_other_at_first() -> None:
    result = Accounts(announce_s=60)
    for second, errors in ((0, 0), (1, 0), (2, 4), (30, 5), (62, 7)):
        look = mountstats({"LOOKUP": 10 + second}, age=1000 + second)
        result.apply(reading(failed(look, "LOOKUP", errors)), float(second))
        if second == 1:
            assert result.mounts[KEY].operations["LOOKUP"].errors is None

    operations = result.mounts[KEY].operations
    assert (operations["OTHER"].errors, operations["LOOKUP"].errors) == (5, 2)


@pytest.mark.parametrize("operation", ["READ", "WRITE"])
def test_the_first_failure_of_reading_and_writing_is_told_at_once(operation: str) -> None:
    result = Accounts()
    for second, errors in ((0, 0), (1, 4)):
        result.apply(
            reading(failed(mountstats({operation: 10 + second}, age=1000 + second), operation, errors)), second
        )

    assert result.mounts[KEY].operations[operation].errors == 4


def test_what_happened_before_the_exporter_saw_the_mount_is_itself_from_the_first_growth_on() -> None:
    result = Accounts()
    result.apply(reading(mountstats({"RENAME": 4})), 0.0)
    result.apply(reading(mountstats({"RENAME": 6}, age=1001)), 1.0)

    assert total(result, "RENAME") == 2


def test_reads_and_writes_are_themselves_from_their_first_on() -> None:
    result = Accounts()
    result.apply(reading(mountstats({})), 0.0)
    result.apply(reading(mountstats({"READ": 6, "WRITE": 1}, age=1001)), 1.0)

    assert (total(result, "READ"), total(result, "WRITE")) == (6, 1)
