"""Operations of a mount: every one has totals at zero from the first sight on, and errors where the kernel counts them."""

import pytest
from tests.fss_exporter.nfs.fed_accounts import KEY, accounts, reading, total
from tests.fss_exporter.nfs.records import OPERATIONS, mountstats

from fss_exporter.model.operations import OPERATION_CLASSES, class_of


def with_errors(look: str, operation: str, errors: int) -> str:
    """A record's text with so many errors of an operation."""
    before, name, after = look.partition(f"{operation}: ")
    numbers, _, rest = after.partition("\n")
    return f"{before}{name}{numbers.rpartition(' ')[0]} {errors}\n{rest}"


def test_every_operation_of_the_version_has_totals_at_zero_from_the_first_sight_on() -> None:
    result = accounts(reading(mountstats({"GETATTR": 5})))

    assert sorted(result.mounts[KEY].operations) == sorted(OPERATIONS)
    assert {operation.operations for operation in result.mounts[KEY].operations.values()} == {0}


def test_an_operation_that_begins_to_happen_counts_as_itself_at_once() -> None:
    result = accounts(reading(mountstats({})), reading(mountstats({"RENAME": 5}, age=1001)))

    assert total(result, "RENAME") == 5
    assert result.mounts[KEY].operations["RENAME"].queue_ms == 5


def test_an_operation_that_a_newer_kernel_adds_to_the_table_later_counts_from_then_on() -> None:
    result = accounts(
        reading(mountstats({})), reading(mountstats({"NEW": 5}, age=1001)), reading(mountstats({"NEW": 8}, age=1002))
    )

    assert total(result, "NEW") == 3


@pytest.mark.parametrize("operation", ["READ", "LOOKUP"])
def test_the_first_failure_of_an_operation_counts_at_once(operation: str) -> None:
    before, after = (mountstats({operation: 10 + second}, age=1000 + second) for second in (0, 1))
    result = accounts(reading(before), reading(with_errors(after, operation, 4)))

    assert result.mounts[KEY].operations[operation].errors == 4
    assert result.mounts[KEY].counts_errors


def test_a_kernel_that_counts_no_errors_is_known() -> None:
    assert not accounts(reading(mountstats({}, columns=8))).mounts[KEY].counts_errors


def test_every_procedure_of_nfsv3_and_nfsv4_has_one_of_the_four_classes() -> None:
    assert len(OPERATION_CLASSES) == 4
    by_class = {
        name: [operation for operation in OPERATIONS if class_of(operation) == name] for name in OPERATION_CLASSES
    }
    assert by_class["read"] == ["READ"]
    assert by_class["write"] == ["WRITE"]
    assert sorted(by_class["metadata_read"]) == sorted(
        "ACCESS FSINFO FSSTAT GETATTR LOOKUP NULL PATHCONF READDIR READDIRPLUS READLINK".split()
    )
    assert sorted(by_class["metadata_write"]) == sorted(
        "COMMIT CREATE LINK MKDIR MKNOD REMOVE RENAME RMDIR SETATTR SYMLINK".split()
    )
    assert {class_of(name) for name in ("OPEN", "CLONE", "SETXATTR")} == {"metadata_write"}
    assert {class_of(name) for name in ("CLOSE", "SEQUENCE", "a new one")} == {"metadata_read"}
